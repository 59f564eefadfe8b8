import type { SqlClient, Statement } from "effect/sql"
import type { BoundingBox } from "../../schema/Geometry.ts"
import type { Listing } from "../../schema/RouteSearch.ts"
import { FULL_TURN } from "../geometry/Geodesy.ts"

/** A viewport as two boxes: stored boxes may start in the west of it, or run past 180 degrees. */
export const boxesOf = ({ east, north, south, west }: BoundingBox): readonly [string, string] => {
  const [from, to] = west <= east ? [west, east] : [west, east + FULL_TURN]
  const box = (shift: number) => `(${to + shift},${north}),(${from + shift},${south})`
  return west <= east ? [box(0), box(FULL_TURN)] : [box(0), box(-FULL_TURN)]
}

/** Before each word of a route in `route_words`: its owner's, and another for anyone while it is public. */
export const ownScope = (owner: number): string => `${owner}/`
export const PUBLIC_SCOPE = "/"

export const routeFilters = (sql: SqlClient.SqlClient) => {
  const isIn = (box: string) => sql`r.bounds && ${box}::box`

  return {
    isIn,

    /** The quality gate of the public listing. */
    indexable: sql`r.is_indexable`,

    columns: (
      { activity, placeCity, tag }: Pick<Listing, "activity" | "placeCity" | "tag">
    ): ReadonlyArray<Statement.Fragment> => [
      ...(tag === undefined ? [] : [sql`r.tags @> ${[...tag]}::text[]`]),
      ...(activity === undefined ? [] : [sql`r.activity = ${activity}`]),
      ...(placeCity === undefined ? [] : [sql`lower(r.place_city) = lower(${placeCity})`])
    ],

    /** By the distance of `routes r`, or of their views `v`. */
    distance: (
      alias: "r" | "v",
      { maxDistance, minDistance }: Pick<Listing, "maxDistance" | "minDistance">
    ): ReadonlyArray<Statement.Fragment> => {
      const distance = sql.literal(`${alias}.distance`)
      return [
        ...(minDistance === undefined ? [] : [sql`${distance} >= ${minDistance}`]),
        ...(maxDistance === undefined ? [] : [sql`${distance} <= ${maxDistance}`])
      ]
    },

    box: (bbox: BoundingBox | undefined): ReadonlyArray<Statement.Fragment> =>
      bbox === undefined ? [] : [sql.or(boxesOf(bbox).map(isIn))],

    /**
     * Rows of `route_words` in a scope that have all words of a query, each at least its beginning. The triggers
     * `words_on_insert` (`add_route_words`) and `words_on_update` (`change_route_words`) keep them by `route_lexemes`, and
     * `search_query` makes a query by the same rule, `search_words` (`db/schema/words.sql`).
     */
    words: (scope: string, q: string) => sql`words @@ search_query(${scope}, ${q}, '&')`
  }
}
