import type { RouteId } from "../../schema/Ids.ts"

const MAX_SLUG = 40

/** A name as ASCII letters, digits and single hyphens, in lower case. */
const slugOf = (name: string): string =>
  name.slice(0, 4 * MAX_SLUG).normalize("NFKD").toLowerCase().replace(/\p{M}+/gu, "").replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG).replace(/^-|-$/g, "") || "route"

/** The file of a route in an archive. What a user wrote only colours it: the id makes it one of its kind. */
export const gpxName = (id: RouteId, name: string): string => `routes/${id}-${slugOf(name)}.gpx`
