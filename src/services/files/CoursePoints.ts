import { Option, Schema } from "effect"
import { isLatitude, isLongitude, type Position } from "../../schema/Geometry.ts"
import { Maneuver } from "../../schema/Maneuver.ts"
import type { DraftWaypoint, WrittenRoute } from "./Draft.ts"
import { coordOf, decimal, numberOf } from "./FileValues.ts"
import { NEAR_METRES, placesOf } from "./NearestPositions.ts"
import type { XmlParts } from "./Xml.ts"
import { attributeOf, childrenOf, textOf, type XmlElement } from "./XmlTree.ts"

const GENERIC = "Generic"

/** `fit` is a `course_point` type of FIT, `tcx` one of `CoursePointType_t`, `name` fits `CoursePointName_t`. */
const turn = <Name extends string>(name: Name, fit: number, tcx: string, types: Readonly<Record<number, string>>) => ({
  name,
  fit,
  tcx,
  types
})

const NOTE = turn("Note", 0, GENERIC, {})

/**
 * The keys are the types of Valhalla (`proto/directions.proto`). The words are those of TCX, FIT, planners and their
 * short codes (BRouter, OsmAnd), as letters alone.
 */
const TURNS = [
  turn("Start", 0, GENERIC, { 1: "", 2: "", 3: "" }),
  turn("Finish", 0, GENERIC, { 4: "", 5: "", 6: "" }),
  turn("Straight", 8, "Straight", { 7: "", 8: "straight gostraight continuestraight", 17: "", 22: "middlefork" }),
  turn("Bear right", 21, "Right", { 9: "slightright bearright turnslightright tslr", 23: "keepright kr", 37: "" }),
  turn("Right", 7, "Right", { 10: "right turnright rightturn tr" }),
  turn("Hard right", 22, "Right", { 11: "sharpright hardright turnsharpright tshr" }),
  turn("U-turn", 23, GENERIC, { 12: "uturnright tru", 13: "uturn makeuturn uturnleft tu" }),
  turn("Hard left", 20, "Left", { 14: "sharpleft hardleft turnsharpleft tshl" }),
  turn("Left", 6, "Left", { 15: "left turnleft leftturn tl" }),
  turn("Bear left", 19, "Left", { 16: "slightleft bearleft turnslightleft tsll", 24: "keepleft kl", 38: "" }),
  turn("Fork right", 17, "Right", { 18: "rightfork forkright", 20: "" }),
  turn("Fork left", 16, "Left", { 19: "leftfork forkleft", 21: "" }),
  turn("Roundabout", 0, GENERIC, { 26: "roundabout", 27: "" }),
  turn("Ferry", 0, GENERIC, { 28: "", 29: "" })
]

type Turn = typeof NOTE | (typeof TURNS)[number]

export type TurnName = Turn["name"]

const TURNS_BY_TYPE: ReadonlyMap<number, Turn> = new Map(
  TURNS.flatMap((turn) => Object.keys(turn.types).map((type) => [Number(type), turn] as const))
)

const TYPES_BY_WORD: ReadonlyMap<string, number> = new Map(
  TURNS.flatMap(({ types }) => Object.entries(types)).flatMap(([type, words]) =>
    words.split(" ").filter((word) => word !== "").map((word) => [word, Number(type)] as const)
  )
)

export const turnOf = ({ type }: Maneuver): Turn => TURNS_BY_TYPE.get(type) ?? NOTE

const lettersOf = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "")

export const turnTypeOf = (word: string | undefined): number | undefined =>
  word === undefined ? undefined : TYPES_BY_WORD.get(lettersOf(word))

const kind = (fit: number, name: string, tcx: string = GENERIC, ...others: ReadonlyArray<string>) => ({
  fit,
  name,
  tcx,
  words: [name, tcx, ...others].filter((word) => word !== GENERIC).map(lettersOf)
})

/** The kinds have their `course_point` types in FIT; those of TCX have a name there. */
const KINDS = [
  kind(1, "summit", "Summit"),
  kind(2, "valley", "Valley"),
  kind(3, "water", "Water", "drinkingwater"),
  kind(4, "food", "Food", "restaurant", "cafe"),
  kind(5, "danger", "Danger", "dangerarea"),
  kind(9, "first_aid", "First Aid", "medicalfacility"),
  kind(10, "fourth_category", "4th Category"),
  kind(11, "third_category", "3rd Category"),
  kind(12, "second_category", "2nd Category"),
  kind(13, "first_category", "1st Category"),
  kind(14, "hors_category", "Hors Category"),
  kind(15, "sprint", "Sprint"),
  kind(24, "segment_start"),
  kind(25, "segment_end"),
  kind(27, "campsite", GENERIC, "campground"),
  kind(28, "aid_station"),
  kind(29, "rest_area"),
  kind(30, "general_distance"),
  kind(31, "service"),
  kind(32, "energy_gel"),
  kind(33, "sports_drink"),
  kind(34, "mile_marker"),
  kind(35, "checkpoint", GENERIC, "control"),
  kind(36, "shelter", GENERIC, "hut"),
  kind(37, "meeting_spot"),
  kind(38, "overlook", GENERIC, "scenicarea"),
  kind(39, "toilet", GENERIC, "toilets", "restroom"),
  kind(40, "shower"),
  kind(41, "gear"),
  kind(42, "sharp_curve"),
  kind(43, "steep_incline"),
  kind(44, "tunnel"),
  kind(45, "bridge"),
  kind(46, "obstacle"),
  kind(47, "crossing"),
  kind(48, "store", GENERIC, "shoppingcenter"),
  kind(49, "transition"),
  kind(50, "navaid"),
  kind(51, "transport"),
  kind(52, "alert"),
  kind(53, "info", GENERIC, "information")
]

const KINDS_BY_WORD = new Map(KINDS.flatMap((kind) => kind.words.map((word) => [word, kind] as const)))

/** Returns the type of a waypoint for the word of a course point. */
export const pointTypeOf = (kind: string | undefined): string | undefined => {
  const word = lettersOf(kind ?? "")
  return word === "generic" || word === "" ? undefined : KINDS_BY_WORD.get(word)?.name ?? kind?.trim()
}

/** BaseCamp writes it as the type of every point, whatever the symbol says. */
const ANY_TYPE = "user"

/** Returns the type of a point of GPX, or of a file that was made of one. */
export const typeOf = (type: string | undefined, symbol: string | undefined): string | undefined =>
  (type === ANY_TYPE ? undefined : type) ?? pointTypeOf(symbol) ?? type

/** Returns true if the symbol is no turn and says something else than the type. */
export const isSymbolLost = (type: string | undefined, symbol: string | undefined): boolean => {
  const meaning = pointTypeOf(symbol)
  return meaning !== undefined && turnTypeOf(symbol) === undefined && meaning !== pointTypeOf(typeOf(type, symbol))
}

export const coursePointOf = (type: string | null | undefined): { readonly fit: number; readonly tcx: string } => {
  const turnType = turnTypeOf(type ?? undefined)
  if (turnType !== undefined) return TURNS_BY_TYPE.get(turnType) ?? NOTE
  return KINDS_BY_WORD.get(lettersOf(type ?? "")) ?? NOTE
}

/** Files that this service writes have it beside the instruction: type, index, kilometres and seconds. */
export const OWN_MANEUVER = "rps:maneuver"

export const maneuverMark = ({ begin_shape_index, length, time, type }: Maneuver) => ({
  [OWN_MANEUVER]: [type, begin_shape_index, length, time].join(" ")
})

/** A GPX point needs a name: this keeps an instruction without a text apart from one that is the name of its turn. */
export const OWN_INSTRUCTION = "rps:instruction"

const decodeManeuver = Schema.decodeUnknownOption(Maneuver)

/** Returns undefined for text that `maneuverMark` does not write. */
export const maneuverOf = (mark: string, instruction: string | undefined): Maneuver | undefined => {
  const [type, begin_shape_index, length, time] = mark.trim().split(" ", 5).map(Number)
  return Option.getOrUndefined(
    decodeManeuver({ type, begin_shape_index, length, time, instruction: instruction ?? "" })
  )
}

const WAYPOINT_MARK = "rps waypoints "

/** Writes into the `product_name` of our FIT files how many course points are waypoints: those of the first indexes. */
export const waypointMark = (count: number): string => `${WAYPOINT_MARK}${count}`

/** Returns infinity (all of them) for a file of another program. */
export const markedWaypoints = (mark: unknown): number => {
  const count = typeof mark === "string" && mark.startsWith(WAYPOINT_MARK) ? mark.slice(WAYPOINT_MARK.length) : ""
  return /^\d{1,4}$/.test(count) ? Number(count) : Infinity
}

/** Finds positions that only shape the route: devices would announce them. */
export const isShaping = ({ name, type }: { readonly name?: string | null; readonly type?: string | null }): boolean =>
  type === "routed" && (name === undefined || name === null)

interface CoursePoint {
  /** The point is at the position of this index. */
  readonly at: number
  readonly coord: readonly [lng: number, lat: number]
  readonly cue?: Maneuver
  readonly fit: number
  readonly tcx: string
  /** The name is that of the waypoint, or of the turn, the text what the route says. */
  readonly name: string
  readonly text: string | undefined
  readonly marks: XmlParts
}

const pointOfCue = (cue: Maneuver, position: Position): CoursePoint => {
  const { fit, name, tcx } = turnOf(cue)
  const text = cue.instruction === "" ? undefined : cue.instruction
  return { at: cue.begin_shape_index, coord: coordOf(position), cue, fit, tcx, name, text, marks: maneuverMark(cue) }
}

/**
 * Returns the waypoints, which have the first indexes, and the cues that devices announce, in the order of the line;
 * those of a kind keep theirs.
 */
export const coursePointsOf = ({ cues = [], geometry, waypoints }: WrittenRoute) => {
  const places = placesOf(waypoints, geometry, NEAR_METRES)
  const placed = waypoints.map((waypoint, index) => ({ ...waypoint, at: places[index] ?? 0 }))
  const announced = placed.filter((waypoint) => !isShaping(waypoint))
  const placeAt = (index: number) => String(geometry[index]?.slice(0, 2))
  const placesAt = (points: typeof placed) => new Set(points.map(({ at }) => placeAt(at)))
  const shaping = placesAt(placed.filter(isShaping))
  const stops = placesAt(announced)
  // The engine arrives and starts at each of its locations.
  const isPassed = (cue: Maneuver, index: number) => {
    const place = placeAt(cue.begin_shape_index)
    return ["Start", "Finish"].includes(turnOf(cue).name) && index > 0 && index < cues.length - 1
      && shaping.has(place) && !stops.has(place)
  }
  const ofWaypoints = announced.map(({ at, coord, name, timestamp, type }): CoursePoint => {
    const { fit, tcx } = coursePointOf(type)
    const marks = { "rps:type": type ?? undefined, "rps:timestamp": timestamp ?? undefined }
    return { at, coord, fit, tcx, name: name ?? "", text: name ?? undefined, marks }
  })
  const ofCues = cues.flatMap((cue, index) => {
    const position = geometry[cue.begin_shape_index]
    return position === undefined || isPassed(cue, index) ? [] : [pointOfCue(cue, position)]
  })
  let index = 0
  return [ofWaypoints, ofCues].flatMap((points) => {
    let place = 0
    return points.map((point) => {
      place = Math.max(place, point.at)
      return { index: index++, place, point }
    })
  }).toSorted((a, b) => a.place - b.place)
}

/** Our files keep the shaping points beside the others, each with its index among all waypoints. */
export interface ShapingPoint {
  readonly index: number
  readonly coord: readonly [lng: number, lat: number]
  readonly timestamp: string | undefined
}

export const shapingPoints = (waypoints: WrittenRoute["waypoints"]): ReadonlyArray<ShapingPoint> =>
  waypoints.flatMap((waypoint, index) =>
    isShaping(waypoint) ? [{ index, coord: waypoint.coord, timestamp: waypoint.timestamp ?? undefined }] : []
  )

export const withShaping = (
  waypoints: ReadonlyArray<DraftWaypoint>,
  points: ReadonlyArray<ShapingPoint>
): ReadonlyArray<DraftWaypoint> => {
  const all = [...waypoints]
  for (const { coord, index, timestamp } of points) {
    all.splice(index, 0, { coord, name: undefined, type: "routed", timestamp })
  }
  return all
}

export const SHAPING = "rps:shaping"

const TIMESTAMP = "rps:timestamp"

export const SHAPING_MEMBERS = [SHAPING, TIMESTAMP, "index", "lat", "lon"]

export const shapingParts = (waypoints: WrittenRoute["waypoints"]): ReadonlyArray<XmlParts> =>
  shapingPoints(waypoints).map(({ coord: [lng, lat], index, timestamp }) => ({
    "@index": String(index),
    "@lat": decimal(lat),
    "@lon": decimal(lng),
    [TIMESTAMP]: timestamp
  }))

export const shapingIn = (
  extensions: XmlElement | undefined | ReadonlyArray<XmlElement>
): ReadonlyArray<ShapingPoint> =>
  childrenOf(extensions, SHAPING).flatMap((point) => {
    const [index, lng, lat] = ["index", "lon", "lat"].map((name) => numberOf(attributeOf(point, name)))
    return index !== undefined && isLongitude(lng) && isLatitude(lat)
      ? [{ index, coord: [lng, lat], timestamp: textOf(point, TIMESTAMP) }]
      : []
  })
