import type { RouteId } from "../../schema/Ids.ts"

const MAX_SLUG = 40

const slugOf = (name: string): string =>
  name.slice(0, 4 * MAX_SLUG).normalize("NFKD").toLowerCase().replace(/\p{M}+/gu, "").replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG).replace(/^-|-$/g, "") || "route"

/** The id makes the name unique; the slug is for readers. */
export const gpxName = (id: RouteId, name: string): string => `routes/${id}-${slugOf(name)}.gpx`
