import { Effect, Schema } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import { Maneuvers } from "../../schema/Maneuver.ts"
import { type NewRoute, Waypoint } from "../../schema/Route.ts"
import { PIECE_LENGTH } from "../files/Chunks.ts"
import { positionsOf } from "../geometry/MeasuredPolyline.ts"

export const waypointText = (waypoints: ReadonlyArray<Waypoint>) =>
  JSON.stringify(waypoints.map(({ coord, name, timestamp, type }) => ({
    coord,
    ...(type === null ? {} : { type }),
    ...(name === null ? {} : { name }),
    ...(timestamp === null ? {} : { timestamp })
  })))

export const cueText = (cues: NewRoute["cues"]) =>
  cues === undefined || cues === null || cues.length === 0 ? null : JSON.stringify(cues)

export const readWaypoints = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Waypoint)))

export const readCues = Schema.decodeSync(Schema.fromJsonString(Maneuvers))

function* piecesOf(text: string): Generator<string> {
  const end = text.length - 1
  if (!text.startsWith("[[") || !text.endsWith("]]")) return yield text
  for (let start = 1; start < end;) {
    const next = text.indexOf("],[", start + PIECE_LENGTH)
    const last = next === -1 ? end : next + 1
    yield `[${text.slice(start, last)}]`
    start = last + 1
  }
}

/** `positionsOf` in pieces, yielding to the event loop: 8 MiB at once would block it for 100 ms. */
export const readLine = Effect.fnUntraced(function*(text: string) {
  const line: Array<Position> = []
  for (const piece of piecesOf(text)) {
    for (const position of positionsOf(piece)) line.push(position)
    yield* Effect.yieldNow
  }
  return line
})
