import { Effect, Result, Schema } from "effect"
import { readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { publicErrorOf } from "../../src/http/response/PublicErrors.ts"
import type { Position } from "../../src/schema/Geometry.ts"
import { turnOf } from "../../src/services/files/CourseTurns.ts"
import { draftsOf, type ReadRoute } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { coordinatesOf, lineMetres } from "../../src/services/geometry/Geodesy.ts"

export const EXPECTATIONS = "expectations.json"

const Coordinates = Schema.Array(Schema.Array(Schema.Finite))

const ExpectedRoute = {
  name: Schema.optionalKey(Schema.String),
  activity: Schema.optionalKey(Schema.String),
  geometry: Schema.optionalKey(Coordinates),
  /** How many, or longitude and latitude of each. */
  positions: Schema.optionalKey(Schema.Union([Schema.Int, Coordinates])),
  waypoints: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The kinds of course points: of waypoints, or of cues. */
  waypoint_types: Schema.optionalKey(Schema.Array(Schema.String)),
  duration: Schema.optionalKey(Schema.Finite),
  distance: Schema.optionalKey(Schema.Finite),
  distance_tolerance: Schema.optionalKey(Schema.Finite),
  distance_max: Schema.optionalKey(Schema.Finite)
}

const Expectation = Schema.Struct({
  file: Schema.String,
  request: Schema.String,
  expect: Schema.Struct({
    ...ExpectedRoute,
    status: Schema.optionalKey(Schema.Int),
    status_any: Schema.optionalKey(Schema.Array(Schema.Int)),
    routes: Schema.optionalKey(Schema.Array(Schema.Struct(ExpectedRoute))),
    /** For people; there has to be one. */
    warning: Schema.optionalKey(Schema.String)
  })
})
type Expectation = typeof Expectation.Type

type Expected = Schema.Struct<typeof ExpectedRoute>["Type"]

const decodeExpectations = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Expectation)))

const CREATED = 201

const metresOf = ({ document, measures }: ReadRoute) =>
  measures.distance ?? lineMetres(coordinatesOf(document.geometry), document.segments)

const kindsOf = ({ document }: ReadRoute) => [
  ...(document.cues ?? []).map((cue) => turnOf(cue).tcx.toLowerCase()),
  ...document.waypoints.map(({ type }) => type).filter((type) => type !== "routed" && type !== undefined)
]

const PRECISION = 1e-6

/** Others measure on the ellipsoid, the service on a sphere. */
const ELLIPSOID = 0.005

const isSamePlace = (a: Position | undefined, b: ReadonlyArray<number>) =>
  b.every((value, axis) => Math.abs((a?.[axis] ?? Infinity) - value) <= PRECISION)

const isSameLine = ({ document: { geometry } }: ReadRoute, expected: ReadonlyArray<ReadonlyArray<number>>) =>
  geometry.length === expected.length && expected.every((position, index) => isSamePlace(geometry[index], position))

const isSameList = (actual: ReadonlyArray<unknown>, expected: ReadonlyArray<unknown>) =>
  actual.map(String).toSorted().join("\n") === expected.map(String).toSorted().join("\n")

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
    ["waypoint_types", expected.waypoint_types === undefined || isSameList(kindsOf(route), expected.waypoint_types)],
    ["duration", expected.duration === undefined || measures.duration === expected.duration],
    [
      "distance",
      expected.distance === undefined
      || Math.abs(metresOf(route) - expected.distance)
        <= Math.max(expected.distance_tolerance ?? 1, ELLIPSOID * expected.distance)
    ],
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

const routesOf = Effect.fnUntraced(function*(path: string, split: boolean) {
  const bytes = yield* Effect.promise(() => readFile(path))
  const { draft } = yield* readPacked({ name: basename(path), contentType: undefined, bytes }, undefined)
  const drafts = yield* draftsOf(draft, { split, join: false, track: undefined })
  return yield* Effect.forEach(drafts, finish)
})

/** Compares the files of a folder with its expectations: what is not as expected, by file. */
export const compared = Effect.fnUntraced(function*(folder: string) {
  const text = yield* Effect.promise(() => readFile(join(folder, EXPECTATIONS), "utf8"))
  const expectations = yield* decodeExpectations(text)
  return yield* Effect.forEach(expectations, (expectation) =>
    Effect.gen(function*() {
      const { expect, file, request } = expectation
      const outcome = yield* Effect.result(routesOf(join(folder, file), request.includes("split=true")))
      const accepted = expect.status_any ?? [expect.status ?? CREATED]
      if (Result.isSuccess(outcome)) {
        const problems = problemsOf(outcome.success, expectation)
        return { file, problems: accepted.includes(CREATED) ? problems : ["it is accepted"] }
      }
      const { message, statusCode } = publicErrorOf(outcome.failure)
      return { file, problems: accepted.includes(statusCode) ? [] : [`${statusCode} ${message}`] }
    }))
})
