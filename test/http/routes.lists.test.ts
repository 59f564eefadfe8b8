import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, signedIn } from "../support/Actors.ts"
import { created, idsIn, issuePaths, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const pageAt = (offset: number, relation: string) =>
  `<http://localhost:3000/api/v1/routes?limit=2&offset=${offset}>; rel="${relation}"`

layer(TestServer.layer())("lists of own routes", (it) => {
  it.effect("the owner's routes, newest first, those of one instant by id", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      yield* other.post("/routes", newRoute({ visibility: "public" }))
      const ids: Array<number> = []
      for (const visibility of ["private", "unlisted", "public", "private", "private"]) {
        ids.unshift(created((yield* rider.post("/routes", newRoute({ visibility }))).body).id)
        if (visibility === "unlisted") yield* TestClock.adjust("1 second")
      }
      const all = yield* rider.get("/routes")
      assert.deepStrictEqual(idsIn(all.body), ids)
      assert.strictEqual(all.headers.get("x-total-count"), "5")
      yield* rider.delete(`/routes/${ids[0]}`)
      const left = yield* rider.get("/routes")
      assert.deepStrictEqual(idsIn(left.body), ids.slice(1))
      assert.strictEqual(left.headers.get("x-total-count"), "4")
    }))

  it.effect("pages have their total and links to the others", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (let n = 0; n < 5; n++) yield* rider.post("/routes", newRoute({ name: `r${n}` }))
      const page = yield* rider.get("/routes?limit=2&offset=2")
      assert.strictEqual(idsIn(page.body).length, 2)
      assert.strictEqual(page.headers.get("x-total-count"), "5")
      assert.strictEqual(
        page.headers.get("link"),
        [pageAt(0, "first"), pageAt(0, "prev"), pageAt(4, "next"), pageAt(4, "last")].join(", ")
      )
      const first = yield* rider.get("/routes?limit=2&offset=0")
      assert.strictEqual(
        first.headers.get("link"),
        [pageAt(0, "first"), pageAt(2, "next"), pageAt(4, "last")].join(", ")
      )
      const beyond = yield* rider.get("/routes?limit=2&offset=100")
      assert.deepStrictEqual(beyond.body, [])
      assert.strictEqual(beyond.headers.get("x-total-count"), "5")
      const nobodys = yield* (yield* signedIn).get("/routes")
      assert.deepStrictEqual(nobodys.body, [])
      assert.strictEqual(nobodys.headers.get("x-total-count"), "0")
    }))

  it.effect("queries are plain decimals within their bounds, given once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const query of ["limit=1", "limit=200", "offset=0", "offset=9007199254740991"]) {
        assert.strictEqual((yield* rider.get(`/routes?${query}`)).status, 200, query)
      }
      const refused = [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=",
        "limit=1e2",
        "limit=%2B5",
        "limit=5.0",
        "limit=05",
        "limit=NaN",
        "limit=5&limit=6",
        "limit=%201",
        "offset=-1",
        "offset=9007199254740992",
        "offset=9223372036854775808",
        "offset="
      ]
      for (const query of refused) {
        const answer = yield* rider.get(`/routes?${query}`)
        assert.strictEqual(answer.status, 400, query)
        assert.deepStrictEqual(issuePaths(answer.body).map((path) => path), [`query.${query.split("=")[0]}`])
      }
    }))

  it.effect("statistics follow: live routes and their metres", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const statistics = Effect.map(rider.get("/users/me"), ({ body }) => statisticsIn(body))
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 0, totalDistance: 0 })
      const first = created((yield* rider.post("/routes", newRoute({ distance: 1000.5 }))).body)
      const second = created((yield* rider.post("/routes", newRoute({ distance: 500 }))).body)
      yield* rider.post("/routes", newRoute({}))
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 3, totalDistance: 1500.5 })
      yield* rider.patch(`/routes/${first.id}`, { distance: 2000 })
      yield* rider.delete(`/routes/${second.id}`)
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 2, totalDistance: 2000 })
      yield* rider.post(`/routes/${second.id}/restore`)
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 3, totalDistance: 2500 })
      yield* rider.delete(`/routes/${first.id}`)
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 2, totalDistance: 500 })
    }))

  it.effect("no routes are listed, made or changed without signing in", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      const answers = yield* Effect.all([
        nobody.get("/routes"),
        nobody.post("/routes", newRoute({})),
        nobody.patch("/routes/1", {}),
        nobody.delete("/routes/1")
      ])
      for (const { body, headers, status } of answers) {
        assert.strictEqual(status, 401)
        assert.deepStrictEqual(body, {
          statusCode: 401,
          code: "UNAUTHORIZED",
          message: "Sign in first, or send Authorization: Bearer and a token",
          details: { reason: "not_signed_in" }
        })
        assert.match(headers.get("www-authenticate") ?? "", /^Bearer/)
      }
    }))
})

const statisticsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({ statistics: Schema.Record(Schema.String, Schema.Finite) }))(body).statistics
