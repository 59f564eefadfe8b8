import type { Position, Segments } from "../../schema/Geometry.ts"
import type { Maneuver } from "../../schema/Maneuver.ts"
import type { Waypoint } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { type TurnName, turnOf } from "../files/CoursePoints.ts"
import { END_METRES, placesOf } from "../files/NearestPositions.ts"
import { climbOf, profileOf } from "../geometry/Elevation.ts"
import { coordinatesOf, metresAlong, NO_GAPS, rangesOf } from "../geometry/Geodesy.ts"
import { elevationsOf, positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import { encodePolyline } from "../geometry/Polyline.ts"
import { readCues, readWaypoints } from "./RouteText.ts"

/** `slope` is in percent, uphill positive. */
export interface Sample {
  readonly metres: number
  readonly height: number
  readonly slope: number
}

/** A stop is a waypoint with a name, or a cue. */
export interface Stop {
  readonly kind: "waypoint" | "cue"
  readonly metres: number
  /** A cue, of which a page may have hundreds, is on the line where its metres say. */
  readonly coord?: Waypoint["coord"]
  /** The text is empty for a cue without an instruction, which has its turn only. */
  readonly text: string
  readonly turn: TurnName | undefined
}

export interface RouteSheet {
  readonly start: Position | undefined
  /** Parts of the line (or waypoints) are separated by spaces and have five decimals. A very long line is thinned. */
  readonly polyline5: string
  /** The metres along the whole line to each of these positions from the one before, separated by spaces: 0 first. */
  readonly steps: string
  readonly climb: ReturnType<typeof climbOf>
  readonly samples: ReadonlyArray<Sample>
  /** The stops are the first ones along the line. */
  readonly stops: ReadonlyArray<Stop>
  readonly stopCount: number
}

const SAMPLES = 300

/** A page with all cues of a route through a city would be long. */
const MAX_STOPS = 500

const sampled = (line: ReadonlyArray<Position>, segments: Segments): ReadonlyArray<Sample> => {
  const known = profileOf(line, SAMPLES, segments).points.flatMap(({ distance, height }) =>
    height === null ? [] : [{ metres: distance, height }]
  )
  return known.map((sample, index) => {
    const before = known[index - 1] ?? sample
    const after = known[index + 1] ?? sample
    const run = after.metres - before.metres
    const { height, metres } = sample
    return { metres, height, slope: run > 0 ? 100 * (after.height - before.height) / run : 0 }
  })
}

const waypointStops = (
  waypoints: ReadonlyArray<Waypoint>,
  line: ReadonlyArray<Position>,
  along: Float64Array
): ReadonlyArray<Stop> => {
  const places = placesOf(waypoints, line, END_METRES)
  return waypoints.flatMap(({ coord, name }, order) =>
    name ? [{ kind: "waypoint", metres: along[places[order] ?? 0] ?? 0, coord, text: name, turn: undefined }] : []
  )
}

const cueStops = (cues: ReadonlyArray<Maneuver>, along: Float64Array): ReadonlyArray<Stop> =>
  cues.flatMap((cue) => {
    const metres = along[cue.begin_shape_index]
    return metres === undefined ? [] : [{ kind: "cue", metres, text: cue.instruction, turn: turnOf(cue).name }]
  })

interface Given {
  readonly geometry: string
  readonly waypoints: string
  readonly cues: string
  readonly segments: string
}

/** Longer lines would make a page grow by more than the eye sees. */
const MAX_DRAWN = 5000

/** A decimal less than files have is a metre, and half the bytes of a recorded line on its page. */
const DRAWN_FACTOR = 1e5

/** Metres are rounded to these, which a map does not show: exact ones would have twice the bytes. */
const DRAWN_METRES = 5

const drawn = (
  line: ReadonlyArray<Position>,
  segments: Segments,
  along = metresAlong(coordinatesOf(line), segments)
): Pick<RouteSheet, "polyline5" | "steps"> => {
  const every = Math.ceil(line.length / MAX_DRAWN)
  const thinned = <A>(values: ReadonlyArray<A>) =>
    rangesOf(line.length, segments).map(({ from, to }) =>
      values.slice(from, to).filter((_, index) => index % every === 0 || index === to - from - 1)
    )
  const metres = thinned([...along]).flat().map((at) => DRAWN_METRES * Math.round(at / DRAWN_METRES))
  return {
    polyline5: thinned(line).map((part) => encodePolyline(coordinatesOf(part), DRAWN_FACTOR)).join(" "),
    steps: metres.map((at, index) => at - (metres[index - 1] ?? 0)).join(" ")
  }
}

const sheetOf = ({ cues, geometry, segments: given, waypoints }: Given): RouteSheet => {
  const line = positionsOf(geometry)
  const segments = readSegments(given)
  const places = readWaypoints(waypoints)
  const along = metresAlong(coordinatesOf(line), segments)
  const stops = [...waypointStops(places, line, along), ...cueStops(readCues(cues), along)]
    .toSorted((one, other) => one.metres - other.metres)
  return {
    start: line[0] ?? places[0]?.coord,
    ...line.length > 0 ? drawn(line, segments, along) : drawn(places.map(({ coord }) => coord), NO_GAPS),
    climb: climbOf(along, elevationsOf(line), segments),
    samples: sampled(line, segments),
    stops: stops.slice(0, MAX_STOPS),
    stopCount: stops.length
  }
}

export const measureSheet = new HeavyJob<Given, RouteSheet>(import.meta.url, {
  name: "measure sheet",
  share: "profiles",
  run: sheetOf
})
