import { GRACE_PERIOD } from "../../schema/Limits.ts"
import { MAX_TAG } from "../../schema/Route.ts"
import type { RoutesTexts } from "./RoutesEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { counted, date, duration, number } = wordingIn("de")

const dateOr = (instant: string | null, otherwise: string) => instant === null ? otherwise : date(instant)

export const routesGerman: RoutesTexts = {
  routes: {
    title: "Meine Routen",
    sorts: {
      "-createdAt": "Neueste zuerst",
      "-updatedAt": "Zuletzt geändert",
      name: "Nach Namen",
      "-distance": "Längste zuerst",
      distance: "Kürzeste zuerst"
    },
    any: "Alle",
    onlyFavourites: "Nur Favoriten",
    favourite: "Favorit",
    marksOf: (name) => `Merkmale von ${name}`,
    uploaded: "Hochgeladene Dateien",
    upload: "Routen hochladen",
    files: "Dateien",
    filesHint: (formats) =>
      `${formats} oder ZIP, eine oder viele. Eine Datei mit mehreren Strecken wird zu mehreren Routen.`,
    seenBy: "Wer sieht sie?",
    uploadButton: "Hochladen",
    noFiles: "Wählen Sie eine oder mehrere Dateien",
    noRoutes:
      "Hier sind noch keine Routen. Laden Sie zum Anfang eine Datei von Ihrem Gerät oder aus einem anderen Programm hoch.",
    notFound: "Es gibt keine solche Route.",
    count: (count) => counted(count, "Route", "Routen")
  },
  route: {
    lineAndProfile: (name) => `Der Verlauf von ${name} und sein Höhenprofil`,
    seePage: "Zur Seite der Route",
    change: "Ändern",
    tagsHint: `Mit Kommas dazwischen; jedes hat 1 bis ${MAX_TAG} Zeichen aus a–z, 0–9 und „-“.`,
    noActivity: "Keine Angabe",
    favourite: "Ein Favorit von mir",
    publish: "Veröffentlichen",
    publishWords: "Alle können sie dann finden und öffnen. Ihre Privatzonen bleiben verborgen.",
    publishButton: "Route veröffentlichen",
    delete: "Löschen",
    deleteButton: "Route löschen",
    deleteWords: "Sie kommt in den Papierkorb, aus dem sie sich wiederherstellen lässt."
  },
  sharing: {
    title: "Teilen",
    isPrivate: "Das ist privat: Niemand sonst kann es öffnen. Mit „Nicht gelistet“ bekommen Sie einen Link für andere.",
    link: "Link zum Kopieren",
    replace: "Link ersetzen",
    replaceWords: "Der Link, den Sie anderen gegeben haben, öffnet dann nichts mehr.",
    more: "Weitere Links",
    unnamed: (id) => `Link ${id}`,
    facts: ({ allowDownload, expiresAt, lastUsedAt, uses }) =>
      `Läuft ab: ${dateOr(expiresAt, "nie")}. ${number(uses)}-mal geöffnet, zuletzt: ${dateOr(lastUsedAt, "nie")}.${
        allowDownload ? "" : " Ohne Dateien."
      }`,
    remove: "Entfernen",
    label: "Name eines neuen Links",
    labelHint: "Nur für Sie.",
    expiresHint: "Leer für einen Link ohne Ende.",
    allowDownload: "Er öffnet auch Dateien wie GPX",
    make: "Link anlegen"
  },
  collections: {
    title: "Sammlungen",
    lead: "Eine Sammlung ist eine Liste von Routen in Ihrer Reihenfolge, die Sie als Ganzes teilen können.",
    previous: "Vorherige Sammlungen",
    more: "Weitere Sammlungen",
    make: "Sammlung anlegen",
    makeButton: "Sammlung anlegen",
    seePage: "Zur Seite der Sammlung",
    up: "Nach oben",
    down: "Nach unten",
    remove: "Entfernen",
    search: "Meine Routen durchsuchen",
    allAdded: "Alle diese Routen sind darin.",
    oneOfMine: "Eine meiner Routen",
    add: "Hinzufügen",
    change: "Ändern",
    delete: "Löschen",
    deleteButton: "Sammlung löschen",
    deleteWords: "Sie kommt in den Papierkorb. Ihre Routen bleiben."
  },
  trash: {
    title: "Papierkorb",
    lead: `Was hier ist, lässt sich ${
      duration(GRACE_PERIOD)
    } lang wiederherstellen. Eine wiederhergestellte Route sehen dieselben wie vorher.`,
    routes: "Routen",
    collections: "Sammlungen",
    none: "Im Papierkorb sind keine.",
    facts: (deletedAt, purgedAt) => `Gelöscht am ${date(deletedAt)}, endgültig am ${date(purgedAt)}.`,
    restore: "Wiederherstellen",
    erase: "Endgültig löschen",
    eraseWords: "Das lässt sich nicht rückgängig machen.",
    eraseAll: (count) => `Alle ${number(count)} endgültig löschen`,
    eraseAllWords: "Das lässt sich nicht rückgängig machen.",
    eraseAllButton: "Alle endgültig löschen"
  }
}
