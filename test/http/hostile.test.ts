import { assert, layer } from "@effect/vitest"
import { Effect, Hash, Schema } from "effect"
import { NewRoute } from "../../src/schema/Route.ts"
import { TraceRoom } from "../../src/schema/Routing.ts"
import { maxValuesOf } from "../../src/services/bodies/BoundedJson.ts"
import { type Actor, anonymous, signedIn } from "../support/Actors.ts"
import { issuesOf } from "../support/Archives.ts"
import { JSON_TYPE } from "../support/RawHttp.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

/** Sends a text that is refused, and gives the reasons. `npm run bench:hostile` measures what such bodies cost. */
const refused = Effect.fnUntraced(function*(actor: Actor, method: string, path: string, raw: string) {
  const { body, status, text } = yield* actor.call(method, path, { raw, headers: JSON_TYPE })
  assert.strictEqual(status, 400, text.slice(0, 200))
  return issuesOf(body)
})

const repeated = (count: number, item: string) => Array.from({ length: count }, () => item).join(",")

const TRACE = "/routing/trace-attributes"

const refusedTrace = (actor: Actor, raw: string) => refused(actor, "POST", TRACE, raw)

const traceOf = (shape: string) => `{"activity":"cycle","shape":[${shape}]}`

const routeWith = (member: string) => `{"name":"x","waypoints":[{"coord":[1,2]}],${member}}`

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz0123456789"]

const afterText = (state: number, text: string) =>
  [...text].reduceRight((state, letter) => (state * 33) ^ letter.charCodeAt(0), state)

/**
 * Finds the largest group of texts of three letters that lead Effect's string hash to one state. The hash goes from the
 * end of a text to its beginning.
 */
const mostFrom = (state: number) => {
  const blocks = LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.map((c) => a + b + c)))
  const groups = Map.groupBy(blocks, (block) => afterText(state, block))
  return [...groups].reduce((most, group) => group[1].length > most[1].length ? group : most)
}

/** Makes tags of 24 letters that Effect's unseeded hash takes for one. */
const collidingTags = (count: number): ReadonlyArray<string> => {
  const grow = ({ state, tags }: { readonly state: number; readonly tags: ReadonlyArray<string> }) => {
    const [next, blocks] = mostFrom(state)
    return { state: next, tags: blocks.flatMap((block) => tags.map((tag) => block + tag)).slice(0, count) }
  }
  return Array.from({ length: 8 }).reduce<ReturnType<typeof grow>>(grow, { state: 5381, tags: [""] }).tags
}

const Strings = Schema.Array(Schema.String)

layer(TestServer.layer())("a hostile body is refused for its first reasons:", (it) => {
  it.effect("a trace of 690,000 empty objects, 900,000 numbers or 50,000 broken points", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const tooMany = [{ path: "body", message: `Expected at most ${maxValuesOf(TraceRoom)} values in all` }]
      assert.deepStrictEqual(yield* refusedTrace(visitor, traceOf(repeated(690_000, "{}"))), tooMany)
      assert.deepStrictEqual(yield* refusedTrace(visitor, traceOf(repeated(900_000, "1"))), tooMany)
      assert.deepStrictEqual(yield* refusedTrace(visitor, traceOf(repeated(50_001, "{}"))), [
        { path: "body.shape", message: "Expected at most 50000 items" }
      ])
      const issues = yield* refusedTrace(visitor, traceOf(repeated(50_000, "{}")))
      assert.strictEqual(issues.length, 100)
      assert.deepStrictEqual(issues[99], { path: "body.shape.49.lon", message: "Required, but missing" })
    }))

  it.effect("a trace of 50,000 points of which the last is broken", () =>
    Effect.gen(function*() {
      const shape = `${repeated(49_999, `{"lat":1,"lon":2}`)},{"lat":1,"lon":200}`
      assert.deepStrictEqual(yield* refusedTrace(yield* anonymous, traceOf(shape)), [
        { path: "body.shape.49999.lon", message: "Expected a value between -180 and 180" }
      ])
    }))

  it.effect("an encoded polyline of 1,000,000 points", () =>
    Effect.gen(function*() {
      const raw = JSON.stringify({ activity: "cycle", encodedPolyline: "?".repeat(2_000_000) })
      const issues = yield* refusedTrace(yield* anonymous, raw)
      assert.deepStrictEqual(issues.map(({ path }) => path), ["body.encodedPolyline"])
    }))

  it.effect("a route of 2,700,000 empty waypoints, under an escaped name too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const waypoints = `[${repeated(2_700_000, "{}")}]`
      for (const name of ["waypoints", "wayp\\u006fints"]) {
        assert.deepStrictEqual(yield* refused(rider, "POST", "/routes", `{"name":"x","${name}":${waypoints}}`), [
          { path: "body", message: `Expected at most ${maxValuesOf(NewRoute)} values in all` }
        ])
      }
    }))

  it.effect("2,700,000 values in a member that is ignored, where a response sent back whole is none too many", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = routeWith(`"extra":[${repeated(2_700_000, "{}")}]`)
      const [issue] = yield* refused(rider, "POST", "/routes", raw)
      assert.match(issue?.message ?? "", /^Expected at most \d+ values in all$/)
      const stored = yield* rider.post("/routes", newRoute({ tags: ["a"] }))
      assert.strictEqual((yield* rider.patch(`/routes/${created(stored.body).id}`, stored.body)).status, 200)
    }))

  it.effect("an object of 500,000 members, a tree of 4,000,000 levels", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const members = Array.from({ length: 500_000 }, (_, n) => `"m${n}":0`).join(",")
      assert.deepStrictEqual(yield* refused(rider, "POST", "/routes", routeWith(members)), [
        { path: "body", message: "Expected at most 1000 members" }
      ])
      const levels = 4_000_000
      const deep = "[".repeat(levels) + "]".repeat(levels)
      assert.deepStrictEqual(yield* refused(rider, "POST", "/routes", routeWith(`"extra":${deep}`)), [
        { path: "body", message: "Expected at most 16 levels" }
      ])
    }))

  it.effect("20,000 tags chosen to collide in Effect's string hash", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const tags = collidingTags(20_000)
      assert.strictEqual(new Set(tags).size, 20_000)
      assert.strictEqual(new Set(tags.map(Hash.string)).size, 1)
      assert.deepStrictEqual(yield* refused(rider, "POST", "/routes", routeWith(`"tags":${JSON.stringify(tags)}`)), [
        { path: "body.tags", message: "Expected at most 100 items" }
      ])
      const few = { tags: [...tags.slice(0, 10), ...tags.slice(0, 10)] }
      const stored = created((yield* rider.post("/routes", newRoute(few))).body)
      assert.deepStrictEqual(Schema.decodeUnknownSync(Strings)(stored["tags"]), tags.slice(0, 10))
    }))

  it.effect("100,000 positions none of which is one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const broken = routeWith(`"geometry":[${repeated(100_000, "[]")}]`)
      const issues = yield* refused(rider, "POST", "/routes", broken)
      assert.strictEqual(issues.length, 20)
    }))

  it.effect("an address whose domain becomes too long in ASCII, wherever an address is sent", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = `a@${repeated(15, "\u3300".repeat(11)).replaceAll(",", ".")}`
      const password = "correct horse battery"
      const bodies = {
        "signup-email": { email, password },
        "login-email": { email, password },
        "request-password-reset": { email }
      }
      for (const [path, body] of Object.entries(bodies)) {
        const issues = yield* refused(visitor, "POST", `/auth/${path}`, JSON.stringify(body))
        assert.deepStrictEqual(issues.map((issue) => issue.path), ["body.email"])
      }
    }))
})

layer(TestServer.layer())("a hostile header", (it) => {
  it.effect("of encodings makes responses that are not compressed", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { body } = yield* (yield* signedIn).post("/routes", newRoute({ visibility: "public" }))
      const accepted = { gzip: "gzip", [`gzip,${" ".repeat(14_000)}x`]: null }
      for (const path of ["//api", `//r/${created(body).shareToken}`]) {
        for (const [header, encoding] of Object.entries(accepted)) {
          const { headers, status } = yield* visitor.get(path, { headers: { "accept-encoding": header } })
          assert.deepStrictEqual([status, headers.get("content-encoding")], [200, encoding], path)
        }
      }
    }))
})
