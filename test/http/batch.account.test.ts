import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Actor, signedIn } from "../support/Actors.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

const Link = Schema.Struct({ id: Schema.Int, label: Schema.NullOr(Schema.String), token: Schema.String })

const ErrorOf = Schema.Struct({
  message: Schema.String,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})

const resultsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({
    results: Schema.Array(Schema.Struct({
      status: Schema.Int,
      link: Schema.optionalKey(Link),
      zones: Schema.optionalKey(Schema.Json),
      account: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
      error: Schema.optionalKey(ErrorOf)
    }))
  }))(body).results

const errorIn = Schema.decodeUnknownSync(ErrorOf)

const actionsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ action: Schema.String })))(
    errorIn(body).details?.["impacts"]
  ).map(({ action }) => action)

const CONFIRMED = { headers: { "x-service-confirm": "true" } }

const batch = (actor: Actor, operations: ReadonlyArray<object>, call = {}) =>
  actor.post("/routes/batch", { operations }, call)

const linksOf = (actor: Actor, path: string) =>
  Effect.map(actor.get(`${path}/links`), ({ body }) => Schema.decodeUnknownSync(Schema.Array(Link))(body))

const zonesOf = (actor: Actor) => Effect.map(actor.get("/users/me/privacy-zones"), ({ body }) => body)

const ZONE = { center: [9.5209, 47.1415], radius: 500, label: "Home" }

const SMALLER = { ...ZONE, radius: 200 }

layer(TestServer.layer())("a batch", (it) => {
  it.effect("makes links to what it has made and to what there is, changes them and deletes them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id: collection } = yield* make(rider)
      const made = resultsIn(
        (yield* batch(rider, [
          { op: "create", route: newRoute({}) },
          { op: "createLink", routeId: "$0", link: { label: "Club" } },
          { op: "createLink", collectionId: collection, link: {} },
          { op: "createLink", routeId: "$1", link: {} },
          { op: "createLink", routeId: 999_999, link: {} },
          { op: "createLink", collectionId: collection, link: { expiresAt: "1970-01-01T00:00:00Z" } },
          { op: "createLink", link: {} }
        ])).body
      )
      assert.deepStrictEqual(made.map(({ status }) => status), [201, 201, 201, 404, 404, 400, 400])
      assert.include(made[6]?.error?.message, "either routeId or collectionId")
      const [first, second] = [made[1]?.link?.id, made[2]?.link?.id]
      const [route] = [...new Set((yield* rider.get("/routes")).text.match(/"id":\d+/g))].map((id) =>
        Number(id.slice(5))
      )
      assert.deepStrictEqual((yield* linksOf(rider, `/routes/${route}`)).map(({ id }) => id), [first])
      const changed = resultsIn(
        (yield* batch(rider, [
          { op: "updateLink", routeId: route, linkId: first, changes: { label: "Sunday" } },
          { op: "updateLink", collectionId: collection, linkId: first, changes: { label: "Elsewhere" } },
          { op: "deleteLink", collectionId: collection, linkId: second },
          { op: "deleteLink", collectionId: collection, linkId: second }
        ])).body
      )
      assert.deepStrictEqual(changed.map(({ status }) => status), [200, 404, 200, 404])
      assert.deepStrictEqual((yield* linksOf(rider, `/routes/${route}`)).map(({ label }) => label), ["Sunday"])
      assert.deepStrictEqual(yield* linksOf(rider, `/collections/${collection}`), [])
    }))

  it.effect("sets privacy zones and changes the account, as their own endpoints do", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const handle = `ada-${rider.id}`
      yield* other.patch("/users/me", { handle })
      const results = resultsIn(
        (yield* batch(rider, [
          { op: "setPrivacyZones", zones: [ZONE] },
          { op: "updateAccount", changes: { preferences: { units: "imperial" }, name: "Ada" } },
          { op: "updateAccount", changes: { handle } },
          { op: "updateAccount", changes: { avatar: "http://example.com/a.png" } },
          { op: "setPrivacyZones", zones: [{ ...ZONE, radius: 1 }] }
        ])).body
      )
      assert.deepStrictEqual(results.map(({ status }) => status), [200, 200, 409, 400, 400])
      assert.deepStrictEqual<unknown>(results[0]?.zones, [ZONE])
      assert.deepInclude(results[1]?.account, { name: "Ada", preferences: { units: "imperial" } })
      assert.deepInclude(results[2]?.error?.details, { reason: "handle_taken" })
      assert.deepStrictEqual(yield* zonesOf(rider), { zones: [ZONE] })
      assert.deepInclude((yield* rider.get("/users/me")).body, { name: "Ada" })
    }))

  it.effect("of a token is confirmed where it deletes a link or hides less", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [reader, script] = [yield* scriptOf(rider, "read"), yield* scriptOf(rider, "write")]
      const route = yield* makeRoute(rider)
      const path = `/routes/${route}`
      yield* rider.post(`${path}/links`, { label: "Club" })
      yield* batch(rider, [{ op: "setPrivacyZones", zones: [ZONE] }])
      const [link] = yield* linksOf(rider, path)
      const operations = [
        { op: "deleteLink", routeId: route, linkId: link?.id },
        { op: "setPrivacyZones", zones: [SMALLER] }
      ]
      assert.strictEqual((yield* batch(reader, operations)).status, 403)
      const refused = yield* batch(script, operations)
      assert.strictEqual(refused.status, 428)
      assert.deepStrictEqual(actionsIn(refused.body), ["link.delete", "privacy_zones.shrink"])
      assert.include(refused.text, "The link \\\"Club\\\" to the route")
      assert.deepStrictEqual(yield* zonesOf(rider), { zones: [ZONE] })
      const free = [{ op: "setPrivacyZones", zones: [ZONE, { center: [9, 47], radius: 300 }] }, {
        op: "createLink",
        routeId: route,
        link: {}
      }]
      assert.deepStrictEqual(resultsIn((yield* batch(script, free)).body).map(({ status }) => status), [200, 201])
      const confirmed = yield* batch(script, operations, CONFIRMED)
      assert.deepStrictEqual(resultsIn(confirmed.body).map(({ status }) => status), [200, 200])
      assert.deepStrictEqual(yield* zonesOf(rider), { zones: [SMALLER] })
    }))

  it.effect("hides no less by its second operation than its first has set, without a confirmation", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const operations = [{ op: "setPrivacyZones", zones: [ZONE] }, { op: "setPrivacyZones", zones: [] }]
      const results = resultsIn((yield* batch(script, operations)).body)
      assert.deepStrictEqual(results.map(({ status }) => status), [200, 428])
      assert.deepStrictEqual(yield* zonesOf(rider), { zones: [ZONE] })
      yield* batch(rider, [{ op: "setPrivacyZones", zones: [] }])
      const atomic = yield* script.post("/routes/batch", { operations, atomic: true })
      assert.strictEqual(atomic.status, 428)
      assert.deepInclude(errorIn(atomic.body), { message: "operations.1: Send X-Service-Confirm: true to confirm" })
      assert.deepStrictEqual(yield* zonesOf(rider), { zones: [] })
    }))

  it.effect("and a call make one link of a clientId", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const clientId = "0a4f6d2e-94ab-4a63-b4f0-7d1a5f8f4a21"
      const send = rider.post(`/routes/${route}/links`, { clientId })
      const answers = yield* Effect.all([send, send, send], { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status), [201, 201, 201])
      const [result] = resultsIn((yield* batch(rider, [{ op: "createLink", routeId: route, link: { clientId } }])).body)
      assert.deepStrictEqual(yield* linksOf(rider, `/routes/${route}`), result?.link === undefined ? [] : [result.link])
      yield* rider.patch(`/routes/${route}/links/${result?.link?.id}`, { label: "Club" })
      answers.push(yield* send)
      assert.deepStrictEqual(new Set(answers.map(({ text }) => text)).size, 1)
    }))
})
