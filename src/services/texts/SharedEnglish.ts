import { type Html, html } from "../operations/Html.ts"
import { wordingIn } from "./Wording.ts"

const { counted, number } = wordingIn("en")

/** All pages with routes say these of them. */
export const sharedEnglish = {
  facts: { distance: "Distance", climb: "Ascent", time: "Time", activity: "Activity" },
  climbing: (climb: string) => `${climb} of climbing`,
  duration: (hours: number, minutes: number) =>
    hours === 0 ? `${minutes} min` : `${number(hours)} h ${String(minutes).padStart(2, "0")} min`,
  lineOf: (name: string) => `The line of ${name}`,
  followsRoads: (source: Html) => html`Follows road data ${source}.`,
  pages: "Pages",
  previousRoutes: "Previous routes",
  moreRoutes: "More routes",
  noRoutes: "There are no routes here.",
  routes: (count: number) => counted(count, "route", "routes")
}

export type SharedTexts = typeof sharedEnglish
