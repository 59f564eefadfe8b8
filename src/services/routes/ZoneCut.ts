import { Option } from "effect"
import type { Position, Segments } from "../../schema/Geometry.ts"
import type { Maneuver } from "../../schema/Maneuver.ts"
import { MAX_DURATION } from "../../schema/Measures.ts"
import type { Waypoint } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { type Circle, coordinatesOf, crosses, isInside, lineMetres, metresAlong, NO_GAPS } from "../geometry/Geodesy.ts"
import { type MeasuredPolyline, measurePositions, positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import { boxOf } from "./RouteRow.ts"
import { cueText, readCues, readWaypoints, waypointText } from "./RouteText.ts"

/** Distance and gain are in metres, the duration in seconds. */
interface Measures {
  readonly distance: number | null
  readonly duration: number | null
  readonly elevationGain: number | null
}

export interface WholeRoute extends Measures {
  /** The members are JSON text, as stored. */
  readonly geometry: string | null
  readonly segments: string | null
  readonly waypoints: string
  readonly cues: string | null
  readonly circles: ReadonlyArray<Circle>
}

interface CutRoute {
  readonly line: MeasuredPolyline | null
  readonly measures: Measures
  readonly waypoints: string
  /** The whole leg of these cues remains; their indexes are into the remaining positions. */
  readonly cues: string | null
  readonly box: string | null
  readonly isStartHidden: boolean
  readonly isEndHidden: boolean
  readonly start: Position | undefined
}

/** The cut is undefined if the circles do not touch the route. */
export type Cut = CutRoute | undefined

const UNKNOWN: Measures = { distance: null, duration: null, elevationGain: null }

/** A row that cannot be read shows nothing. */
const HIDDEN: CutRoute = {
  line: null,
  measures: UNKNOWN,
  waypoints: "[]",
  cues: null,
  box: null,
  isStartHidden: true,
  isEndHidden: true,
  start: undefined
}

interface Piece {
  readonly from: number
  /** The index is that after the last position. */
  readonly to: number
  readonly metres: number
}

const NO_PIECE: Piece = { from: 0, to: 0, metres: -1 }

/**
 * Finds the longest part of the line between two circles, with two positions or more unless the line has one. Parts are
 * not joined: that would draw a line through the circle, and a gap would show as much. No position is added exactly on
 * a circle's edge.
 */
const longestPiece = (
  line: ReadonlyArray<Position>,
  segments: Segments,
  circles: ReadonlyArray<Circle>
): Piece => {
  const along = metresAlong(coordinatesOf(line), segments)
  const fewest = Math.min(line.length, 2)
  const best = { piece: NO_PIECE }
  const open = { from: 0 }
  const end = (to: number) => {
    const metres = (along[to - 1] ?? 0) - (along[open.from] ?? 0)
    if (to - open.from >= fewest && metres > best.piece.metres) best.piece = { from: open.from, to, metres }
  }
  for (const [index, [lng, lat]] of line.entries()) {
    const before = line[index - 1]
    if (circles.some((circle) => isInside(circle, lng, lat))) {
      end(index)
      open.from = index + 1
    } else if (before !== undefined) {
      const [fromLng, fromLat] = before
      if (circles.some((circle) => crosses(circle, fromLng, fromLat, lng, lat))) {
        end(index)
        open.from = index
      }
    }
  }
  end(line.length)
  return best.piece
}

const segmentsIn = (segments: Segments, { from, to }: Piece): Segments => {
  const inside = segments.filter((start) => start > from && start < to).map((start) => start - from)
  return inside.length === 0 ? NO_GAPS : [0, ...inside]
}

/** The last cue before a circle is omitted: its road, length and time describe the hidden part. */
const cuesOf = (cues: ReadonlyArray<Maneuver>, { from, to }: Piece, positions: number) => {
  const indexes = cues.map(({ begin_shape_index }) => begin_shape_index).filter((index) => index < to)
  const end = to === positions ? to : Math.max(from, ...indexes)
  return cues.flatMap(({ begin_shape_index: index, ...cue }) =>
    index >= from && index < end ? [{ ...cue, begin_shape_index: index - from }] : []
  )
}

/** Returns the seconds for a metre; undefined if the cues do not say. */
const paceOf = (cues: ReadonlyArray<Maneuver>): number | undefined => {
  const metres = cues.reduce((sum, { length }) => sum + 1000 * length, 0)
  const seconds = cues.reduce((sum, { time }) => sum + time, 0)
  return metres > 0 && seconds > 0 ? seconds / metres : undefined
}

/**
 * Measures of the whole line would tell the length of the hidden part. So the distance is measured again, even if one
 * was given, and the duration is that of the shown cues, or is scaled by the length if there are none: the pace of the
 * whole line, beside theirs, would tell how much of it is slower. Missing measures stay unknown.
 */
const measuresOf = (
  { distance, duration, elevationGain }: Measures,
  { line, segments }: Pick<Parts, "line" | "segments">,
  left: MeasuredPolyline | null,
  shown: ReadonlyArray<Maneuver>
): Measures => {
  const length = lineMetres(coordinatesOf(line), segments)
  const metres = left?.metres ?? null
  if (metres === null || length === 0) return UNKNOWN
  const scaled = (measure: number | null, digits: number) =>
    measure === null ? null : Math.round(measure * metres / length * 10 ** digits) / 10 ** digits
  const pace = paceOf(shown)
  return {
    distance: distance === null ? null : metres,
    duration: duration === null || pace === undefined
      ? scaled(duration, 0)
      : Math.min(Math.round(pace * metres), MAX_DURATION),
    elevationGain: elevationGain === null ? null : left?.elevationGain ?? scaled(elevationGain, 1)
  }
}

interface Parts {
  readonly line: ReadonlyArray<Position>
  readonly segments: Segments
  readonly waypoints: ReadonlyArray<Waypoint>
  readonly cues: ReadonlyArray<Maneuver> | undefined
  readonly measures: Measures
}

const cutOf = ({ cues, line, measures, segments, waypoints }: Parts, circles: ReadonlyArray<Circle>): Cut => {
  const isHidden = (position: Position | undefined) =>
    position !== undefined && circles.some((circle) => isInside(circle, position[0], position[1]))
  const shown = waypoints.filter(({ coord }) => !isHidden(coord))
  const piece = longestPiece(line, segments, circles)
  const { from, to } = piece
  if (to - from === line.length && shown.length === waypoints.length) return undefined
  const left = to === 0 ? null : measurePositions(line.slice(from, to), segmentsIn(segments, piece))
  const shownCues = cuesOf(cues ?? [], piece, line.length)
  return {
    line: left,
    measures: measuresOf(measures, { line, segments }, left, shownCues),
    waypoints: waypointText(shown),
    cues: cueText(shownCues),
    box: boxOf(left, shown),
    isStartHidden: isHidden(line[0]) || isHidden(waypoints[0]?.coord),
    isEndHidden: isHidden(line.at(-1)) || isHidden(waypoints.at(-1)?.coord),
    start: left?.start ?? shown[0]?.coord
  }
}

const partsOf = Option.liftThrowable(
  ({ cues, distance, duration, elevationGain, geometry, segments, waypoints }: WholeRoute): Parts => ({
    line: geometry === null ? [] : positionsOf(geometry),
    segments: segments === null ? NO_GAPS : readSegments(segments),
    waypoints: readWaypoints(waypoints),
    cues: cues === null ? undefined : readCues(cues),
    measures: { distance, duration, elevationGain }
  })
)

/** Cuts a route by the circles of its owner. Blocks the thread, as `measurePositions`. */
export const cutRoute = new HeavyJob<WholeRoute, Cut>(import.meta.url, {
  name: "cut route",
  share: "views",
  run: (route) => Option.match(partsOf(route), { onNone: () => HIDDEN, onSome: (parts) => cutOf(parts, route.circles) })
})
