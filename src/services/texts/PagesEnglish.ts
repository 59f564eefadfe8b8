import { type Html, html } from "../operations/Html.ts"
import { wordingIn } from "./Wording.ts"

const { counted, number } = wordingIn("en")

/** The pages of routes, collections and users for everybody. */
export const pagesEnglish = {
  by: (author: Html, place: string | undefined) =>
    place === undefined ? html`By ${author}` : html`By ${author} in ${place}`,
  planned: "A planned route",
  lineAlt: "The line of the route on a plain ground, from its start (a round mark) to its end (a square one)",
  drawing: "Map and elevation profile",
  map: "Map of the route",
  /** The names are those of MapLibre. */
  mapControls: {
    "Map.Title": "Map",
    "NavigationControl.ZoomIn": "Zoom in",
    "NavigationControl.ZoomOut": "Zoom out",
    "FullscreenControl.Enter": "Full screen",
    "FullscreenControl.Exit": "Leave full screen",
    "CooperativeGesturesHandler.WindowsHelpText": "Use Ctrl + scroll to zoom the map",
    "CooperativeGesturesHandler.MacHelpText": "Use ⌘ + scroll to zoom the map",
    "CooperativeGesturesHandler.MobileHelpText": "Use two fingers to move the map"
  },
  profile: "Elevation profile",
  position: "Position along the route",
  climbs: "Climbs:",
  steepness: (from: number, to: number | undefined) => {
    if (to === undefined) return `${from} % and more`
    return from === 0 ? `under ${to} %` : `${from} to ${to} %`
  },
  facts: {
    descent: "Descent",
    highest: "Highest point",
    lowest: "Lowest point",
    steepest: "Steepest climb",
    surface: "Surface",
    added: "Added"
  },
  askedSurfaces: { paved: "Paved, if possible", unpaved: "Unpaved, if possible" },
  surfaces: "Surfaces",
  /** The names are those of the engine, in the order of their colours. */
  surfaceWords: {
    paved_smooth: "Smoothly paved",
    paved: "Paved",
    paved_rough: "Roughly paved",
    compacted: "Compacted",
    gravel: "Gravel",
    dirt: "Earth",
    path: "Path",
    impassable: "Impassable",
    unknown: "Unknown"
  },
  pavedShare: (percent: string) => `${percent} paved`,
  surfacesOfMap: "As the map has them; where it names no surface, it is guessed from the kind of road.",
  otherUnits: { metric: "Show miles and feet", imperial: "Show kilometres and metres" },
  tags: "Tags",
  start: "Start:",
  end: "End:",
  openStart: "Open the start in a map app",
  files: "Take it along",
  share: "Share",
  link: "Link to this page",
  copy: "Copy link",
  copied: "The link is copied.",
  shareButton: "Share",
  qr: "QR code of the link",
  embed: "Embed in a page",
  embedCode: "HTML",
  stops: "Waypoints and turns",
  allStops: (count: number) => `Show all ${number(count)}`,
  moreStops: (count: number) => `${number(count)} more are in the files.`,
  turns: {
    "Note": "Note",
    "Start": "Start",
    "Finish": "Finish",
    "Straight": "Straight on",
    "Bear right": "Bear right",
    "Right": "Turn right",
    "Hard right": "Turn sharp right",
    "Bear left": "Bear left",
    "Left": "Turn left",
    "Hard left": "Turn sharp left",
    "U-turn": "Turn around",
    "Fork right": "Keep right at the fork",
    "Fork left": "Keep left at the fork",
    "Roundabout": "Roundabout",
    "Ferry": "Ferry"
  },
  collectionBy: (routes: string, author: string) => `${routes} by ${author}`,
  collectedBy: (routes: string, author: Html) => html`${routes}, collected by ${author}`,
  publicRoutes: (count: number) => counted(count, "public route", "public routes"),
  openRoute: "Open the route",
  tagged: (tag: string) => `Public routes with the tag ${tag}`,
  allPublic: "All public routes"
}

export type PagesTexts = typeof pagesEnglish
