import { html } from "../operations/Html.ts"
import type { PagesTexts } from "./PagesEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { counted, number } = wordingIn("de")

export const pagesGerman: PagesTexts = {
  by: (author, place) => place === undefined ? html`Von ${author}` : html`Von ${author} in ${place}`,
  planned: "Eine geplante Route",
  lineAlt: "Der Verlauf der Route auf leerem Grund, vom Start (ein runder Punkt) bis zum Ziel (ein eckiger)",
  drawing: "Karte und Höhenprofil",
  map: "Karte der Route",
  mapControls: {
    "Map.Title": "Karte",
    "NavigationControl.ZoomIn": "Vergrößern",
    "NavigationControl.ZoomOut": "Verkleinern",
    "FullscreenControl.Enter": "Vollbild",
    "FullscreenControl.Exit": "Vollbild beenden",
    "CooperativeGesturesHandler.WindowsHelpText": "Zum Zoomen Strg gedrückt halten und scrollen",
    "CooperativeGesturesHandler.MacHelpText": "Zum Zoomen ⌘ gedrückt halten und scrollen",
    "CooperativeGesturesHandler.MobileHelpText": "Die Karte mit zwei Fingern bewegen"
  },
  profile: "Höhenprofil",
  position: "Stelle auf der Route",
  climbs: "Steigungen:",
  steepness: (from, to) => {
    if (to === undefined) return `${from} % und mehr`
    return from === 0 ? `unter ${to} %` : `${from} bis ${to} %`
  },
  facts: {
    descent: "Abstieg",
    highest: "Höchster Punkt",
    lowest: "Tiefster Punkt",
    steepest: "Steilster Anstieg",
    surface: "Untergrund",
    added: "Hinzugefügt"
  },
  askedSurfaces: { paved: "Möglichst befestigt", unpaved: "Möglichst unbefestigt" },
  surfaces: "Untergrund",
  surfaceWords: {
    paved_smooth: "Glatt befestigt",
    paved: "Befestigt",
    paved_rough: "Holprig befestigt",
    compacted: "Verdichtet",
    gravel: "Schotter",
    dirt: "Erde",
    path: "Pfad",
    impassable: "Unpassierbar",
    unknown: "Unbekannt"
  },
  pavedShare: (percent) => `${percent} befestigt`,
  surfacesOfMap: "Wie die Karte ihn kennt; wo sie keinen nennt, nach der Art des Weges geschätzt.",
  otherUnits: { metric: "In Meilen und Fuß zeigen", imperial: "In Kilometern und Metern zeigen" },
  tags: "Schlagwörter",
  start: "Start:",
  end: "Ziel:",
  openStart: "Start in einer Karten-App öffnen",
  files: "Zum Mitnehmen",
  share: "Teilen",
  link: "Link zu dieser Seite",
  copy: "Link kopieren",
  copied: "Der Link ist kopiert.",
  shareButton: "Teilen",
  qr: "QR-Code des Links",
  embed: "In eine Seite einbetten",
  embedCode: "HTML",
  stops: "Wegpunkte und Abbiegungen",
  allStops: (count) => `Alle ${number(count)} zeigen`,
  moreStops: (count) => `${number(count)} weitere sind in den Dateien.`,
  turns: {
    "Note": "Hinweis",
    "Start": "Start",
    "Finish": "Ziel",
    "Straight": "Geradeaus",
    "Bear right": "Leicht rechts",
    "Right": "Rechts abbiegen",
    "Hard right": "Scharf rechts abbiegen",
    "Bear left": "Leicht links",
    "Left": "Links abbiegen",
    "Hard left": "Scharf links abbiegen",
    "U-turn": "Umkehren",
    "Fork right": "An der Gabelung rechts halten",
    "Fork left": "An der Gabelung links halten",
    "Roundabout": "Kreisverkehr",
    "Ferry": "Fähre"
  },
  collectionBy: (routes, author) => `${routes} von ${author}`,
  collectedBy: (routes, author) => html`${routes}, gesammelt von ${author}`,
  publicRoutes: (count) => counted(count, "öffentliche Route", "öffentliche Routen"),
  openRoute: "Route öffnen",
  tagged: (tag) => `Öffentliche Routen mit dem Schlagwort ${tag}`,
  allPublic: "Alle öffentlichen Routen"
}
