import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { openSync, readdirSync } from "node:fs"
import { SpoolFull } from "../../src/services/DomainErrors.ts"
import { OpenFile, Spool, SpoolLimit } from "../../src/services/files/Spool.ts"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { unzipped } from "../support/Archives.ts"
import { longRoute } from "../support/LongRoute.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const running = Effect.map(
  Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")),
  ({ text }) => Number(/^downloads_running (\d+)$/m.exec(text)?.[1])
)

/** Ends when no download is running and the process has as many files open as before. */
const nothingLeft = (openBefore: number) =>
  until(Effect.map(running, (count) => count === 0 && readdirSync("/proc/self/fd").length <= openBefore + 4))

const exported = ({ cookie }: Rider) =>
  Effect.flatMap(TestServer, ({ origin }) =>
    Effect.promise(async () => {
      const response = await fetch(`${origin}/api/v1/users/me/export`, { headers: { cookie } })
      return { status: response.status, bytes: await response.arrayBuffer().then(Buffer.from, () => undefined) }
    }))

const LIMIT = 2 * 1024 * 1024

layer(TestServer.layer().pipe(Layer.provide(Layer.succeed(SpoolLimit, LIMIT))), { excludeTestServices: true })(
  "files that are sent",
  (it) => {
    it.effect(
      "have so many bytes on the disk together at most; what would be more is 503, and leaves nothing",
      () =>
        Effect.gen(function*() {
          const rider = yield* signedIn
          const long = yield* longRoute(rider, 40_000)
          const short = yield* longRoute(rider, 10_000)
          assert.strictEqual((yield* rider.get(`/routes/${short}/gpx`)).status, 200)
          const open = readdirSync("/proc/self/fd").length
          for (let n = 0; n < 8; n++) {
            const refused = yield* rider.get(`/routes/${long}/gpx`)
            assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "5"])
            assert.deepInclude(refused.body, { statusCode: 503, code: "INTERNAL" })
            const served = yield* rider.get(`/routes/${short}/gpx`)
            assert.isAbove(served.text.length, LIMIT / 4)
          }
          yield* nothingLeft(open)
        })
    )
  }
)

it.effect("what finds no room on the disk leaves room at once", () =>
  Effect.gen(function*() {
    const spool = yield* Spool
    const half = "n".repeat(LIMIT / 2)
    assert.instanceOf(yield* Effect.flip(spool.take([half, half, half])), SpoolFull)
    assert.strictEqual((yield* spool.take([half, half])).size, LIMIT)
  }).pipe(Effect.scoped, Effect.provide(Layer.provide(Spool.layer, Layer.succeed(SpoolLimit, LIMIT)))))

layer(
  TestServer.layer().pipe(
    // A `FileHandle` would not do, since it closes its descriptor again when it is collected.
    Layer.provide(Layer.succeed(OpenFile, () => Promise.resolve(openSync("/dev/full", "r+"))))
  ),
  { excludeTestServices: true }
)("a disk that is full", (it) => {
  it.effect(
    "makes a download 503 in the one shape, ends an export that has begun, and leaves nothing",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const short = yield* longRoute(rider, 100)
        assert.isDefined((yield* unzipped((yield* exported(rider)).bytes ?? Buffer.alloc(0)))["manifest.json"])
        const long = yield* longRoute(rider, 10_000)
        const open = readdirSync("/proc/self/fd").length
        for (let n = 0; n < 8; n++) {
          const refused = yield* rider.get(`/routes/${long}/gpx`)
          assert.deepInclude(refused.body, {
            statusCode: 503,
            code: "INTERNAL",
            message: "There is no room for a download now: try again later"
          })
          assert.deepStrictEqual(yield* exported(rider), { status: 200, bytes: undefined })
        }
        assert.strictEqual((yield* rider.get(`/routes/${short}/gpx`)).status, 200)
        yield* nothingLeft(open)
      })
  )
})
