import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Rider, signedIn } from "./support/Actors.ts"
import { newRoute } from "./support/Routes.ts"
import { type Answer, TestServer } from "./support/TestServer.ts"

const COUNT = 100_000
const SIZE = 8 * 1024 * 1024

const listed = (count: number, at: (index: number) => string) => Array.from({ length: count }, (_, index) => at(index))

const zigzag = (count: number) =>
  `[${listed(count, (index) => `[${(9 + index / COUNT).toFixed(7)},${47 + index % 2}]`).join()}]`

/** The body of a new route around the text of a geometry. */
const bodyOf = (geometry: string, changes = {}) =>
  JSON.stringify(newRoute({ ...changes, geometry: null })).replace("\"geometry\":null", () => `"geometry":${geometry}`)

const sent = (rider: Rider, raw: string) =>
  rider.post("/routes", undefined, { raw, headers: { "content-type": "application/json" } })

const importFile = (rider: Rider, type: string, raw: string, query = "") =>
  rider.post(`/routes/import${query}`, undefined, { raw, headers: { "content-type": type } })

const GPX = "application/gpx+xml"
const KML = "application/vnd.google-earth.kml+xml"

const track = (points: string) => `<gpx><trk><trkseg>${points}</trkseg></trk></gpx>`

const ShortRoute = Schema.Struct({ id: Schema.Int, geometry: Schema.Array(Schema.Array(Schema.Finite)) })

interface Spent {
  readonly answer: Answer
  /** Milliseconds of the thread that serves, and whose client is in it too. */
  readonly here: number
  /** Of all threads of the process. */
  readonly inAll: number
}

const spentOn = (call: Effect.Effect<Answer>): Effect.Effect<Spent> =>
  Effect.gen(function*() {
    const [thread, process_] = [process.threadCpuUsage(), process.cpuUsage()]
    const answer = yield* call
    const [here, inAll] = [process.threadCpuUsage(thread), process.cpuUsage(process_)]
    return { answer, here: (here.user + here.system) / 1000, inAll: (inAll.user + inAll.system) / 1000 }
  })

const parseTime = (json: string) => {
  const before = process.threadCpuUsage()
  JSON.parse(json)
  const { system, user } = process.threadCpuUsage(before)
  return Math.max(5, (user + system) / 1000)
}

layer(TestServer.layer())("a request of much work", (it) => {
  for (const count of [5000, COUNT]) {
    it.effect(
      `that stores a zigzag of ${count} positions is 201, and costs less than 15 times JSON.parse on both ends`,
      () =>
        Effect.gen(function*() {
          const rider = yield* signedIn
          const raw = bodyOf(zigzag(count))
          // The thread is started by the first of them.
          yield* sent(rider, bodyOf(zigzag(6000)))
          const parsing = parseTime(raw)
          const { answer, inAll } = yield* spentOn(sent(rider, raw))
          assert.strictEqual(answer.status, 201)
          assert.isBelow(inAll, 15 * (2 * parsing) + 100)
          const { geometry, id } = Schema.decodeUnknownSync(ShortRoute)(answer.body)
          assert.deepStrictEqual<unknown>(geometry, JSON.parse(zigzag(count)))
          const read = yield* rider.get(`/routes/${id}?geometry=simplified`)
          assert.isAtMost(Schema.decodeUnknownSync(ShortRoute)(read.body).geometry.length, 200)
        }),
      60_000
    )
  }

  it.effect(
    "that is not in this thread: a file that costs a second holds up others for less than a third of it",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const files = [
          [GPX, `<gpx ${listed(600_000, (index) => `a${index.toString(36)}=""`).join(" ")}/>`],
          [KML, `<kml>${"<a/>".repeat(2_000_000)}</kml>`],
          [GPX, `<gpx><name>${"&amp;".repeat(SIZE / 5 - 20)}</name></gpx>`]
        ] as const
        for (const [type, text] of files) {
          yield* importFile(rider, type, track("<trkpt lat='1' lon='2'/>".repeat(4000)))
          const { answer, here, inAll } = yield* spentOn(importFile(rider, type, text))
          assert.strictEqual(answer.status, 400)
          assert.deepInclude(answer.body, { code: "VALIDATION_FAILED" })
          assert.isBelow(here, Math.max(inAll / 3, 60))
        }
      }),
    60_000
  )

  it.effect("that imports 100,000 points costs less than a second, most of it elsewhere", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const point = (index: number) =>
        `<trkpt lat="47.1${index % 1000}" lon="${9 + index / COUNT}"><ele>5</ele></trkpt>`
      const text = track(listed(COUNT, point).join(""))
      yield* importFile(rider, GPX, text.slice(0, 70_000))
      const { answer, here, inAll } = yield* spentOn(importFile(rider, GPX, text, "?dryRun=true"))
      assert.strictEqual(answer.status, 200)
      assert.isBelow(here, inAll / 2)
      assert.include(answer.text, "\"format\":\"gpx\"")
    }), 60_000)

  it.effect(
    "that downloads 100,000 positions and 1,000 waypoints as TCX costs less than twice what it does with one waypoint",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const waypoints = Array.from({ length: 1000 }, (_, index) => ({ coord: [9 + index / 1000, 47.5] }))
        const line = `[${listed(COUNT, (index) => `[${9 + index / COUNT},${47 + Math.sin(index / 999)}]`).join()}]`
        const stored = yield* sent(rider, bodyOf(line, { waypoints, visibility: "public" }))
        assert.strictEqual(stored.status, 201)
        const { id } = Schema.decodeUnknownSync(ShortRoute)(stored.body)
        const download = spentOn(rider.get(`/routes/${id}/tcx`))
        const many = yield* download
        assert.strictEqual(many.answer.status, 200)
        assert.strictEqual(many.answer.text.split("<CoursePoint>").length, 1001)
        yield* rider.patch(`/routes/${id}`, { waypoints: waypoints.slice(0, 1) })
        const one = yield* download
        assert.isBelow(many.here, 2 * one.here + 50)
      }),
    60_000
  )

  it.effect("that is broken has the same reasons as a short one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const long = zigzag(5000).slice(1, -1)
      const bodies = [
        [bodyOf(`[${long},[200,0]]`), "geometry.5000"],
        [bodyOf(`[${long}]`, { name: "" }), "name"],
        [bodyOf(`[${long}],"distance":1e999`), "distance"],
        [bodyOf(`[${long}]`, { waypoints: [] }), "waypoints"]
      ] as const
      for (const [raw, path] of bodies) {
        const answer = yield* sent(rider, raw)
        assert.strictEqual(answer.status, 400, path)
        assert.include(answer.text, `"path":"${path}"`)
      }
      assert.strictEqual((yield* sent(rider, bodyOf(`[${long}`))).status, 400)
      const broken = new TextEncoder().encode(bodyOf(`[${long}]`))
      broken[20] = 0xff
      const answer = yield* rider.post("/routes", undefined, {
        raw: broken,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(answer.status, 400)
    }), 60_000)

  it.effect("that changes a long line changes its length, place and box with it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stored = yield* sent(rider, bodyOf("[[1,2],[3,4]]"))
      const { id } = Schema.decodeUnknownSync(ShortRoute)(stored.body)
      const answer = yield* rider.patch(`/routes/${id}`, undefined, {
        raw: `{"geometry":${zigzag(5000)},"name":"Longer"}`,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(Schema.decodeUnknownSync(ShortRoute)(answer.body).geometry.length, 5000)
      assert.deepInclude(answer.body, { name: "Longer" })
    }))
})
