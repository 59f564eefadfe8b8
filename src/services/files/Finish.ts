import { Effect, Option, Schema } from "effect"
import { MAX_POSITIONS, MAX_SEGMENTS, type Position, type Segments } from "../../schema/Geometry.ts"
import type { Dropped, ImportWarning } from "../../schema/Import.ts"
import { type Maneuver, MAX_INSTRUCTION, MAX_MANEUVERS } from "../../schema/Maneuver.ts"
import { MAX_DISTANCE, MAX_DURATION } from "../../schema/Measures.ts"
import { type Activity, MAX_OPEN_VALUE } from "../../schema/Preferences.ts"
import {
  MAX_DESCRIPTION,
  MAX_ELEVATION_GAIN,
  MAX_NAME,
  MAX_SENT_TAGS,
  MAX_TAGS,
  MAX_WAYPOINTS,
  TAG_RULE,
  Tags
} from "../../schema/Route.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { centimetres, coordinatesOf, metresAlong } from "../geometry/Geodesy.ts"
import {
  type Draft,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  metresOf,
  noPoints,
  type ReadRoute,
  reduced,
  type RouteDocument
} from "./Draft.ts"
import { coordOf, gainOf, type Measures, type OwnMeasures, sumOf, wayOf } from "./FileValues.ts"
import { placesOf } from "./NearestPositions.ts"

/** Words with one of these, though also one of `PARTS`, are none of the three activities. */
const OTHER_SPORTS =
  /motor|moto|ski|snow|sleigh|eislauf|schlittschuh|rollschuh|langlauf|skat|swim|horse|reiten|pferd|driv|drone|flight/

/** Devices and services use words with these parts, in several languages, without marks; the first that fits counts. */
const PARTS: ReadonlyArray<readonly [Activity, RegExp]> = [
  [
    "cycle",
    /cycl|bik|mtb|bmx|velo|vtt|^btt|pedelec|ride$|^riding|gravel|spinning|fahrrad|rennrad|rad(?:fahr|tour|sport|reise)|ciclis|bici|fiets|wielren|cykel|cykl|sykl|pyorail|kolarst|rowerow|narowerze|kerekpar|tandem/
  ],
  [
    "run",
    /run(?!g)|jog|laufen$|lauf$|courir|courseapied|footing|canicross|marathon|hardlop|correr|corrida|corsa|lopning|loping|lping|juoks|bieganie|carrera|futas|treadmill|orienteering|plogg/
  ],
  [
    "walk",
    /walk|hik|trek|wander|mountaineer|bergsteig|backpack|fastpack|^ruck|pedestr|onfoot|stroll|marche|rando|promenade|senderis|camin|e[sx]cursion|cammin|passeggi|vandr|fottur|gatur|spazier|zufu|gehen$|wandel|vaellus|kavely|spacer|wedrowk|piesz|turyst|turisti|gyalog|trilha|apied|bergtour/
  ]
]

/** These words are too short to look for within others; the numbers are Strava's. */
const WORDS: ReadonlyMap<string, Activity> = new Map([
  ["1", "cycle"],
  ["rad", "cycle"],
  ["9", "run"],
  ["course", "run"],
  ["trail", "run"],
  ["beh", "run"],
  ["lob", "run"],
  ["4", "walk"],
  ["10", "walk"],
  ["foot", "walk"],
  ["gang", "walk"]
])

const MAX_SPORT = 100

export const activityOf = (sport: string): Activity | undefined => {
  const word = sport.slice(0, MAX_SPORT).toLowerCase().normalize("NFD").replaceAll("\u00F8", "o").replace(
    /[^a-z0-9]/g,
    ""
  )
  if (OTHER_SPORTS.test(word)) return undefined
  return WORDS.get(word) ?? PARTS.find(([, part]) => part.test(word))?.[0]
}

const MAX_DROPPED = 50

const FALLBACK_NAME = "Imported route"

/** JSON can contain what PostgreSQL and UTF-8 cannot. */
const storable = (text: string) => text.toWellFormed().replaceAll("\u0000", "")

/** A code point has at most two code units: the rest is not read. */
const startOf = (text: string, max: number) => Array.from(text.slice(0, 2 * max + 2))

const isTooLong = (text: string, max: number) => text.length > max && startOf(text, max).length > max

const cut = (text: string, max: number) =>
  isTooLong(text, max) ? startOf(text, max).slice(0, max).join("").trimEnd() : text

const firstOf = (texts: ReadonlyArray<string | undefined>): string | undefined => {
  const present = texts.filter((text) => text !== undefined).map((text) => storable(text).trim())
  return present.find((text) => text !== "") ?? present[0]
}

const decodeTag = Schema.decodeOption(Tags)

const tagsOf = (texts: ReadonlyArray<string>) => {
  const all = [...new Set(texts)].filter((text) => text.trim() !== "")
  const given = all.slice(0, MAX_SENT_TAGS)
  const readable = given.map((text) => decodeTag([text])).filter(Option.isSome)
  const tags = [...new Set(readable.flatMap(({ value }) => value))]
  return {
    tags: tags.slice(0, MAX_TAGS),
    dropped: [
      ...droppedIf(given.length - readable.length, "tags", `a tag has ${TAG_RULE}`),
      ...droppedIf(
        Math.max(0, tags.length - MAX_TAGS) + all.length - given.length,
        "tags",
        `a route has at most ${MAX_TAGS} tags`
      )
    ]
  }
}

const openValue = (text: string | undefined) => {
  const value = storable(text ?? "")
  return value === "" || isTooLong(value, MAX_OPEN_VALUE) ? undefined : value
}

const waypointOf = ({ coord, name, timestamp, type }: DraftWaypoint): RouteDocument["waypoints"][number] => {
  const kept = { type: openValue(type), timestamp: openValue(timestamp) }
  return {
    coord: [coord[0], coord[1]],
    ...(kept.type === undefined ? {} : { type: kept.type }),
    ...(name === undefined ? {} : { name: cut(storable(name).trim(), MAX_NAME) }),
    ...(kept.timestamp === undefined ? {} : { timestamp: kept.timestamp })
  }
}

const droppedOfWaypoints = (waypoints: ReadonlyArray<DraftWaypoint>) => {
  const countOf = (isDropped: (waypoint: DraftWaypoint) => boolean) => waypoints.filter(isDropped).length
  return [
    ...droppedIf(
      countOf(({ name = "" }) => isTooLong(name.trim(), MAX_NAME)),
      "ends of waypoint names",
      `a waypoint's name has at most ${MAX_NAME} characters`
    ),
    ...droppedIf(
      countOf(({ timestamp = "", type = "" }) =>
        isTooLong(type, MAX_OPEN_VALUE) || isTooLong(timestamp, MAX_OPEN_VALUE)
      ),
      "types or timestamps of waypoints",
      `each has at most ${MAX_OPEN_VALUE} characters`
    )
  ]
}

const endsOf = (geometry: ReadonlyArray<Position>): ReadonlyArray<DraftWaypoint> =>
  [geometry[0], geometry.length > 1 ? geometry.at(-1) : undefined]
    .filter((position) => position !== undefined)
    .map((position) => ({ coord: coordOf(position), type: "routed", name: undefined, timestamp: undefined }))

export const bounded = (dropped: ReadonlyArray<Dropped>): ReadonlyArray<Dropped> => {
  const rest = dropped.slice(MAX_DROPPED).reduce((sum, { count }) => sum + count, 0)
  return [...dropped.slice(0, MAX_DROPPED), ...droppedIf(rest, "other things", "a route has no place for them")]
}

interface Closed {
  readonly segments: ReadonlyArray<ReadonlyArray<Position>>
  /** The gaps that were closed have these metres. */
  readonly gaps: ReadonlyArray<number>
}

const withFewGaps = (segments: Draft["segments"]): Closed => {
  if (segments.length <= MAX_SEGMENTS) return { segments, gaps: [] }
  const metres = segments.map((segment, index) => {
    const [end, start] = [segments[index - 1]?.at(-1), segment[0]]
    return end === undefined || start === undefined ? Infinity : metresOf([[end, start]])
  })
  const longest = [...metres.keys()].toSorted((a, b) => (metres[b] ?? 0) - (metres[a] ?? 0)).slice(0, MAX_SEGMENTS)
  const kept = new Set(longest)
  const joined: Array<Array<Position>> = []
  for (const [index, segment] of segments.entries()) {
    if (kept.has(index)) joined.push([])
    for (const position of segment) joined.at(-1)?.push(position)
  }
  return { segments: joined, gaps: metres.filter((_, index) => !kept.has(index)) }
}

/** Each segment keeps its ends, and its share of the positions. */
const reducedSegments = (segments: Draft["segments"]): Draft["segments"] => {
  const count = segments.reduce((sum, { length }) => sum + length, 0)
  const room = MAX_POSITIONS - 2 * (segments.length - 1)
  return count <= MAX_POSITIONS
    ? segments
    : segments.map((segment) => reduced(segment, Math.max(2, Math.floor(room * segment.length / count))))
}

const startsOf = (segments: Draft["segments"]): Segments => {
  let start = 0
  return segments.map(({ length }) => {
    start += length
    return start - length
  })
}

const warningsOf = ({ gaps }: Closed, positions: number, kept: number, dropped: ReadonlyArray<Dropped>) => {
  const metres = Math.round(gaps.reduce((sum, metres) => sum + metres, 0))
  const warnings: ReadonlyArray<ImportWarning | undefined> = [
    gaps.length === 0 ? undefined : {
      code: "gap_joined",
      message:
        `A route has at most ${MAX_SEGMENTS} segments: the shortest gaps, ${metres} m in total, are straight lines`,
      count: gaps.length
    },
    positions === kept ? undefined : {
      code: "positions_simplified",
      message: `Of ${positions} positions the ${kept} that shape the line most were kept`,
      count: positions - kept
    },
    ...dropped.map(({ count, what, why }) => ({ code: "dropped" as const, message: `${what}: ${why}`, count }))
  ]
  return warnings.filter((warning) => warning !== undefined)
}

/** All cues are kept or none: on another polyline the indexes are wrong. */
const cuesOf = ({ cues = [] }: Draft, geometry: ReadonlyArray<Position>, isWhole: boolean) => {
  const isUsable = isWhole && cues.length <= MAX_MANEUVERS
    && cues.every(({ begin_shape_index }) => begin_shape_index < geometry.length)
  return isUsable ? cues : []
}

const cuesOfTurns = (
  turns: ReadonlyArray<DraftWaypoint>,
  geometry: ReadonlyArray<Position>,
  segments: Segments
): ReadonlyArray<Maneuver> => {
  if (turns.length === 0) return []
  const metres = metresAlong(coordinatesOf(geometry), segments)
  const places = placesOf(turns, geometry)
  const placed = turns.map((turn, index) => ({ turn, at: places[index] ?? 0 })).toSorted((a, b) => a.at - b.at)
  return placed.map(({ at, turn }, index): Maneuver => {
    const next = placed[index + 1]?.at ?? geometry.length - 1
    return {
      instruction: cut(storable(turn.name ?? "").trim(), MAX_INSTRUCTION),
      type: turn.turn ?? 0,
      begin_shape_index: at,
      length: Math.round((metres[next] ?? 0) - (metres[at] ?? 0)) / 1000,
      time: 0
    }
  })
}

/** FIT rounds positions to this distance. */
const ROUNDED_METRES = 0.02

/** Coordinates may have five decimals. */
const ROUNDED_WAY = 2e-5

/** Returns true if another program changed the line of a file of this service, or its direction. */
const isChanged = ({ measures }: Draft, segments: Closed["segments"], positions: number) =>
  measures !== undefined && (
    Math.abs(metresOf(segments) - measures.line) > ROUNDED_METRES * (1 + positions)
    || (measures.way !== undefined && Math.abs(wayOf(segments.flat()) - measures.way) > ROUNDED_WAY)
  )

/** Returns true if another program changed the elevations; one that left them out did not. */
const isClimbChanged = ({ climb, way }: OwnMeasures, segments: Closed["segments"]) => {
  const found = way === undefined ? undefined : gainOf(segments.flat(), startsOf(segments))
  return found !== undefined && found !== climb
}

const isWithin = (measure: number | undefined, most: number) =>
  measure === undefined || (measure >= 0 && measure <= most)

/** Returns the measures that a file of this service states. */
const ownMeasures = ({ measures }: Draft, segments: Closed["segments"]): Measures => {
  if (measures === undefined) return {}
  const { climb: _climb, elevationGain, line: _line, way: _way, ...own } = measures
  const isUsable = isWithin(own.distance, MAX_DISTANCE) && isWithin(own.duration, MAX_DURATION)
    && isWithin(elevationGain, MAX_ELEVATION_GAIN)
  if (!isUsable) return {}
  return elevationGain === undefined || isClimbChanged(measures, segments) ? own : { ...own, elevationGain }
}

/** Returns the measures from before positions are dropped; none if the stored polyline measures the same. */
const measuresOf = (draft: Draft, { segments }: Closed, positions: number, isLineChanged: boolean): Measures => {
  const { recordedAt, seconds } = draft
  const isOther = positions > MAX_POSITIONS
  const gain = isOther ? sumOf(segments.map((segment) => gainOf(segment))) : undefined
  return {
    ...(isOther ? { distance: Math.min(centimetres(metresOf(segments)), MAX_DISTANCE) } : {}),
    ...(gain === undefined ? {} : { elevationGain: Math.min(gain, MAX_ELEVATION_GAIN) }),
    ...(seconds === undefined || seconds > MAX_DURATION ? {} : { duration: seconds }),
    ...(recordedAt === undefined ? {} : { recordedAt }),
    ...(isLineChanged ? {} : ownMeasures(draft, segments))
  }
}

export const nameOf = ({ names }: Pick<DraftTrack, "names">, fallback = FALLBACK_NAME): string => {
  const name = firstOf(names) ?? ""
  return cut(name === "" ? fallback : name, MAX_NAME)
}

export const finish = Effect.fnUntraced(function*(draft: Draft): Effect.fn.Return<ReadRoute, InvalidInput> {
  const closed = withFewGaps(draft.segments)
  const positions = closed.segments.reduce((sum, { length }) => sum + length, 0)
  const kept = reducedSegments(closed.segments)
  const geometry = kept.flat()
  const segments = startsOf(kept)
  const isLineChanged = isChanged(draft, closed.segments, positions)
  const own = cuesOf(draft, geometry, positions === geometry.length && !isLineChanged)
  const hasTurns = geometry.length > 1 && own.length === 0
  const turns = hasTurns ? draft.waypoints.filter(({ turn }) => turn !== undefined) : []
  const cues = own.length > 0 ? own : cuesOfTurns(turns.slice(0, MAX_MANEUVERS), geometry, segments)
  const points = turns.length === 0 ? draft.waypoints : draft.waypoints.filter(({ turn }) => turn === undefined)
  const waypoints = points.length === 0 ? endsOf(geometry) : points.slice(0, MAX_WAYPOINTS)
  if (waypoints.length === 0) return yield* noPoints(draft.dropped)

  const description = firstOf(draft.descriptions)
  const { dropped: droppedTags, tags } = tagsOf(draft.tags)
  const sport = draft.activity?.trim() ?? ""
  const activity = activityOf(sport)
  const dropped = bounded([
    ...draft.dropped,
    ...droppedIf(
      isTooLong(firstOf(draft.names) ?? "", MAX_NAME) ? 1 : 0,
      "end of the name",
      `a name has at most ${MAX_NAME} characters`
    ),
    ...droppedIf(
      isTooLong(description ?? "", MAX_DESCRIPTION) ? 1 : 0,
      "end of the description",
      `a description has at most ${MAX_DESCRIPTION} characters`
    ),
    ...droppedTags,
    ...droppedIf(sport !== "" && activity === undefined ? 1 : 0, "activity", "it is none of run, cycle and walk"),
    ...droppedIf(
      Math.max(0, points.length - MAX_WAYPOINTS),
      "waypoints",
      `a route has at most ${MAX_WAYPOINTS}, the first are kept`
    ),
    ...droppedOfWaypoints(waypoints),
    ...droppedIf((draft.cues ?? []).length - own.length, "cues", "they do not fit the line")
  ])
  return {
    document: {
      name: nameOf(draft),
      ...(description === undefined ? {} : { description: cut(description, MAX_DESCRIPTION) }),
      tags,
      ...(activity === undefined ? {} : { activity }),
      waypoints: waypoints.map(waypointOf),
      geometry,
      ...(segments.length < 2 ? {} : { segments }),
      ...(cues.length === 0 ? {} : { cues })
    },
    measures: measuresOf(draft, closed, positions, isLineChanged),
    dropped,
    warnings: warningsOf(closed, positions, geometry.length, dropped)
  }
})
