import { html } from "../operations/Html.ts"
import type { SharedTexts } from "./SharedEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { counted, number } = wordingIn("de")

export const sharedGerman: SharedTexts = {
  facts: { distance: "Strecke", climb: "Anstieg", time: "Dauer", activity: "Aktivität" },
  climbing: (climb) => `${climb} bergauf`,
  duration: (hours, minutes) =>
    hours === 0 ? `${minutes} Min.` : `${number(hours)} Std. ${String(minutes).padStart(2, "0")} Min.`,
  lineOf: (name) => `Der Verlauf von ${name}`,
  followsRoads: (source) => html`Folgt Straßendaten: ${source}.`,
  pages: "Seiten",
  previousRoutes: "Vorherige Routen",
  moreRoutes: "Weitere Routen",
  noRoutes: "Hier sind keine Routen.",
  routes: (count) => counted(count, "Route", "Routen")
}
