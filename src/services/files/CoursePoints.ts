import { Option, Schema } from "effect"
import { isLatitude, isLongitude } from "../../schema/Geometry.ts"
import { Maneuver } from "../../schema/Maneuver.ts"
import type { DraftWaypoint, WrittenRoute } from "./Draft.ts"
import { decimal, numberOf } from "./FileValues.ts"
import type { XmlParts } from "./Xml.ts"
import { attributeOf, childrenOf, textOf, type XmlElement } from "./XmlTree.ts"

/** `fit` is a `course_point` type of FIT, `tcx` one of `CoursePointType_t`, `name` fits `CoursePointName_t`. */
interface Turn {
  readonly fit: number
  readonly tcx: string
  readonly name: TurnName
}

export type TurnName =
  | "Note"
  | "Start"
  | "Finish"
  | "Straight"
  | "Bear right"
  | "Right"
  | "Hard right"
  | "Bear left"
  | "Left"
  | "Hard left"
  | "U-turn"
  | "Fork right"
  | "Fork left"
  | "Roundabout"
  | "Ferry"

const turn = (fit: number, tcx: string, name: TurnName): Turn => ({ fit, tcx, name })

const NOTE = turn(0, "Generic", "Note")
const START = turn(0, "Generic", "Start")
const FINISH = turn(0, "Generic", "Finish")
const STRAIGHT = turn(8, "Straight", "Straight")
const BEAR_RIGHT = turn(21, "Right", "Bear right")
const RIGHT = turn(7, "Right", "Right")
const HARD_RIGHT = turn(22, "Right", "Hard right")
const BEAR_LEFT = turn(19, "Left", "Bear left")
const LEFT = turn(6, "Left", "Left")
const HARD_LEFT = turn(20, "Left", "Hard left")
const U_TURN = turn(23, "Generic", "U-turn")
const FORK_RIGHT = turn(17, "Right", "Fork right")
const FORK_LEFT = turn(16, "Left", "Fork left")
const ROUNDABOUT = turn(0, "Generic", "Roundabout")
const FERRY = turn(0, "Generic", "Ferry")

/** The keys are the types of Valhalla (`proto/directions.proto`). */
const TURNS: Readonly<Record<number, Turn>> = {
  1: START,
  2: START,
  3: START,
  4: FINISH,
  5: FINISH,
  6: FINISH,
  7: STRAIGHT,
  8: STRAIGHT,
  9: BEAR_RIGHT,
  10: RIGHT,
  11: HARD_RIGHT,
  12: U_TURN,
  13: U_TURN,
  14: HARD_LEFT,
  15: LEFT,
  16: BEAR_LEFT,
  17: STRAIGHT,
  18: FORK_RIGHT,
  19: FORK_LEFT,
  20: FORK_RIGHT,
  21: FORK_LEFT,
  22: STRAIGHT,
  23: BEAR_RIGHT,
  24: BEAR_LEFT,
  26: ROUNDABOUT,
  27: ROUNDABOUT,
  28: FERRY,
  29: FERRY,
  37: BEAR_RIGHT,
  38: BEAR_LEFT
}

export const turnOf = ({ type }: Maneuver): Turn => TURNS[type] ?? NOTE

const lettersOf = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "")

/** The words are those of TCX, FIT, planners and their short codes (BRouter, OsmAnd), as letters alone. */
const TURN_WORDS: ReadonlyMap<string, number> = new Map([
  ...["left", "turnleft", "leftturn", "tl"].map((word) => [word, 15] as const),
  ...["right", "turnright", "rightturn", "tr"].map((word) => [word, 10] as const),
  ...["straight", "gostraight", "continuestraight"].map((word) => [word, 8] as const),
  ...["slightleft", "bearleft", "turnslightleft", "tsll"].map((word) => [word, 16] as const),
  ...["slightright", "bearright", "turnslightright", "tslr"].map((word) => [word, 9] as const),
  ...["sharpleft", "hardleft", "turnsharpleft", "tshl"].map((word) => [word, 14] as const),
  ...["sharpright", "hardright", "turnsharpright", "tshr"].map((word) => [word, 11] as const),
  ...["uturn", "makeuturn", "uturnleft", "tu"].map((word) => [word, 13] as const),
  ...["uturnright", "tru"].map((word) => [word, 12] as const),
  ...["leftfork", "forkleft"].map((word) => [word, 19] as const),
  ...["rightfork", "forkright"].map((word) => [word, 18] as const),
  ...["keepleft", "kl"].map((word) => [word, 24] as const),
  ...["keepright", "kr"].map((word) => [word, 23] as const),
  ["middlefork", 22],
  ["roundabout", 26]
])

export const turnTypeOf = (word: string | undefined): number | undefined =>
  word === undefined ? undefined : TURN_WORDS.get(lettersOf(word))

const GENERIC = "Generic"

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
  if (turnType !== undefined) return TURNS[turnType] ?? NOTE
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

/** Returns waypoints and cues in the order of the line; those of a kind keep theirs. */
export const alongLine = <Point extends { readonly at: number }>(
  waypoints: ReadonlyArray<Point>,
  cues: ReadonlyArray<Point>
): ReadonlyArray<Point> =>
  [waypoints, cues].flatMap((points) => {
    let place = 0
    return points.map((point) => {
      place = Math.max(place, point.at)
      return { point, place }
    })
  }).toSorted((a, b) => a.place - b.place).map(({ point }) => point)

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
