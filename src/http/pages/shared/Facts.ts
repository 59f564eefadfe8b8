import type { Activity } from "../../../schema/Preferences.ts"
import type { StoredCollectionRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"

const number = (value: number, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })

const distanceText = (metres: number): string =>
  metres < 1000 ? `${number(metres)} m` : `${number(metres / 1000, metres < 100_000 ? 1 : 0)} km`

const MINUTE = 60
const HOUR = 60 * MINUTE

const durationText = (seconds: number): string => {
  const minutes = Math.round(seconds / MINUTE)
  const hours = Math.floor((minutes * MINUTE) / HOUR)
  const rest = minutes - hours * (HOUR / MINUTE)
  return hours === 0 ? `${rest} min` : `${number(hours)} h ${String(rest).padStart(2, "0")} min`
}

const ACTIVITIES: Readonly<Record<Activity, string>> = { run: "Run", cycle: "Ride", walk: "Walk" }

export const placeText = ({ placeCity, placeCountryCode, placeRegion }: StoredCollectionRoute): string | undefined => {
  const country = placeCountryCode && (new Intl.DisplayNames("en", { type: "region" }).of(placeCountryCode))
  const names = [placeCity, placeRegion, country].filter((name) => name !== undefined && name !== "")
  return names.length === 0 ? undefined : [...new Set(names)].join(", ")
}

const factsOf = ({ activity, distance, duration, elevationGain }: StoredCollectionRoute) =>
  [
    ["Distance", distance === undefined ? undefined : distanceText(distance)],
    ["Climb", elevationGain === undefined ? undefined : `${number(elevationGain)} m`],
    ["Time", duration === undefined ? undefined : durationText(duration)],
    ["Activity", activity && ACTIVITIES[activity]]
  ] as const

const known = (route: StoredCollectionRoute) =>
  factsOf(route).flatMap(([name, value]) => value === undefined ? [] : [[name, value] as const])

export const summaryOf = (route: StoredCollectionRoute): string =>
  [...known(route).map(([name, value]) => name === "Climb" ? `${value} of climbing` : value), placeText(route)].filter((
    part
  ) => part !== undefined).join(" · ")

export const facts = (route: StoredCollectionRoute): Html => {
  const shown = known(route)
  return shown.length === 0
    ? html``
    : html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export const author = ({ handle, name }: StoredCollectionRoute["user"], root: string): Html =>
  html`<a href="${root}u/${handle}">${name}</a>`
