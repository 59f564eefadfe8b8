import { Result } from "effect"
import { type ElevationProfile, ElevationRequest } from "../../schema/Elevation.ts"
import type { Position } from "../../schema/Geometry.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { NewRoute, RoutePatch } from "../../schema/Route.ts"
import { profileOf } from "../geometry/Elevation.ts"
import {
  BROKEN_POLYLINE6,
  type MeasuredPolyline,
  measurePolyline6,
  measurePositions,
  positionsOf
} from "../geometry/MeasuredPolyline.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { longBodyJob } from "../json/LongBody.ts"
import { readerWithLine, type WithLine } from "./GeometryReader.ts"
import type { Line } from "./RouteColumns.ts"

interface GivenLine {
  readonly geometry?: ReadonlyArray<Position> | null
  readonly polyline6?: string | null
}

interface RouteParts {
  readonly line?: MeasuredPolyline
}

const lineOf = (
  { line, rest: { polyline6 } }: WithLine<GivenLine>
): Result.Result<Line, ReadonlyArray<ValidationIssue>> =>
  typeof polyline6 === "string"
    ? Result.fromNullishOr(measurePolyline6(polyline6), () => [BROKEN_POLYLINE6])
    : Result.succeed(line === undefined ? polyline6 : line)

/** A null polyline stays in the text. */
const split = <A extends GivenLine>(body: WithLine<A>) =>
  Result.map(lineOf(body), (line): { readonly rest: unknown; readonly parts: RouteParts } => {
    const { polyline6: _, ...rest } = body.rest
    return line === undefined || line === null
      ? { rest: { ...rest, geometry: line }, parts: {} }
      : { rest, parts: { line } }
  })

/** A decoded body without its line, which is measured: synchronous, for a thread. */
export const splitRoute = ({ geometry, ...rest }: NewRoute | RoutePatch) =>
  split({ rest, line: geometry && measurePositions(geometry) })

const newRoute = readerWithLine(decodeBounded(NewRoute))

export const readNewRoute = longBodyJob(
  import.meta.url,
  "read new route",
  (text) => Result.flatMap(newRoute(text), split)
)

const routePatch = readerWithLine(decodeBounded(RoutePatch))

export const readRoutePatch = longBodyJob(
  import.meta.url,
  "read route patch",
  (text) => Result.flatMap(routePatch(text), split)
)

const bareLine = readerWithLine(decodeBounded(ElevationRequest))

export const readBareLine = longBodyJob(import.meta.url, "read line", (text) => Result.flatMap(bareLine(text), split))

interface Sampled {
  readonly geometry: string
  readonly samples: number
}

export const measureProfile = new HeavyJob<Sampled, ElevationProfile>(import.meta.url, {
  name: "measure profile",
  share: "profiles",
  run: ({ geometry, samples }) => profileOf(positionsOf(geometry), samples)
})
