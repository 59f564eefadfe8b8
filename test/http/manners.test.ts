import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { anonymous, newEmail, signedIn, signedInAs } from "../support/Actors.ts"
import { exported, imported } from "../support/Archives.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { operations } from "../support/OpenApi.ts"
import { created, idOf, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const ADMINS = ["admin@example.com", "other-admin@example.com"] as const

const SETTINGS = { ADMIN_EMAILS: ADMINS.join(), BASE_URL: "https://routes.example.com" }

const LINE = [[9.5209, 47.1415], [9.5254, 47.144], [9.53, 47.1501]]

const gpx = (...names: ReadonlyArray<string>) =>
  `<gpx>${
    names.map((name) =>
      `<trk><name>${name}</name><trkseg><trkpt lat="47" lon="9"/><trkpt lat="47.1" lon="9.${name.length}"/></trkseg></trk>`
    ).join("")
  }</gpx>`

const file = (raw: string) => ({ raw, headers: { "content-type": "application/gpx+xml" } })

const Stale = Schema.decodeUnknownSync(Schema.Struct({
  details: Schema.Struct({
    reason: Schema.String,
    etag: Schema.String,
    current: Schema.StructWithRest(Schema.Struct({ id: Schema.Int }), [Schema.Record(Schema.String, Schema.Json)])
  })
}))

const Statistics = Schema.Struct({ statistics: Schema.Struct({ totalDistance: Schema.Finite }) })

const isInCentimetres = (metres: unknown) => typeof metres === "number" && /^\d+(\.\d{1,2})?$/.test(String(metres))

layer(TestServer.layer(SETTINGS))("HTTP", (it) => {
  it.effect("names what was made in every 201, or the list that has it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const admin = yield* signedInAs({ email: ADMINS[0] })
      const nobody = yield* anonymous
      const route = yield* makeRoute(rider)
      const { id: collection } = yield* make(rider)
      const { bytes } = yield* exported(rider)
      const account = { email: newEmail(), password: "correct horse battery" }
      const answers = {
        "POST /api/v1/auth/signup-email": yield* nobody.post("/auth/signup-email", account),
        "POST /api/v1/auth/tokens": yield* rider.post("/auth/tokens", { name: "script", scope: "read" }),
        "POST /api/v1/admin/invitations": yield* admin.post("/admin/invitations", { email: newEmail() }),
        "POST /api/v1/users/me/import": yield* imported(rider, bytes),
        "POST /api/v1/routes": yield* rider.post("/routes", newRoute({})),
        "POST /api/v1/routes/import": yield* rider.post("/routes/import", undefined, file(gpx("a"))),
        "POST /api/v1/routes/{id}/links": yield* rider.post(`/routes/${route}/links`, {}),
        "POST /api/v1/collections": yield* rider.post("/collections", { name: "All" }),
        "POST /api/v1/collections/{id}/links": yield* rider.post(`/collections/${collection}/links`, {})
      }
      const declared = operations.filter(({ operation }) => "201" in operation.responses)
      assert.sameMembers(Object.keys(answers), declared.map(({ method, path }) => `${method} ${path}`))
      const locations = Object.entries(answers).map(([call, { headers, status }]) => {
        assert.strictEqual(status, 201, call)
        return headers.get("location")
      })
      const made = (call: keyof typeof answers) => idOf({ shareToken: "", ...Object(answers[call].body) })
      assert.deepStrictEqual(locations, [
        "/api/v1/users/me",
        `/api/v1/auth/tokens/${made("POST /api/v1/auth/tokens")}`,
        "/api/v1/admin/users",
        "/api/v1/routes",
        `/api/v1/routes/${made("POST /api/v1/routes")}`,
        `/api/v1/routes/${made("POST /api/v1/routes/import")}`,
        `/api/v1/routes/${route}/links/${made("POST /api/v1/routes/{id}/links")}`,
        `/api/v1/collections/${made("POST /api/v1/collections")}`,
        `/api/v1/collections/${collection}/links/${made("POST /api/v1/collections/{id}/links")}`
      ])
      const split = yield* rider.post("/routes/import?split=true", undefined, file(gpx("bb", "ccc")))
      assert.deepStrictEqual([split.status, split.headers.get("location")], [201, "/api/v1/routes"])
    }))

  it.effect("leads from page to page by addresses that are absolute", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* Effect.replicateEffect(makeRoute(rider), 3)
      for (const query of ["limit=1", "limit=1&offset=1"]) {
        const { headers } = yield* rider.get(`/routes?${query}`)
        const links = [...(headers.get("link") ?? "").matchAll(/<([^>]+)>/g)].map(([, address]) =>
          new URL(address ?? "")
        )
        assert.isAbove(links.length, 2)
        assert.deepStrictEqual(new Set(links.map(({ origin }) => origin)), new Set(["https://routes.example.com"]))
      }
    }))

  it.effect("has a tag for every list and file of the contract, and answers 304 to a client that has it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const admin = yield* signedInAs({ email: ADMINS[1] })
      const route = yield* makeRoute(rider, { geometry: LINE })
      const { id: collection } = yield* make(rider, { routeIds: [route] })
      const reads = operations.filter(({ method }) => method === "GET").map(({ operation, path }) => ({
        path,
        isList: operation.parameters.some(({ name }) => name === "offset"),
        isTagged: "304" in operation.responses
      }))
      assert.deepStrictEqual(reads.filter(({ isList, isTagged }) => isList && !isTagged), [])
      const tagged = reads.filter(({ isTagged }) => isTagged)
      assert.isAbove(tagged.length, 25)
      for (const { isList, path } of tagged) {
        const id = path.includes("/collections/") ? collection : route
        // Each read of the audit is an entry of its own, so that only a part of it can be the same again.
        const part = path.endsWith("/audit") ? "?event=token.minted" : ""
        const own = `/${path.replace(/\{(id|ref)\}/, String(id)).replace("{userId}", String(rider.id))}${part}`
        const caller = path.includes("/admin/") ? admin : rider
        const read = yield* caller.get(own)
        const etag = read.headers.get("etag") ?? ""
        assert.deepStrictEqual([read.status, etag === ""], [200, false], path)
        assert.strictEqual(read.headers.has("x-total-count"), isList, path)
        const known = yield* caller.get(own, { headers: { "if-none-match": etag } })
        assert.deepStrictEqual([known.status, known.text], [304, ""], path)
      }
    }))

  it.effect("has what is there now in every 409 about a version", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [route, other] = [yield* makeRoute(rider), yield* makeRoute(rider)]
      const { id: collection } = yield* make(rider, { routeIds: [route] })
      const stale = { headers: { "if-match": "\"99-full-0\"" } }
      const list = `/collections/${collection}`
      const ofRoute = [
        yield* rider.patch(`/routes/${route}`, { name: "x" }, stale),
        yield* rider.delete(`/routes/${route}`, stale)
      ]
      const ofCollection = [
        yield* rider.patch(list, { name: "x" }, stale),
        yield* rider.delete(list, stale),
        yield* rider.call("PUT", `${list}/routes`, { ...stale, body: { routeIds: [] } }),
        yield* rider.post(`${list}/routes`, { routeId: other }, stale),
        yield* rider.delete(`${list}/routes/${route}`, stale)
      ]
      const matching = operations.filter(({ operation }) =>
        operation.parameters.some(({ name }) => name === "If-Match")
      )
      assert.strictEqual(ofRoute.length + ofCollection.length, matching.length)
      for (
        const [answers, path, id] of [[ofRoute, `/routes/${route}`, route], [ofCollection, list, collection]] as const
      ) {
        const etag = (yield* rider.get(path)).headers.get("etag")
        for (const { body, status } of answers) {
          const { details } = Stale(body)
          assert.deepStrictEqual([status, details.reason, details.current.id], [409, "stale", id])
          assert.strictEqual(details.etag.split("-")[0], etag?.split("-")[0])
        }
        const { details } = Stale(answers[0]?.body)
        const name = { name: `Changed after ${details.current.id}` }
        assert.strictEqual((yield* rider.patch(path, name, { headers: { "if-match": details.etag } })).status, 200)
      }
    }))

  it.effect("has no more than centimetres of what the service measures, and all of what a client gives", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const measured = created((yield* rider.post("/routes", newRoute({ geometry: LINE }))).body)
      assert.isTrue(isInCentimetres(measured["distance"]), String(measured["distance"]))
      const given = created((yield* rider.post("/routes", newRoute({ geometry: LINE, distance: 1200.123456 }))).body)
      assert.strictEqual(given["distance"], 1200.123456)
      const patched = yield* rider.patch(`/routes/${given.id}`, { geometry: LINE.toReversed() })
      assert.isTrue(isInCentimetres(created(patched.body)["distance"]))
      yield* rider.post("/routes/import", undefined, file(gpx("x")))
      const { statistics } = yield* Schema.decodeUnknownEffect(Statistics)((yield* rider.get("/users/me")).body)
      assert.isTrue(isInCentimetres(statistics.totalDistance), String(statistics.totalDistance))
    }))
})
