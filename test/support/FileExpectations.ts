import { Effect, Result, Schema, Struct } from "effect"
import { readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { publicErrorOf } from "../../src/http/response/PublicErrors.ts"
import type { Position } from "../../src/schema/Geometry.ts"
import { FILE_FORMATS } from "../../src/schema/Import.ts"
import { turnOf, turnTypeOf } from "../../src/services/files/CoursePoints.ts"
import { draftsOf, type ReadRoute } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { coordinatesOf, lineMetres, nearest, radians } from "../../src/services/geometry/Geodesy.ts"
import { measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { repeatsIn } from "../../src/services/routes/RouteDuplicates.ts"

export const EXPECTATIONS = "expectations.json"

const Coordinates = Schema.Array(Schema.Array(Schema.Finite))

const ExpectedRoute = {
  name: Schema.optionalKey(Schema.String),
  activity: Schema.optionalKey(Schema.String),
  geometry: Schema.optionalKey(Coordinates),
  /** The route has this many positions, or positions with these longitudes and latitudes. */
  positions: Schema.optionalKey(Schema.Union([Schema.Int, Coordinates])),
  waypoints: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The waypoints or cues have these kinds of course points. */
  waypoint_types: Schema.optionalKey(Schema.Array(Schema.String)),
  duration: Schema.optionalKey(Schema.Finite),
  distance: Schema.optionalKey(Schema.Finite),
  distance_tolerance: Schema.optionalKey(Schema.Finite),
  distance_max: Schema.optionalKey(Schema.Finite),
  /** The route has as many warnings as texts, and each contains its text. */
  warnings: Schema.optionalKey(Schema.Array(Schema.String)),
  /** An export in a format has and lacks these texts. */
  exports: Schema.optionalKey(Schema.Record(
    Schema.Literals(FILE_FORMATS.filter((format) => format !== "fit")),
    Schema.optionalKey(Schema.Struct({
      has: Schema.optionalKey(Schema.Array(Schema.String)),
      lacks: Schema.optionalKey(Schema.Array(Schema.String))
    }))
  ))
}

const Expectation = Schema.Struct({
  file: Schema.String,
  request: Schema.String,
  content_type: Schema.optionalKey(Schema.String),
  expect: Schema.Struct({
    ...ExpectedRoute,
    status: Schema.optionalKey(Schema.Int),
    status_any: Schema.optionalKey(Schema.Array(Schema.Int)),
    routes: Schema.optionalKey(Schema.Array(Schema.Struct(ExpectedRoute))),
    /** This text is for people; the response must have some warning. */
    warning: Schema.optionalKey(Schema.String)
  })
})
type Expectation = typeof Expectation.Type

type Expected = Schema.Struct<typeof ExpectedRoute>["Type"]

const decodeExpectations = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Expectation)))

const CREATED = 201

const metresOf = ({ document, measures }: ReadRoute) =>
  measures.distance ?? lineMetres(coordinatesOf(document.geometry), document.segments)

/** Kinds that are turns belong to cues, the others to waypoints. */
const areKinds = ({ document: { cues = [], waypoints } }: ReadRoute, expected: ReadonlyArray<string>) => {
  const isTurn = (kind: string) => turnTypeOf(kind) !== undefined
  const types = waypoints.map(({ type }) => type).filter((type) => type !== "routed" && type !== undefined)
  return isSameList(cues.map((cue) => turnOf(cue).tcx.toLowerCase()), expected.filter(isTurn))
    && isSameList(types, expected.filter((kind) => !isTurn(kind)))
}

const PRECISION = 1e-6

/** The service measures on a sphere, which may differ by this share. */
const SPHERE = 0.005

/** These are the larger half-axis of the ellipsoid of WGS 84, and the square of its eccentricity. */
const AXIS = 6_378_137
const ECCENTRICITY = 0.00669437999014

/** Other programs measure on the ellipsoid. The formula is exact for the short parts of a line. */
const ellipsoidMetres = (from: Position, to: Position) => {
  const latitude = radians((from[1] + to[1]) / 2)
  const flat = 1 - ECCENTRICITY * Math.sin(latitude) ** 2
  const north = radians(to[1] - from[1]) * AXIS * (1 - ECCENTRICITY) / flat ** 1.5
  const east = radians(nearest(to[0], from[0]) - from[0]) * Math.cos(latitude) * AXIS / Math.sqrt(flat)
  return Math.hypot(north, east)
}

const isMeasured = (route: ReadRoute, expected: number, tolerance = 1) => {
  const { geometry, segments = [] } = route.document
  const starts = new Set(segments)
  const metres = geometry.reduce((sum, position, index) => {
    const before = starts.has(index) ? undefined : geometry[index - 1]
    return before === undefined ? sum : sum + ellipsoidMetres(before, position)
  }, 0)
  return Math.abs(metres - expected) <= tolerance && Math.abs(metresOf(route) - metres) <= SPHERE * metres
}

const isSamePlace = (a: Position | undefined, b: ReadonlyArray<number>) =>
  b.every((value, axis) => Math.abs((a?.[axis] ?? Infinity) - value) <= PRECISION)

const isSameLine = ({ document: { geometry } }: ReadRoute, expected: ReadonlyArray<ReadonlyArray<number>>) =>
  geometry.length === expected.length && expected.every((position, index) => isSamePlace(geometry[index], position))

const isSameList = (actual: ReadonlyArray<unknown>, expected: ReadonlyArray<unknown>) =>
  actual.map(String).toSorted().join("\n") === expected.map(String).toSorted().join("\n")

const isWarned = ({ warnings }: ReadRoute, expected: ReadonlyArray<string>) =>
  warnings.length === expected.length && expected.every((what, index) => warnings[index]?.message.includes(what))

const formatsOf = (exports: NonNullable<Expected["exports"]>) => Struct.keys(exports)

const isExported = ({ document, measures }: ReadRoute, exports: NonNullable<Expected["exports"]>) =>
  formatsOf(exports).every((format) => {
    const text = [...writeRouteFile({ ...document, ...measures }, format)].join("")
    const { has = [], lacks = [] } = exports[format] ?? {}
    return has.every((part) => text.includes(part)) && !lacks.some((part) => text.includes(part))
  })

const problemsOfRoute = (route: ReadRoute, expected: Expected): ReadonlyArray<string> => {
  const { document, measures } = route
  const { positions } = expected
  const checks: ReadonlyArray<readonly [what: string, isRight: boolean]> = [
    ["name", expected.name === undefined || document.name === expected.name],
    ["activity", expected.activity === undefined || document.activity === expected.activity],
    ["geometry", expected.geometry === undefined || isSameLine(route, expected.geometry)],
    [
      "positions",
      positions === undefined
      || (typeof positions === "number" ? document.geometry.length === positions : isSameLine(route, positions))
    ],
    [
      "waypoints",
      expected.waypoints === undefined || isSameList(document.waypoints.map(({ name }) => name), expected.waypoints)
    ],
    ["waypoint_types", expected.waypoint_types === undefined || areKinds(route, expected.waypoint_types)],
    ["duration", expected.duration === undefined || measures.duration === expected.duration],
    [
      "distance",
      expected.distance === undefined || isMeasured(route, expected.distance, expected.distance_tolerance)
    ],
    ["warnings", expected.warnings === undefined || isWarned(route, expected.warnings)],
    ["exports", expected.exports === undefined || isExported(route, expected.exports)],
    ["distance_max", expected.distance_max === undefined || metresOf(route) <= expected.distance_max]
  ]
  return checks.filter(([, isRight]) => !isRight).map(([what]) => what)
}

const problemsOf = (routes: ReadonlyArray<ReadRoute>, { expect }: Expectation): ReadonlyArray<string> => {
  const expected = expect.routes ?? [expect]
  const hasWarning = routes.some(({ warnings }) => warnings.length > 0)
  return [
    ...(routes.length === expected.length ? [] : [`${routes.length} routes`]),
    ...routes.flatMap((route, index) => problemsOfRoute(route, expected[index] ?? {})),
    ...(expect.warning === undefined || hasWarning ? [] : ["warning"])
  ]
}

/** A track that repeats an earlier one makes no route. */
const withoutRepeats = (routes: ReadonlyArray<ReadRoute>) => {
  const repeats = repeatsIn(
    routes.map(({ document }) => measurePositions(document.geometry, document.segments ?? null))
  )
  return routes.filter((_, index) => !repeats.has(index))
}

const routesOf = Effect.fnUntraced(function*(path: string, { content_type, request }: Expectation) {
  const bytes = yield* Effect.promise(() => readFile(path))
  const { draft } = yield* readPacked({ name: basename(path), contentType: content_type, bytes }, undefined)
  const drafts = yield* draftsOf(draft, { split: request.includes("split=true"), join: false, track: undefined })
  return withoutRepeats(yield* Effect.forEach(drafts, finish))
})

/** Compares the files of a folder with its expectations. Returns the differences by file. */
export const compared = Effect.fnUntraced(function*(folder: string) {
  const text = yield* Effect.promise(() => readFile(join(folder, EXPECTATIONS), "utf8"))
  const expectations = yield* decodeExpectations(text)
  return yield* Effect.forEach(expectations, (expectation) =>
    Effect.gen(function*() {
      const { expect, file } = expectation
      const outcome = yield* Effect.result(routesOf(join(folder, file), expectation))
      const accepted = expect.status_any ?? [expect.status ?? CREATED]
      if (Result.isSuccess(outcome)) {
        const problems = problemsOf(outcome.success, expectation)
        return { file, problems: accepted.includes(CREATED) ? problems : ["it is accepted"] }
      }
      const { message, statusCode } = publicErrorOf(outcome.failure)
      return { file, problems: accepted.includes(statusCode) ? [] : [`${statusCode} ${message}`] }
    }))
})
