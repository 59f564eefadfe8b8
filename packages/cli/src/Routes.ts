import { Option } from "effect"
import { Argument, Flag } from "effect/cli"
import { type Client, type Endpoints, pages, type Route } from "../../client/src/index.ts"
import { EXIT_CODES, Failure } from "./Failure.ts"

type Query = NonNullable<Endpoints["routes.list"]["input"]["query"]>

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const kilometres = (name: string, description: string) =>
  Flag.Finite(name).pipe(Flag.withDescription(description), Flag.optional)

/** A route of a list must match all given filters. */
export const filters = {
  q: text("q", "Words in the name, description, tags, place or waypoints"),
  tag: Flag.String("tag").pipe(
    Flag.withDescription("A tag that the route has; repeat it for several"),
    Flag.atLeast(0)
  ),
  activity: Flag.Literals("activity", ["run", "cycle", "walk"]).pipe(
    Flag.withDescription("By which activity"),
    Flag.optional
  ),
  visibility: Flag.Literals("visibility", ["private", "unlisted", "public"]).pipe(
    Flag.withDescription("Who may open it"),
    Flag.optional
  ),
  favourite: Flag.Boolean("favourite").pipe(
    Flag.withDescription("Favourites, or with --no-favourite the others"),
    Flag.optional
  ),
  country: text("country", "The country that it starts in, such as LI"),
  city: text("city", "The city that it starts in or near"),
  bbox: text("bbox", "A viewport in degrees: --bbox=minLng,minLat,maxLng,maxLat"),
  minKm: kilometres("min-km", "At least so long, in kilometres"),
  maxKm: kilometres("max-km", "At most so long, in kilometres"),
  since: text("since", "Changed at this instant or later, such as 2026-06-01T00:00:00Z"),
  recordedAfter: text("recorded-after", "Recorded at this instant or later"),
  recordedBefore: text("recorded-before", "Recorded before this instant")
}

type Filters = { readonly [K in keyof typeof filters]: typeof filters[K] extends Flag.Flag<infer A> ? A : never }

/** `rps` has every filter, and reads whole lists. */
type Filtered =
  & Query
  & Readonly<Record<Exclude<keyof Query, "sort" | "geometry" | "limit" | "offset" | "cursor">, unknown>>

const metres = (kilometres: Option.Option<number>) =>
  Option.getOrUndefined(Option.map(kilometres, (length) => length * 1000))

const queryOf = (given: Filters) => ({
  q: Option.getOrUndefined(given.q),
  tag: given.tag.length === 0 ? undefined : given.tag,
  activity: Option.getOrUndefined(given.activity),
  visibility: Option.getOrUndefined(given.visibility),
  favourite: Option.getOrUndefined(Option.map(given.favourite, (isOne) => isOne ? "true" as const : "false" as const)),
  placeCountryCode: Option.getOrUndefined(given.country),
  placeCity: Option.getOrUndefined(given.city),
  bbox: Option.getOrUndefined(given.bbox),
  minDistance: metres(given.minKm),
  maxDistance: metres(given.maxKm),
  updatedSince: Option.getOrUndefined(given.since),
  recordedAfter: Option.getOrUndefined(given.recordedAfter),
  recordedBefore: Option.getOrUndefined(given.recordedBefore)
} satisfies Filtered)

const routesOf = ({ routes }: Client, query: Query) =>
  pages((page) => routes.list.response({ query: { ...query, geometry: "none", limit: 200, ...page } }))

export const ids = Argument.Int("id").pipe(
  Argument.withDescription("Routes by their ids; without any, those that the filters match"),
  Argument.variadic()
)

/** Returns the routes of the ids, else those that match the filters. Without any filter, every route needs `--all`. */
export const selected = async (
  client: Client,
  { all, ids, ...given }: Filters & { readonly all: boolean; readonly ids: ReadonlyArray<number> }
): Promise<ReadonlyArray<Route>> => {
  const found: Array<Route> = []
  for (const ref of ids) found.push(await client.routes.get({ params: { ref }, query: { geometry: "none" } }))
  if (ids.length > 0) return found
  const query = queryOf(given)
  if (!all && Object.values(query).every((value) => value === undefined)) {
    throw Failure.because("which routes: give ids, filters, or --all", EXIT_CODES.usage)
  }
  for await (const route of routesOf(client, query)) found.push(route)
  return found
}

export const all = Flag.Boolean("all").pipe(Flag.withDescription("All routes"), Flag.withDefault(false))

export const lineOf = ({ distance, id, name, tags, visibility }: Route): string =>
  [
    String(id).padStart(8),
    distance === undefined ? "".padStart(10) : `${(distance / 1000).toFixed(1)} km`.padStart(10),
    visibility.padEnd(8),
    name + (tags.length === 0 ? "" : `  [${tags.join(", ")}]`)
  ].join("  ")
