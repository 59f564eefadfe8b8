import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Fiber, Layer, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import { readdirSync, readlinkSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { buffer } from "node:stream/consumers"
import { LargeResponseLimits } from "../../src/http/middleware/LargeResponses.ts"
import { DownloadLimits, ReadAllowance, takenInTime } from "../../src/http/response/Downloads.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { unzipped } from "../support/Archives.ts"
import { connection, countOf, MIB, sampled, unread } from "../support/Connections.ts"
import { longRoute } from "../support/LongRoute.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const read = (response: IncomingMessage) =>
  Effect.promise(() => buffer(response).then((bytes) => bytes, () => undefined))

const from = (address: string, path: string) =>
  Effect.flatMap(TestServer, ({ call }) => call("GET", path, { headers: { "x-forwarded-for": address } }))

const refusalOf = ({ body, headers, status }: Answer) => {
  assert.deepInclude(body, { statusCode: status })
  return [status, headers.get("retry-after")]
}

const isSpooled = (descriptor: string) => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`).includes("route-planning-service-")
  } catch {
    return false
  }
}

/** Counts the files that the process keeps on the disk to send them. */
const spooledFiles = () => readdirSync("/proc/self/fd").filter(isSpooled).length

/** The server limits networks and callers without a credential. */
const sharesServer = TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8" }).pipe(
  Layer.provide(Layer.succeed(DownloadLimits, { perAddress: 2, perNetwork: 3, anonymous: 4, total: 5 })),
  Layer.provide(
    Layer.succeed(LargeResponseLimits, {
      perAddress: 12 * MIB,
      perNetwork: 20 * MIB,
      anonymous: 30 * MIB,
      total: 60 * MIB
    })
  )
)

/** Long reads that are sent at once have connections enough: on a busy machine some would wait too long for one. */
const downloadsServer = (grace: Duration.Duration, bytesPerSecond: number) =>
  TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8", DATABASE_POOL_SIZE: "20" }).pipe(
    Layer.provide(Layer.succeed(DownloadLimits, { perAddress: 3, perNetwork: 5, anonymous: 4, total: 4 })),
    Layer.provide(Layer.succeed(ReadAllowance, { grace, bytesPerSecond })),
    Layer.provide(
      Layer.succeed(LargeResponseLimits, {
        perAddress: 12 * MIB,
        perNetwork: 48 * MIB,
        anonymous: 20 * MIB,
        total: 20 * MIB
      })
    )
  )

/** The account has two long public routes, one of which is at `path`. */
class LongAccount extends Context.Service<LongAccount, { readonly rider: Rider; readonly path: string }>()(
  "test/LongAccount"
) {
  static readonly layer = Layer.effect(
    LongAccount,
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* longRoute(rider)
      return { rider, path: `/routes/${yield* longRoute(rider)}` }
    })
  )
}

layer(LongAccount.layer.pipe(Layer.provideMerge(downloadsServer(Duration.minutes(1), 1024))), {
  excludeTestServices: true
})("a download", (it) => {
  it.effect("that is not read is on the disk, and at most a few are", () =>
    Effect.gen(function*() {
      const path = `${(yield* LongAccount).path}/gpx`
      const whole = yield* from("10.0.0.1", path)
      assert.isAbove(whole.text.length, 8 * MIB)
      assert.strictEqual(whole.headers.get("content-length"), String(Buffer.byteLength(whole.text)))
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 0))

      const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread(path, "10.0.0.1")))
      assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
      yield* until(Effect.sync(() => spooledFiles() === 3))

      assert.deepStrictEqual(refusalOf(yield* from("10.0.0.1", path)), [429, "5"])
      yield* unread(path, "10.0.0.2")
      assert.deepStrictEqual(refusalOf(yield* from("10.0.0.3", path)), [503, "5"])
      assert.strictEqual(yield* sampled("downloads_running"), 4)

      const [text, ...others] = yield* Effect.all(stalled.slice(0, 1).map(read))
      assert.strictEqual(text?.toString(), whole.text)
      assert.isEmpty(others)
      stalled.forEach((response) => response.destroy())
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 1))
      assert.strictEqual((yield* from("10.0.0.1", path)).status, 200)
    }).pipe(Effect.scoped))

  it.effect("to a HEAD request ends at once", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      for (const format of ["gpx", "geojson", "tcx", "kml"]) {
        const file = yield* call("GET", `/routes/${id}/${format}`)
        const head = yield* call("HEAD", `/routes/${id}/${format}`)
        assert.strictEqual(head.headers.get("content-length"), String(Buffer.byteLength(file.text)))
      }
      assert.strictEqual(yield* sampled("downloads_running"), 0)
    }))

  it.effect("or an export of an account that is not read is one of the few of its address, and of all", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const { rider } = yield* LongAccount
      const path = "/users/me/export"
      const cookie = { cookie: rider.cookie }
      const exportFrom = (address: string) =>
        call("GET", path, { headers: { "x-forwarded-for": address, cookie: rider.cookie } })
      const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread(path, "10.0.2.1", cookie)))
      assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
      assert.deepStrictEqual(refusalOf(yield* exportFrom("10.0.2.1")), [429, "5"])
      yield* unread(path, "10.0.2.2", cookie)
      assert.deepStrictEqual(refusalOf(yield* exportFrom("10.0.2.3")), [503, "5"])
      assert.strictEqual(yield* sampled("downloads_running"), 4)
      stalled.forEach((response) => response.destroy())
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 1))
      assert.strictEqual((yield* unread(path, "10.0.2.1", cookie)).statusCode, 200)
    }).pipe(Effect.scoped))

  it.effect("or an export that is not read is on the disk", () =>
    Effect.gen(function*() {
      const { rider } = yield* LongAccount
      const cookie = { cookie: rider.cookie }
      const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread("/users/me/export", "10.0.4.1", cookie)))
      assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
      // The bytes that do not fit into the buffers of the system are on the disk.
      yield* until(Effect.sync(() => spooledFiles() === 3))
      const [bytes] = yield* Effect.all(stalled.slice(0, 1).map(read))
      const files = yield* unzipped(bytes ?? Buffer.alloc(0))
      assert.lengthOf(Object.keys(files).filter((name) => name.endsWith(".gpx")), 2)
      stalled.forEach((response) => response.destroy())
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 0))
    }).pipe(Effect.scoped))

  it.effect("or many short responses of one connection are bounded by their unread bytes", () =>
    Effect.gen(function*() {
      const path = `/api/v1/routes/${yield* longRoute(yield* signedIn, 16_000)}`
      const { socket } = yield* connection
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.3.1\r\n\r\n`.repeat(30))
      const refused = countOf("GET", "/api/v1/routes/{ref}", "4xx")
      yield* until(Effect.map(refused, (count) => count > 0))
      // All are decided once no more are refused; those that wait to be sent are not counted as responses yet.
      const seen = { refused: 0 }
      const isSettled = Effect.map(refused, (count) => {
        const isSame = count === seen.refused
        seen.refused = count
        return isSame
      })
      yield* until(isSettled, Duration.millis(250))
      assert.isAtLeast(30 - seen.refused, 8)
      socket.destroy()
      yield* until(Effect.map(from("10.0.3.1", path.replace("/api/v1", "")), ({ status }) => status === 200))
    }).pipe(Effect.scoped))

  it.effect("or a long response that is not read leaves room for others in memory", () =>
    Effect.gen(function*() {
      const { path } = yield* LongAccount
      const stalled = yield* unread(path, "10.0.1.1")
      assert.strictEqual(stalled.statusCode, 200)
      assert.deepStrictEqual(refusalOf(yield* from("10.0.1.1", path)), [429, "5"])
      const other = yield* unread(path, "10.0.1.2")
      assert.deepStrictEqual([other.statusCode, refusalOf(yield* from("10.0.1.3", path))], [200, [503, "5"]])
      assert.strictEqual((yield* from("10.0.1.1", `${path}?geometry=simplified`)).status, 200)
      stalled.destroy()
      other.destroy()
      yield* until(Effect.map(from("10.0.1.1", path), ({ status }) => status === 200))
    }).pipe(Effect.scoped))
})

layer(downloadsServer(Duration.millis(600), 1024 * MIB), { excludeTestServices: true })(
  "a response",
  (it) => {
    it.effect("of which a client takes nothing is ended, and lets go of what it held", () =>
      Effect.gen(function*() {
        const id = yield* longRoute(yield* signedIn)
        const stalled = yield* Effect.forEach(
          [`/routes/${id}/gpx`, `/routes/${id}`],
          (path) => unread(path, "10.0.0.1")
        )
        assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200])
        yield* until(Effect.map(sampled("http_server_active_requests"), (count) => count === 1))
        for (const response of stalled) assert.isUndefined(yield* read(response), "broken off")
        assert.strictEqual(yield* sampled("downloads_running"), 0)
      }).pipe(Effect.scoped))

    it.effect(
      "that a client takes more slowly than the lowest rate is ended, although it never stands still",
      () =>
        Effect.gen(function*() {
          const path = `/routes/${yield* longRoute(yield* signedIn)}/tcx`
          const response = yield* unread(path, "10.0.0.1")
          const reading = yield* Effect.forkChild(
            Effect.forever(Effect.andThen(Effect.sync(() => response.read(65_536)), Effect.sleep("20 millis")))
          )
          yield* until(Effect.sync(() => response.destroyed))
          yield* Fiber.interrupt(reading)
          assert.isFalse(response.complete)
          yield* until(Effect.map(sampled("downloads_running"), (count) => count === 0))
        }).pipe(Effect.scoped)
    )
  }
)

layer(downloadsServer(Duration.millis(600), 1024), { excludeTestServices: true })(
  "a response",
  (it) => {
    it.effect("that a client takes slowly arrives whole", () =>
      Effect.gen(function*() {
        const path = `/routes/${yield* longRoute(yield* signedIn)}/gpx`
        const response = yield* unread(path, "10.0.0.1")
        const pausing = yield* Effect.forkChild(
          Effect.forever(Effect.andThen(
            Effect.sync(() => response.pause()),
            Effect.andThen(
              Effect.sleep("10 millis"),
              Effect.andThen(Effect.sync(() => response.resume()), Effect.sleep("1 millis"))
            )
          ))
        )
        const bytes = yield* read(response)
        yield* Fiber.interrupt(pausing)
        assert.strictEqual(bytes?.length, Number(response.headers["content-length"]))
      }).pipe(Effect.scoped))
  }
)

describe("an export", () => {
  const pieces = Stream.repeat(Stream.succeed(new Uint8Array(16 * 1024)), Schedule.recurs(99))

  const takenEvery = (pause: Duration.Input) =>
    Effect.gen(function*() {
      const taken = Stream.runForEach(takenInTime(pieces), () => Effect.sleep(pause))
      const fiber = yield* Effect.forkChild(Effect.exit(taken))
      yield* TestClock.adjust("10 minutes")
      return Exit.isSuccess(yield* Fiber.join(fiber))
    })

  it.effect("is sent to a client that takes 16 KiB a second, and to none that falls 30 seconds behind", () =>
    Effect.gen(function*() {
      assert.isTrue(yield* takenEvery("1 second"))
      assert.isTrue(yield* takenEvery("1290 millis"))
      assert.isFalse(yield* takenEvery("1350 millis"))
      assert.isFalse(yield* takenEvery("31 seconds"))
    }))
})

layer(LongAccount.layer.pipe(Layer.provideMerge(sharesServer)), {
  excludeTestServices: true
})("callers with a credential", (it) => {
  it.effect("have a part of the downloads, however many addresses without one have the rest", () =>
    Effect.gen(function*() {
      const { path, rider } = yield* LongAccount
      const cookie = { cookie: rider.cookie }
      const file = `${path}/gpx`
      yield* Effect.forEach(["10.0.0.1", "10.0.0.1", "10.0.0.2"], (address) => unread(file, address))
      assert.deepStrictEqual(refusalOf(yield* from("10.0.0.1", file)), [429, "5"])
      assert.deepStrictEqual(refusalOf(yield* from("10.0.0.3", file)), [429, "5"])
      yield* unread(file, "10.0.1.1")
      assert.deepStrictEqual(refusalOf(yield* from("10.0.2.1", file)), [503, "5"])
      assert.strictEqual((yield* unread(file, "10.0.2.1", cookie)).statusCode, 200)
      assert.strictEqual((yield* unread("/users/me/export", "10.0.2.1", cookie)).statusCode, 503)
    }).pipe(Effect.scoped))

  it.effect("have a part of the memory for long responses, however many addresses without one have the rest", () =>
    Effect.gen(function*() {
      const { path, rider } = yield* LongAccount
      yield* Effect.forEach(["2001:db8:1:1::1", "2001:db8:1:2::1"], (address) => unread(path, address))
      assert.deepStrictEqual(refusalOf(yield* from("2001:db8:1:1::2", path)), [429, "5"])
      assert.deepStrictEqual(refusalOf(yield* from("2001:db8:1:3::1", path)), [429, "5"])
      yield* unread(path, "2001:db8:2::1")
      assert.deepStrictEqual(refusalOf(yield* from("2001:db8:3::1", path)), [503, "5"])
      assert.strictEqual((yield* unread(path, "2001:db8:3::1", { cookie: rider.cookie })).statusCode, 200)
    }).pipe(Effect.scoped))
})
