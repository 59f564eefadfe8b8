import { Result } from "effect"
import { type ElevationProfile, ElevationRequest } from "../../schema/Elevation.ts"
import type { Position, Segments } from "../../schema/Geometry.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { NewRoute, RoutePatch } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { decodeBounded, longBodyJob } from "../bodies/BoundedJson.ts"
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE
} from "../bodies/JsonScanner.ts"
import { profileOf } from "../geometry/Elevation.ts"
import {
  BROKEN_POLYLINE6,
  type MeasuredPolyline,
  measurePolyline,
  measurePolyline6,
  measurePositions,
  positionsOf,
  readSegments
} from "../geometry/MeasuredPolyline.ts"
import { type ScannedPositions, scanPositions } from "../geometry/PositionScanner.ts"
import type { Line } from "./RouteRow.ts"

const SPACES: ReadonlySet<number | undefined> = new Set([0x09, 0x0a, 0x0d, 0x20])

const NAME = Buffer.from("geometry")

/** This text replaces a geometry, and is one value for `JsonScanner`. */
const TAKEN_OUT = Buffer.from("[]")

const pastSpaces = (text: Buffer, from: number): number => {
  let index = from
  while (SPACES.has(text[index])) index++
  return index
}

/** Finds the value of the next outermost `geometry`: `text.length` without one, -1 at a name with escapes. */
const nextGeometry = (text: Buffer, from: number, levels: number): number => {
  let level = levels
  for (let index = from; index < text.length; index++) {
    const byte = text[index]
    if (byte === QUOTE) {
      const end = endOfString(text, index + 1)
      const colon = level === 1 ? pastSpaces(text, end + 1) : -1
      if (text[colon] === COLON) {
        const name = text.subarray(index + 1, end)
        if (name.includes(BACKSLASH)) return -1
        if (name.equals(NAME)) return pastSpaces(text, colon + 1)
      }
      index = end
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      level++
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      level--
    }
  }
  return text.length
}

interface CutText {
  readonly rest: Buffer
  readonly scanned: ScannedPositions
}

/** Returns undefined if the geometry is not the only one, or not written as `JSON.stringify` would. */
const cutGeometry = (text: Buffer): CutText | undefined => {
  // The search is native, and the walk over all names of a body is not.
  if (!text.includes(NAME)) return undefined
  const start = nextGeometry(text, 0, 0)
  const scanned = start === -1 ? undefined : scanPositions(text, start)
  if (scanned === undefined || nextGeometry(text, scanned.end, 1) !== text.length) return undefined
  return { rest: Buffer.concat([text.subarray(0, start), TAKEN_OUT, text.subarray(scanned.end)]), scanned }
}

type Read<A> = Result.Result<A, ReadonlyArray<ValidationIssue>>

type Decode<A> = (text: Buffer, taken: number) => Read<A>

interface WithSegments {
  readonly segments?: Segments | null | undefined
}

interface WithGeometry extends WithSegments {
  readonly geometry?: ReadonlyArray<Position> | null
}

export interface WithLine<A> {
  readonly rest: Omit<A, "geometry">
  readonly line: Line
}

/** Fails if a part of the line begins behind its end. */
const requireOnLine = ({ segments }: WithSegments, line: Line): Read<void> => {
  const index = (segments ?? []).findIndex((start) => start > 0 && start >= (line?.positionCount ?? 0))
  return index === -1
    ? Result.void
    : Result.fail([{ path: `segments.${index}`, message: "Expected the index of a position of the line" }])
}

export const withSegmentsOnLine = <A extends WithSegments>(route: WithLine<A>): Read<WithLine<A>> =>
  Result.map(requireOnLine(route.rest, route.line), () => route)

const withLine = <A extends WithGeometry>(
  { geometry, ...rest }: A,
  lineOf: (geometry: WithGeometry["geometry"]) => Line
): WithLine<A> => ({ rest, line: lineOf(geometry) })

/** Passes a geometry as most clients write it by the slow schema decoder, which decodes the whole text on failure. */
export const readerWithLine = <A extends WithGeometry>(decode: Decode<A>) => (text: Buffer): Read<WithLine<A>> => {
  const cut = cutGeometry(text)
  if (cut !== undefined) {
    const { line, values } = cut.scanned
    const decoded = decode(cut.rest, values - 1)
    if (Result.isSuccess(decoded)) {
      const body = decoded.success
      return Result.succeed(withLine(body, () => measurePolyline(line, body.segments)))
    }
  }
  return Result.map(
    decode(text, 0),
    (body) => withLine(body, (geometry) => geometry && measurePositions(geometry, body.segments))
  )
}

interface GivenLine extends WithGeometry {
  readonly polyline6?: string | null
}

interface RouteParts {
  readonly line?: MeasuredPolyline
}

const lineOf = ({ line, rest: { polyline6, segments } }: WithLine<GivenLine>): Read<Line> =>
  typeof polyline6 === "string"
    ? Result.fromNullishOr(measurePolyline6(polyline6, segments), () => [BROKEN_POLYLINE6])
    : Result.succeed(line === undefined ? polyline6 : line)

const split = <A extends GivenLine>(body: WithLine<A>) =>
  Result.flatMap(
    lineOf(body),
    (line) =>
      Result.map(requireOnLine(body.rest, line), (): { readonly rest: unknown; readonly parts: RouteParts } => {
        const { polyline6: _, segments: __, ...rest } = body.rest
        return line === undefined || line === null
          ? { rest: { ...rest, geometry: line }, parts: {} }
          : { rest, parts: { line } }
      })
  )

/** Splits a decoded body into its measured line and the rest. Blocks the thread. */
export const splitRoute = (body: NewRoute | RoutePatch) =>
  split(withLine(body, (geometry) => geometry && measurePositions(geometry, body.segments)))

const lineJob = <A extends GivenLine>(name: string, decode: Decode<A>) => {
  const read = readerWithLine(decode)
  return longBodyJob(import.meta.url, name, (text) => Result.flatMap(read(text), split))
}

export const readNewRoute = lineJob("read new route", decodeBounded(NewRoute))

export const readRoutePatch = lineJob("read route patch", decodeBounded(RoutePatch))

export const readBareLine = lineJob("read line", decodeBounded(ElevationRequest))

interface Sampled {
  readonly geometry: string
  readonly segments: string | undefined
  readonly samples: number
}

export const measureProfile = new HeavyJob<Sampled, ElevationProfile>(import.meta.url, {
  name: "measure profile",
  share: "profiles",
  run: ({ geometry, samples, segments = "[]" }) => profileOf(positionsOf(geometry), samples, readSegments(segments))
})
