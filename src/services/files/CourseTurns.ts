import { Option, Schema } from "effect"
import { Maneuver } from "../../schema/Maneuver.ts"

/** `fit` is a `course_point` type of the FIT profile, `tcx` one of `CoursePointType_t`, `name` fits `CoursePointName_t`. */
interface Turn {
  readonly fit: number
  readonly tcx: string
  readonly name: string
}

const turn = (fit: number, tcx: string, name: string): Turn => ({ fit, tcx, name })

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

/** Turns by the types of Valhalla (`proto/directions.proto`). */
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

/** Files that this service writes have it beside the instruction: type, index, kilometres and seconds. */
export const OWN_MANEUVER = "rps:maneuver"

export const maneuverMark = ({ begin_shape_index, length, time, type }: Maneuver) => ({
  [OWN_MANEUVER]: [type, begin_shape_index, length, time].join(" ")
})

const decodeManeuver = Schema.decodeUnknownOption(Maneuver)

/** Returns undefined for text that `maneuverMark` does not write. */
export const maneuverOf = (mark: string, instruction: string | undefined): Maneuver | undefined => {
  const [type, begin_shape_index, length, time] = mark.trim().split(" ", 5).map(Number)
  return Option.getOrUndefined(
    decodeManeuver({ type, begin_shape_index, length, time, instruction: instruction ?? "" })
  )
}

const WAYPOINT_MARK = "rps waypoints "

/** The `product_name` of FIT files written with cues: how many of the first course points are waypoints. */
export const waypointMark = (count: number): string => `${WAYPOINT_MARK}${count}`

/** Returns infinity (all of them) for a file of another program. */
export const markedWaypoints = (mark: unknown): number => {
  const count = typeof mark === "string" && mark.startsWith(WAYPOINT_MARK) ? mark.slice(WAYPOINT_MARK.length) : ""
  return /^\d{1,4}$/.test(count) ? Number(count) : Infinity
}
