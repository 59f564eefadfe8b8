import { assert, layer } from "@effect/vitest"
import { Clock, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, signedIn } from "../support/Actors.ts"
import { line, list, publish, somewhere } from "../support/PublicRoutes.ts"
import { created, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"
import { served, untilNone, untilNoneSwept } from "../support/Waiting.ts"

layer(TestServer.layer({}, somewhere))("the public listing", (it) => {
  it.effect("shows public routes only, by the requested gate", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const good = yield* publish(rider, { name: "Good loop", favourite: true })
      const gated = [
        yield* publish(rider, { name: "Ab" }),
        yield* publish(rider, { geometry: line([9.5, 47.1], [9.6, 47.2], 19) }),
        yield* publish(rider, { distance: 499 }),
        yield* publish(rider, { geometry: null })
      ]
      yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry: line([9.5, 47.1], [9.6, 47.2]) }))
      yield* rider.post("/routes", newRoute({ geometry: line([9.5, 47.1], [9.6, 47.2]) }))
      const deleted = yield* publish(rider, {})
      yield* rider.delete(`/routes/${deleted.id}`)
      assert.deepStrictEqual(yield* list(""), [good.id])
      assert.deepStrictEqual(
        (yield* list("gate=public")).toSorted(),
        [good.id, ...gated.map(({ id }) => id)].toSorted()
      )
      const { body } = yield* (yield* anonymous).get("/routes/public")
      const { url: _, ...listed } = good
      assert.deepStrictEqual<unknown>(body, [{ ...listed, favourite: false }])
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE users SET deletion_requested_at = now() WHERE id = ${rider.id}`
      )
      assert.deepStrictEqual(yield* list("gate=public"), [])
    }))

  it.effect("is ordered by publication, or by change behind the quality gate", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const first = yield* publish(rider, { placeCity: "ignored" })
      yield* TestClock.adjust("1 second")
      const second = yield* publish(rider, {})
      yield* TestClock.adjust("1 second")
      yield* rider.patch(`/routes/${first.id}`, { name: "changed" })
      assert.deepStrictEqual(yield* list("limit=2"), [first.id, second.id])
      assert.deepStrictEqual(yield* list("gate=public&limit=2"), [second.id, first.id])
      yield* rider.patch(`/routes/${first.id}`, { visibility: "private" })
      yield* TestClock.adjust("1 second")
      yield* rider.patch(`/routes/${first.id}`, { visibility: "public" })
      assert.deepStrictEqual(yield* list("gate=public&limit=2"), [first.id, second.id])
      yield* TestClock.adjust("1 second")
      yield* rider.patch(`/routes/${second.id}`, { visibility: "public" })
      assert.deepStrictEqual(yield* list("gate=public&limit=2"), [first.id, second.id])
    }))
})

layer(TestServer.layer({}, somewhere))("its filters", (it) => {
  it.effect("are combined", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const near = yield* publish(rider, { activity: "run", distance: 10_000 })
      const far = yield* publish(rider, {
        activity: "cycle",
        distance: 90_000,
        geometry: line([150, -30], [150.5, -30.5])
      })
      assert.deepStrictEqual(yield* list("activity=run"), [near.id])
      assert.deepStrictEqual(yield* list("placeCity=VADUZ"), [near.id])
      assert.deepStrictEqual(yield* list("placeCity=V%25"), [])
      assert.deepStrictEqual(yield* list("minDistance=10000&maxDistance=10000"), [near.id])
      assert.deepStrictEqual(yield* list("minDistance=10000.5"), [far.id])
      assert.deepStrictEqual(yield* list("bbox=9,47,10,48"), [near.id])
      assert.deepStrictEqual(yield* list("bbox=9.55,47.15,9.5501,47.1501"), [near.id])
      assert.deepStrictEqual(yield* list("bbox=9.7,47,10,48"), [])
      assert.deepStrictEqual(yield* list("bbox=-180,-90,180,90&activity=cycle&minDistance=50000"), [far.id])
      assert.deepStrictEqual(yield* list("bbox=9,47,10,48&activity=cycle"), [])
    }))

  it.effect("know that the world is round", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const crossing = yield* publish(rider, {
        geometry: [...line([179.5, -17], [179.9, -17]), ...line([-179.9, -17], [-179.5, -17])]
      })
      const west = yield* publish(rider, { geometry: line([179.1, -17], [179.2, -17]) })
      const east = yield* publish(rider, { geometry: line([-179.2, -17], [-179.1, -17]) })
      const edge = yield* publish(rider, { geometry: line([180, -17], [180, -16.9]) })
      const found = (query: string) => Effect.map(list(`${query}&gate=public`), (ids) => ids.toSorted((a, b) => a - b))
      assert.deepStrictEqual(yield* found("bbox=179,-18,-179,-16"), [crossing.id, west.id, east.id, edge.id])
      assert.deepStrictEqual(yield* found("bbox=179,-18,180,-16"), [crossing.id, west.id, edge.id])
      assert.deepStrictEqual(yield* found("bbox=-180,-18,-179,-16"), [crossing.id, east.id, edge.id])
      assert.deepStrictEqual(yield* found("bbox=-179.7,-18,-179.6,-16"), [crossing.id])
      assert.deepStrictEqual(yield* found("bbox=0,-18,10,-16"), [])
      assert.deepStrictEqual(yield* found("bbox=-178,-18,178,-16"), [])
    }))

  it.effect("are refused when they are no numbers, boxes or known words", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const refused = [
        "gate=all",
        "minDistance=2&maxDistance=1",
        "activity=swim",
        "placeCity=",
        "minDistance=-1",
        "minDistance=1e3",
        "maxDistance=NaN",
        "bbox=",
        "bbox=1,2,3",
        "bbox=1,2,3,4,5",
        "bbox=a,b,c,d",
        "bbox=9,48,10,47",
        "bbox=-181,0,0,1",
        "bbox=0,0,1,91",
        "bbox=1,2,3,Infinity",
        "bbox=1, 2,3,4",
        "limit=0",
        "limit=201",
        "geometry=half",
        "bbox=9,47,10,48&bbox=1,2,3,4"
      ]
      for (const query of refused) {
        assert.strictEqual((yield* visitor.get(`/routes/public?${query}`)).status, 400, query)
      }
    }))
})

layer(TestServer.layer({}, somewhere))("forms of a line", (it) => {
  it.effect("are in every read and list as requested", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = Array.from({ length: 5000 }, (_, n) => [9 + n / 5000, 47 + Math.sin(n / 200) / 10, n % 90])
      const route = yield* publish(rider, { geometry })
      const visitor = yield* anonymous
      const of = (body: unknown, member = "geometry") => created(Array.isArray(body) ? body[0] : body)[member]
      for (const path of [`/routes/${route.id}`, "/routes", "/routes/public", `/routes/by-user/${rider.id}`]) {
        const line = (form: string) => Effect.map(rider.get(`${path}?geometry=${form}`), ({ body }) => of(body))
        assert.deepStrictEqual<unknown>(yield* line("full"), geometry, path)
        const few = Schema.decodeUnknownSync(Schema.Array(Schema.Array(Schema.Finite)))(yield* line("simplified"))
        assert.isAtMost(few.length, 200)
        assert.isAtLeast(few.length, 20)
        assert.deepStrictEqual([few[0], few.at(-1)], [geometry[0], geometry.at(-1)])
        assert.isUndefined(yield* line("none"), path)
        assert.isUndefined(yield* line("polyline6"), path)
        const { body } = yield* rider.get(`${path}?geometry=polyline6`)
        assert.match(String(of(body, "polyline6")), /^[\x3f-\x7e]{5000,}$/)
      }
      const byDefault = (query: string) => Effect.map(visitor.get(`/routes/public${query}`), ({ body }) => of(body))
      for (const query of ["", "?gate=indexable"]) assert.deepStrictEqual<unknown>(yield* byDefault(query), geometry)
      assert.isAtMost(Number(Object(yield* byDefault("?gate=public")).length), 200)
      assert.deepStrictEqual<unknown>(yield* byDefault("?gate=public&geometry=full"), geometry)
      assert.strictEqual((yield* rider.get("/routes?geometry=")).status, 400)
    }))

  it.effect("leave a route without a line as it is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      for (const form of ["full", "simplified", "none", "polyline6"]) {
        assert.notProperty((yield* rider.get(`/routes/${id}?geometry=${form}`)).body, "geometry", form)
      }
    }))
})

layer(TestServer.layer())("routes of a user", (it) => {
  it.effect("are the public ones, newest-published first, and none without such a user", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const first = yield* publish(rider, {})
      yield* TestClock.adjust("1 second")
      const second = yield* publish(rider, { geometry: null })
      yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))
      const answer = yield* visitor.get(`/routes/by-user/${rider.id}`)
      assert.deepStrictEqual(idsIn(answer.body), [second.id, first.id])
      assert.strictEqual(answer.headers.get("x-total-count"), "2")
      const page = yield* visitor.get(`/routes/by-user/${rider.id}?limit=1&offset=1`)
      assert.deepStrictEqual(idsIn(page.body), [first.id])
      const links = page.headers.get("link") ?? ""
      for (const relation of ["prev", "last"]) assert.include(links, `rel="${relation}"`)
      const beyond = yield* visitor.get(`/routes/by-user/${rider.id}?offset=9007199254740991`)
      assert.deepStrictEqual([beyond.body, beyond.headers.get("x-total-count")], [[], "2"])
      assert.strictEqual((yield* visitor.get("/routes/by-user/x")).status, 404)
    }))

  it.effect("and their collections are not found without such a user, or while the deletion is pending", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      yield* publish(rider, {})
      yield* rider.post("/collections", { name: "Summer", visibility: "public" })
      const lists = (id: number | string) => [`/routes/by-user/${id}`, `/collections/by-user/${id}`]
      for (const path of lists(rider.id)) {
        const answer = yield* visitor.get(path)
        assert.deepStrictEqual([idsIn(answer.body).length, answer.headers.get("x-total-count")], [1, "1"], path)
      }
      const newcomer = yield* signedIn
      for (const path of lists(newcomer.id)) assert.deepStrictEqual((yield* visitor.get(path)).body, [])
      yield* rider.delete("/users/me")
      const unknown = { statusCode: 404, code: "NOT_FOUND", message: "No such user" }
      for (const id of [rider.id, "999999999", "9007199254740991"]) {
        for (const path of lists(id)) assert.deepStrictEqual((yield* visitor.get(path)).body, unknown, path)
      }
    }))
})

layer(TestServer.layer())("entity tags", (it) => {
  it.effect("avoid sending what a client has, until it changes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const get = (tag?: string, query = "") =>
        rider.get(`/routes/${route.id}${query}`, tag === undefined ? {} : { headers: { "if-none-match": tag } })
      const etag = (yield* get()).headers.get("etag") ?? ""
      const known = yield* get(`"other", ${etag}`)
      assert.deepStrictEqual([known.status, known.text, known.headers.get("etag")], [304, "", etag])
      assert.strictEqual((yield* get(etag, "?geometry=none")).status, 200)
      yield* rider.patch("/users/me", { name: "Renamed" })
      const renamed = yield* get(etag)
      assert.strictEqual(renamed.status, 200)
      yield* rider.patch(`/routes/${route.id}`, { name: "changed" })
      assert.strictEqual((yield* get(renamed.headers.get("etag") ?? "")).status, 200)
    }))

  it.effect("change with a place that is derived again, which is no edit", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      const etag = (yield* rider.get(`/routes/${id}`)).headers.get("etag") ?? ""
      yield* SqlClient.SqlClient.use((sql) => sql`UPDATE routes SET place_city = 'Berlin' WHERE id = ${id}`)
      const current = yield* rider.get(`/routes/${id}`, { headers: { "if-none-match": etag } })
      assert.strictEqual(current.status, 200)
      assert.deepInclude(current.body, { placeCity: "Berlin" })
      const edited = yield* rider.patch(`/routes/${id}`, { name: "edited" }, { headers: { "if-match": etag } })
      assert.strictEqual(edited.status, 200)
    }))

  it.effect("keep two devices from overwriting each other", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const made = yield* rider.post("/routes", newRoute({}))
      const { id } = created(made.body)
      const seen = { headers: { "if-match": made.headers.get("etag") ?? "" } }
      const answers = yield* Effect.all(
        Array.from({ length: 16 }, (_, n) => served(rider.patch(`/routes/${id}`, { name: `device ${n}` }, seen))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, 1)
      const current = (yield* rider.get(`/routes/${id}`)).headers.get("etag")
      for (const { body, status, text } of answers.filter(({ status }) => status !== 200)) {
        assert.strictEqual(status, 409)
        assert.deepInclude(body, { code: "CONFLICT" })
        assert.include(text, `"etag":${JSON.stringify(current)},"current":{"id":${id},`)
      }
      assert.strictEqual((yield* rider.delete(`/routes/${id}`, seen)).status, 409)
      assert.strictEqual(
        (yield* rider.delete(`/routes/${id}`, { headers: { "if-match": "\"nonsense\"" } })).status,
        409
      )
      const light = (yield* rider.get(`/routes/${id}?geometry=none`)).headers.get("etag") ?? ""
      assert.strictEqual(
        (yield* rider.patch(`/routes/${id}`, { name: "x" }, { headers: { "if-match": light } })).status,
        200
      )
      assert.strictEqual((yield* rider.delete(`/routes/${id}`, { headers: { "if-match": "*" } })).status, 200)
      assert.strictEqual((yield* rider.patch(`/routes/${id}`, { name: "x" }, seen)).status, 404)
    }))
})

layer(TestServer.withSweeps())("the trash", (it) => {
  it.effect("restores a public route for a token only if it confirms that, and reveals nothing of others' routes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const stranger = yield* scriptOf(yield* signedIn, "write")
      const deleted = Effect.fnUntraced(function*(visibility: string) {
        const { id } = created((yield* rider.post("/routes", newRoute({ name: "Loop", visibility }))).body)
        yield* rider.delete(`/routes/${id}`)
        return id
      })
      const confirmed = { headers: { "x-service-confirm": "true" } }
      const id = yield* deleted("public")
      for (const options of [undefined, { headers: { "x-service-confirm": "1" } }]) {
        const refused = yield* script.post(`/routes/${id}/restore`, undefined, options)
        assert.deepStrictEqual(refused.body, {
          statusCode: 428,
          code: "PRECONDITION_REQUIRED",
          message: "Send X-Service-Confirm: true to confirm",
          details: {
            impact: {
              action: "route.publish",
              resource: "route",
              id,
              summary: "Anyone will be able to find and open \"Loop\"."
            }
          }
        })
      }
      assert.strictEqual((yield* rider.get(`/routes/${id}`)).status, 404)
      for (const options of [undefined, confirmed]) {
        assert.strictEqual((yield* stranger.post(`/routes/${id}/restore`, undefined, options)).status, 404)
      }
      assert.strictEqual((yield* script.post(`/routes/${id}/restore`, undefined, confirmed)).status, 200)
      assert.strictEqual((yield* script.post(`/routes/${id}/restore`)).status, 404)
      assert.strictEqual((yield* script.post("/routes/999999999/restore")).status, 404)
      for (const visibility of ["private", "unlisted"]) {
        assert.strictEqual((yield* script.post(`/routes/${yield* deleted(visibility)}/restore`)).status, 200)
      }
      assert.strictEqual((yield* rider.post(`/routes/${yield* deleted("public")}/restore`)).status, 200)
    }))

  it.effect("keeps a deleted route for 30 days, for its owner", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stranger = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      yield* rider.delete(`/routes/${route.id}`)
      assert.deepStrictEqual(idsIn((yield* rider.get("/routes/deleted")).body), [route.id])
      assert.deepStrictEqual((yield* stranger.get("/routes/deleted")).body, [])
      assert.strictEqual((yield* stranger.post(`/routes/${route.id}/restore`)).status, 404)
      const restores = yield* Effect.all(
        Array.from({ length: 16 }, () => served(rider.post(`/routes/${route.id}/restore`))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(restores.filter(({ status }) => status === 200).length, 1)
      const restored = created((yield* (yield* anonymous).get(`/routes/${route.id}`)).body)
      assert.deepStrictEqual<unknown>({ ...restored, updatedAt: 0 }, { ...route, updatedAt: 0 })
      assert.deepStrictEqual((yield* rider.get("/routes/deleted")).body, [])
    }))

  it.effect("is purged by a sweep at 30 days and not before", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const deleted = Effect.gen(function*() {
        const route = created((yield* rider.post("/routes", newRoute({}))).body)
        yield* rider.delete(`/routes/${route.id}`)
        return route.id
      })
      const rowOf = (id: number) => SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM routes WHERE id = ${id}`)
      const sinceMinute = (yield* Clock.currentTimeMillis) % Duration.toMillis("1 minute")
      yield* TestClock.adjust(Duration.subtract(Duration.minutes(1), Duration.millis(sinceMinute)))
      const first = yield* deleted
      yield* TestClock.adjust("1 milli")
      const others = [yield* deleted]
      yield* TestClock.adjust("1 milli")
      others.push(yield* deleted)
      yield* TestClock.adjust(Duration.subtract(Duration.days(30), Duration.millis(2)))
      // The sweep that purges the first route looks at the others in their last milliseconds.
      yield* untilNone(rowOf(first))
      assert.lengthOf((yield* Effect.forEach(others, rowOf)).flat(), 2)
      yield* TestClock.adjust("59999 millis")
      assert.lengthOf((yield* Effect.forEach(others, rowOf)).flat(), 2, "those of a minute are purged together")
      yield* TestClock.adjust("1 milli")
      yield* untilNoneSwept(Effect.map(Effect.forEach(others, rowOf), (rows) => rows.flat()))
    }))

  it.effect("restores nothing after 30 days, even before a sweep", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({}))).body)
      yield* rider.delete(`/routes/${route.id}`)
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE routes SET deleted_at = deleted_at - interval '30 days' WHERE id = ${route.id}`
      )
      assert.deepStrictEqual((yield* rider.get("/routes/deleted")).body, [])
      assert.strictEqual((yield* rider.post(`/routes/${route.id}/restore`)).status, 404)
    }))
})
