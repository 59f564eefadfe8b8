import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema, SchemaAST } from "effect"
import { Api } from "../../src/http/api/Api.ts"
import { Places } from "../../src/services/geometry/Places.ts"
import { type Rider, signedInAs } from "../support/Actors.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

/** The parameters of a page, of its order and of its form narrow nothing. */
const OF_EVERY_LIST = new Set(["limit", "offset", "cursor", "sort", "geometry"])

const parametersOf = (query: Schema.Constraint | undefined): ReadonlyArray<string> =>
  query !== undefined && SchemaAST.isObjects(query.ast)
    ? query.ast.propertySignatures.map(({ name }) => String(name))
    : []

/** These parameters narrow a list, for each list that has at least one. */
const filters = endpoints.flatMap(({ method, path, query }) => {
  const parameters = parametersOf(query)
  const names = parameters.filter((name) => !OF_EVERY_LIST.has(name))
  return method === "GET" && parameters.includes("offset") && names.length > 0
    ? names.map((name) => `${path.replace("/api/v1", "")}?${name}`)
    : []
})

const line = (west: number, length: number) => Array.from({ length: 25 }, (_, n) => [west + (n * length) / 25, 47.1])

const OF_ROUTES = {
  q: "glacier",
  tag: "wanted",
  bbox: "9.4,47,9.7,47.3",
  activity: "run",
  placeCity: "Vaduz",
  minDistance: "5000",
  maxDistance: "9000"
}

interface Narrowed {
  /** The query selects both. */
  readonly base?: string
  /** The value of each filter selects the first alone. */
  readonly values: Readonly<Record<string, string>>
}

interface Fixture {
  readonly admin: Rider
  readonly wanted: Rider
  /** The instant is between the changes of both. */
  readonly since: string
}

const narrowedBy = ({ since, wanted }: Fixture): Readonly<Record<string, Narrowed>> => ({
  "/routes": {
    values: {
      ...OF_ROUTES,
      visibility: "public",
      favourite: "true",
      placeCountryCode: "LI",
      updatedSince: since,
      recordedAfter: "2026-01-01T00:00:00Z",
      recordedBefore: "2026-02-01T00:00:00+01:00"
    }
  },
  "/routes/public": { base: "gate=public", values: { gate: "indexable", ...OF_ROUTES } },
  "/collections": { values: { q: "glacier" } },
  "/admin/users": { values: { query: wanted.email } },
  "/admin/routes": { values: { query: "glacier" } },
  "/admin/audit": { values: { userId: String(wanted.id), event: "token.minted" } }
})

const totalOf = (rider: Rider, path: string, query: string) =>
  Effect.map(rider.get(`${path}?${query}`), ({ body, headers, status, text }) => {
    assert.strictEqual(status, 200, `${path}?${query}: ${text}`)
    return {
      total: Number(headers.get("x-total-count")),
      items: Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(body)
    }
  })

/** Vaduz is in the west, another town and country are in the east. */
const places = Layer.succeed(Places, {
  at: ([longitude]) =>
    Effect.succeed(
      longitude < 10 ? { placeCity: "Vaduz", placeCountryCode: "LI" } : { placeCity: "Bregenz", placeCountryCode: "AT" }
    ),
  hasCities: Effect.succeed(false)
})

const fixture = Effect.gen(function*() {
  const admin = yield* signedInAs({ email: "admin@example.com" })
  const wanted = yield* signedInAs({ email: "wanted@example.org", name: "Wanted" })
  const common = { visibility: "public", activity: "cycle", tags: ["other"] }
  yield* wanted.post(
    "/routes",
    newRoute({ ...common, name: "Othermost", geometry: [[12, 47.1], [12.01, 47.1]], distance: 12_000 })
  )
  const since = new Date(Date.now() + 1).toISOString()
  yield* until(Effect.sync(() => Date.now() > Date.parse(since)))
  return { admin, wanted, since, common }
})

layer(TestServer.layer({ ADMIN_EMAILS: "admin@example.com" }, places), { excludeTestServices: true })(
  "every filter",
  (it) => {
    it.effect("of every list narrows it to what it selects", () =>
      Effect.gen(function*() {
        const { common, ...rest } = yield* fixture
        const { admin, wanted } = rest
        yield* wanted.post(
          "/routes",
          newRoute({
            ...common,
            name: "The glacier",
            activity: "run",
            tags: ["wanted"],
            favourite: true,
            recordedAt: "2026-01-05T10:00:00Z",
            geometry: line(9.5, 0.1)
          })
        )
        // "Othermost" is longer than the one that is wanted, and these are shorter: each bound leaves some out.
        yield* wanted.post(
          "/routes",
          newRoute({ ...common, name: "Hidden", visibility: "private", geometry: line(12, 0.01) })
        )
        yield* wanted.post("/routes", newRoute({ ...common, name: "Short", geometry: [[12, 47.1], [12.001, 47.1]] }))
        for (const name of ["The glacier", "Others"]) yield* wanted.post("/collections", { name })
        yield* wanted.post("/auth/tokens", { name: "t", scope: "read", expiresInDays: 1 })
        yield* admin.get("/admin/users")

        const table = narrowedBy(rest)
        const tried = Object.entries(table).flatMap(([path, { values }]) =>
          Object.keys(values).map((name) => `${path}?${name}`)
        )
        assert.deepStrictEqual(tried.toSorted(), filters.toSorted())
        for (const [path, { base = "", values }] of Object.entries(table)) {
          const caller = path.startsWith("/admin") ? admin : wanted
          for (const [name, value] of Object.entries(values)) {
            const all = yield* totalOf(caller, path, base)
            const some = yield* totalOf(
              caller,
              path,
              `${name === "gate" ? "" : base}&${name}=${encodeURIComponent(value)}`
            )
            assert.isAbove(some.total, 0, `${path}?${name} finds something`)
            assert.isBelow(some.total, all.total, `${path}?${name} narrows`)
            assert.lengthOf(some.items, some.total, `${path}?${name} has one total`)
          }
        }
      }))
  }
)
