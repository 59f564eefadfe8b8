import { assert, layer } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Schema } from "effect"
import { inPart } from "../../src/schema/Issues.ts"
import { NewRoute, RoutePatch } from "../../src/schema/Route.ts"
import { TraceRequest } from "../../src/schema/Routing.ts"
import { refusalsBy } from "../../src/services/bodies/BoundedJson.ts"
import { type Actor, anonymous, signedIn } from "../support/Actors.ts"
import { issuesOf } from "../support/Archives.ts"
import { matching, pointAt, withEngine } from "../support/LongTrace.ts"
import { JSON_TYPE } from "../support/RawHttp.ts"
import { created, newRoute } from "../support/Routes.ts"
import { StandInEngine } from "../support/StandInEngine.ts"
import { TestServer } from "../support/TestServer.ts"

const listed = (count: number, at: (index: number) => string) => Array.from({ length: count }, (_, n) => at(n)).join()

const send = (actor: Actor, method: string, path: string, raw: string, headers: Record<string, string> = {}) =>
  actor.call(method, path, { raw, headers: { ...JSON_TYPE, ...headers } })

const positions = (count: number) => listed(count, (n) => `[${9 + n / 100_000},${47 + n / 200_000},411.5]`)

const bodyOf = (members: string) => `{"name":"x","waypoints":[{"coord":[1,2]}],${members}}`

const REFUSED = {
  "a position of 20,000 that is none": bodyOf(`"geometry":[${positions(20_000)},[200,0]]`),
  "a member that is ignored, and a name that is too short": bodyOf(
    `"extra":[${positions(20_000)}],"name":"","tags":["A b","!"]`
  ),
  "waypoints with more than 100 issues": `{"name":"x","waypoints":[${
    listed(1000, (n) => `{"coord":[1,${n}],"name":"${"n".repeat(300)}"}`)
  }]}`,
  "a number that JSON cannot print": bodyOf(`"distance":1e999,"geometry":[${positions(20_000)}]`),
  "half of a JSON": bodyOf(`"geometry":[${positions(20_000)}`)
}

layer(TestServer.layer())("a long body of a route", (it) => {
  it.effect("is refused for the reasons that a short one has, on POST and PATCH", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      for (const [what, raw] of Object.entries(REFUSED)) {
        for (
          const [method, path, schema] of [["POST", "/routes", NewRoute], [
            "PATCH",
            `/routes/${id}`,
            RoutePatch
          ]] as const
        ) {
          const answer = yield* send(rider, method, path, raw)
          assert.strictEqual(answer.status, 400, what)
          assert.deepStrictEqual(
            issuesOf(answer.body),
            refusalsBy(schema)(raw).map(inPart("body")),
            `${method} ${what}`
          )
        }
      }
    }))

  it.effect("with a polyline that is no line on Earth, or too long, is refused by the member's name, as a short one is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const long = "n".repeat(70_000)
      const refused = { odd: "_p~iF", "cut off": "_p~iF~ps|_", "a space": "_p~iF ps|U", "a latitude of 100": "_c`|jEA" }
      const bodies = [
        ...Object.values(refused).map((polyline6) => ({ polyline6 })),
        { polyline6: "?".repeat(200_002) },
        { polyline6: "??", geometry: [] }
      ]
      for (const body of bodies) {
        for (const extra of ["", long]) {
          const answer = yield* rider.post("/routes", newRoute({ ...body, extra }))
          assert.deepStrictEqual([answer.status, issuesOf(answer.body).map(({ path }) => path)], [400, [
            "body.polyline6"
          ]])
        }
      }
      const line = "_izlhA~rlgdF".concat("A?".repeat(40_000))
      const made = yield* rider.post("/routes", newRoute({ polyline6: line }))
      const read = yield* rider.get(`/routes/${created(made.body).id}?geometry=polyline6`)
      assert.deepInclude(read.body, { polyline6: line })
    }))

  it.effect("comes back from the thread without what is ignored", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = bodyOf(`"extra":[${positions(100_000)}],"tags":["A b"]`)
      const { body, status } = yield* send(rider, "POST", "/routes", raw)
      assert.strictEqual(status, 201)
      assert.deepInclude(body, { tags: ["a-b"] })
      assert.notProperty(body, "extra")
    }))

  it.effect("is the same under an Idempotency-Key only when it has the same bytes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = bodyOf(`"geometry":[${positions(20_000)}]`)
      for (const [key, text] of [["long", raw], ["short", bodyOf(`"geometry":[${positions(20)}]`)]] as const) {
        const headers = { "idempotency-key": key }
        const first = yield* send(rider, "POST", "/routes", text, headers)
        assert.strictEqual(first.status, 201)
        assert.strictEqual((yield* send(rider, "POST", "/routes", text, headers)).text, first.text)
        assert.strictEqual((yield* send(rider, "POST", "/routes", `${text} `, headers)).status, 409)
      }
    }))
})

const Asked = Schema.fromJsonString(Schema.Struct({ shape: Schema.Array(Schema.Unknown) }))

layer(withEngine)("a long trace", (it) => {
  it.effect(
    "is sent to the engine as it came, and refused for the reasons that a short one has",
    () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const visitor = yield* anonymous
        yield* engine.behave(matching)
        const shape = `[${listed(5000, pointAt)}]`
        const raw = `{"activity":"cycle","ignored":1,"shape":${shape}}`
        assert.strictEqual((yield* send(visitor, "POST", "/routing/trace-attributes", raw)).status, 200)
        const asked = Schema.decodeUnknownSync(Asked)(engine.asked.at(-1)?.body)
        assert.deepStrictEqual<unknown>(asked.shape, JSON.parse(shape))
        const encodedPolyline = "?".repeat(100_000)
        yield* send(visitor, "POST", "/routing/trace-attributes", JSON.stringify({ encodedPolyline }))
        assert.deepStrictEqual(
          engine.asked.slice(-4).flatMap(({ body }) => Schema.decodeUnknownSync(Asked)(body).shape.length).toSorted(),
          [16_000, 16_000, 16_000, 2003]
        )
        for (
          const broken of [
            `{"shape":[${listed(5000, pointAt)},{"lat":1}]}`,
            `{"shape":[${listed(5000, () => "{}")}],"activity":"swim"}`,
            `{"shape":${shape},"encodedPolyline":"??"}`,
            `{"shape":${shape}`
          ]
        ) {
          const answer = yield* send(visitor, "POST", "/routing/trace-attributes", broken)
          assert.strictEqual(answer.status, 400)
          assert.deepStrictEqual(issuesOf(answer.body), refusalsBy(TraceRequest)(broken).map(inPart("body")))
        }
        const tooFar = JSON.stringify({
          encodedPolyline: polyline.encode(Array.from({ length: 20_000 }, (_, n) => [n % 80, n % 170]), 6)
        })
        assert.deepStrictEqual(
          issuesOf((yield* send(visitor, "POST", "/routing/trace-attributes", tooFar)).body),
          [{ path: "body.encodedPolyline", message: "Expected a trace of at most 2000 km" }]
        )
        assert.deepStrictEqual(
          issuesOf(
            (yield* send(
              visitor,
              "POST",
              "/routing/trace-attributes",
              JSON.stringify({ encodedPolyline: "~".repeat(70_000) })
            ))
              .body
          ),
          [{ path: "body.encodedPolyline", message: "Expected a polyline with six decimals of 2 to 50000 points" }]
        )
      })
  )
})
