import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { randomBytes } from "node:crypto"
import { HeavyWork } from "../../src/services/admission/HeavyWork.ts"
import { ImportTurns } from "../../src/services/admission/ImportTurns.ts"
import { Lanes } from "../../src/services/admission/Lanes.ts"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { exported, imported, importedAfter, issuesOf, manifestOf, sealed, unzipped } from "../support/Archives.ts"
import { archiveOfPacked, deflated, spaces } from "../support/Bombs.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const MIB = 1024 * 1024

const filesOf = Effect.fnUntraced(function*(rider: Rider) {
  yield* rider.post("/routes", newRoute({ name: "first" }))
  return yield* unzipped((yield* exported(rider)).bytes)
})

const isToldToWait = ({ body, headers, status }: Answer) => {
  assert.strictEqual(status, 503)
  assert.strictEqual(headers.get("retry-after"), "30")
  const message = "Too many uploads are in progress: try again later"
  assert.deepInclude(body, { statusCode: 503, code: "INTERNAL", message })
}

layer(TestServer.layer())("an archive of 3.7 MiB that unpacks to 3.75 GiB", (it) => {
  const BLOCKS = 960

  const bombIn = (name: string, blocks = BLOCKS) =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = yield* filesOf(rider)
      const bomb = spaces(name, blocks)
      const { [name]: _, "manifest.json": __, ...others } = files
      const manifest = {
        ...manifestOf(files),
        files: [
          ...manifestOf(files).files.filter((file) => file.name !== name),
          { name, size: bomb.size, sha256: "0".repeat(64) }
        ]
      }
      const packed = Object.entries({ ...others, "manifest.json": JSON.stringify(manifest) })
      return archiveOfPacked([bomb, ...packed.map(([name, text]) => deflated(name, text))])
    })

  it.effect("is refused where it would be read", () =>
    Effect.gen(function*() {
      const archive = yield* bombIn("routes.json")
      assert.closeTo(archive.length / MIB, 3.7, 0.2)
      const rider = yield* signedIn
      const answer = yield* imported(rider, archive)
      assert.strictEqual(answer.status, 400)
      assert.include(answer.text, "what is read of it unpacks to more than 536870912 bytes")
    }))

  it.effect("is refused at its first line where all of it may be read", () =>
    Effect.gen(function*() {
      const archive = yield* bombIn("routes.json", 120)
      const rider = yield* signedIn
      const answer = yield* imported(rider, archive)
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(issuesOf(answer.body), [
        { path: "body.routes.json:1", message: "Expected a line of at most 10485760 bytes" }
      ])
    }))

  it.effect("is not unpacked where it is never read, and the rest is imported", () =>
    Effect.gen(function*() {
      const archive = yield* bombIn("routes/0-bomb.gpx")
      const rider = yield* signedIn
      const answer = yield* imported(rider, archive)
      assert.strictEqual(answer.status, 201)
      assert.deepInclude(answer.body, { routes: { created: 1, restored: 0, unchanged: 0, duplicates: 0 } })
    }))
})

layer(TestServer.layer())("an archive", (it) => {
  it.effect(
    "of an own export is taken again, though its routes repeat themselves",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const heir = yield* signedIn
        const sql = yield* SqlClient.SqlClient
        const waypoint = JSON.stringify({ coord: [0, 0], name: "🚲".repeat(255) })
        const waypoints = `[${Array.from({ length: 1000 }, () => waypoint).join(",")}]`
        const line = JSON.stringify(Array.from({ length: 1000 }, () => [0, 0]))
        // The words of all of them take longer than a statement may behind a pooler.
        yield* Effect.forEach(
          Array.from({ length: 17 }, (_, n) => `again-${n}`),
          (name) =>
            sql`
            INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
              created_at, updated_at)
            VALUES (${rider.id}, ${name}, 'private', '{}', false, ${waypoints}, ${line}, 'routing-engine', md5(${name}),
              '1970-01-01Z', '1970-01-01Z')`
        )
        const { bytes } = yield* exported(rider)
        const read = (yield* unzipped(bytes))["routes.json"] ?? ""
        assert.isAbove(Buffer.byteLength(read), 16 * MIB)
        const { body, status } = yield* imported(heir, bytes)
        assert.strictEqual(status, 201)
        assert.deepInclude(body, { routes: { created: 17, restored: 0, unchanged: 0, duplicates: 0 } })
      })
  )

  it.effect("with one wrong position in one of many long routes names it, and imports nothing", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = yield* filesOf(rider)
      const [, line = ""] = (files["routes.json"] ?? "").split("\n")
      const lineOf = (origin: number, last: ReadonlyArray<number> = [9, 47]) => {
        const geometry = [...Array.from({ length: 4999 }, (_, n) => [9 + n / 100_000, 47.123456, 411.5]), last]
        return line
          .replace(/"origin":"\w+"/, `"origin":"${origin.toString(16).padStart(32, "0")}"`)
          .replace("{", () => `{"geometry":${JSON.stringify(geometry)},`)
      }
      const archiveOf = (lines: ReadonlyArray<string>) =>
        sealed({ ...files, "routes.json": `[\n${lines.join(",\n")}\n]\n` }, {
          counts: { routes: lines.length, collections: 0, tokens: 0, sessions: 0 }
        })
      const heir = yield* signedIn
      const { body, status } = yield* imported(heir, yield* archiveOf([lineOf(1), lineOf(2, [200, 0]), lineOf(3)]))
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(issuesOf(body).map(({ path }) => path), ["body.routes.json:3.geometry.4999"])
      assert.deepStrictEqual((yield* heir.get("/routes")).body, [])
      const again = yield* archiveOf([lineOf(1), lineOf(1)])
      assert.deepStrictEqual(issuesOf((yield* imported(heir, again)).body), [
        { path: "body.routes.json:3.origin", message: "Expected each origin once" }
      ])
      assert.strictEqual((yield* imported(heir, yield* archiveOf([lineOf(1)]))).status, 201)
    }))

  it.effect("of another account is imported beside four large ones, not behind them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const small = yield* sealed(yield* filesOf(rider))
      const waypoints = JSON.stringify([{ coord: [9, 47.123456] }, { coord: [9.4999, 47.123456] }])
      const line = JSON.stringify(Array.from({ length: 5000 }, (_, n) => [9 + n / 10_000, 47.123456]))
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
          created_at, updated_at)
        SELECT ${rider.id}, 'long', 'private', '{}', false, ${waypoints}, ${line}, 'routing-engine', md5('beside' || n), '1970-01-01Z',
          '1970-01-01Z'
        FROM generate_series(1, 120) n`
      const { bytes: large } = yield* exported(rider)
      const last = yield* signedIn
      const heirs = yield* Effect.replicateEffect(signedIn, 4)
      const ended: Array<string> = []
      const noted = (heir: Rider, archive: Uint8Array, size: string) =>
        Effect.tap(imported(heir, archive), () => Effect.sync(() => ended.push(size)))
      const others = yield* Effect.forkChild(
        Effect.forEach(heirs, (heir) => noted(heir, large, "large"), { concurrency: "unbounded" })
      )
      // A small archive that is sent at the same time arrives before them.
      const stored = sql`SELECT FROM routes WHERE ${sql.in("user_id", heirs.map(({ id }) => id))}`
      yield* until(Effect.map(stored, (rows) => rows.length > 0))
      const answers = [yield* noted(last, small, "small"), ...(yield* Fiber.join(others))]
      assert.deepStrictEqual(answers.map(({ status }) => status), [201, 201, 201, 201, 201])
      assert.notStrictEqual(ended.at(-1), "small")
    }))
})

layer(TestServer.layer({ IMPORT_DISK_BUDGET: "1 MiB" }))("uploads", (it) => {
  it.effect("share the room on the disk: what arrives beyond it is 503, and taken when others are done", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [first, second, third] = yield* Effect.all([signedIn, signedIn, signedIn])
      const files = yield* filesOf(rider)
      const upload = yield* sealed({ ...files, "extra.txt": randomBytes(380 * 1024).toString("hex") })
      assert.closeTo(upload.length / MIB, 0.42, 0.03)
      const seen: Array<Answer> = []
      const late = Effect.map(imported(third, upload), (answer) => seen.push(answer))
      const server = yield* TestServer
      // They take three halves of the room: two of them wait for their last bytes.
      const besideFirst = importedAfter(second, upload, late, upload.length - 10).pipe(
        Effect.provideService(TestServer, server)
      )
      assert.strictEqual((yield* importedAfter(first, upload, besideFirst, upload.length - 10)).status, 201)
      assert.strictEqual(seen.length, 1)
      for (const answer of seen) isToldToWait(answer)
      assert.strictEqual((yield* imported(third, upload)).status, 201)
      // Requests that were broken off leave their room as well.
      yield* Effect.timeoutOption(importedAfter(first, upload, Effect.never, upload.length - 10), "100 millis").pipe(
        TestClock.withLive
      )
      yield* Effect.eventually(
        Effect.filterOrFail(imported(second, upload), ({ status }) => status === 201)
      )
    }))
})

const turnsLayer = ImportTurns.layer.pipe(Layer.provideMerge([Lanes.layer, HeavyWork.layer]))

describe("imports", () => {
  it.effect("are eight at a time: the ninth waits for two seconds, and gets Retry-After", () =>
    Effect.gen(function*() {
      const { place } = yield* ImportTurns
      const first = yield* Scope.make()
      yield* Scope.provide(place, first)
      const others = yield* Scope.make()
      for (let n = 0; n < 7; n++) yield* Scope.provide(place, others)
      const late = yield* Effect.forkChild(Effect.flip(Effect.scoped(place)))
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* Fiber.join(late), { reason: "archives", retryAfterSeconds: 30 })
      const next = yield* Effect.forkChild(Effect.scoped(place))
      yield* TestClock.adjust("1 second")
      yield* Scope.close(first, Exit.void)
      yield* Fiber.join(next)
      yield* Scope.close(others, Exit.void)
    }).pipe(Effect.provide(turnsLayer)))

  it.effect("take turns: one with a single piece of work does not wait for all of another's", () =>
    Effect.gen(function*() {
      const { turn } = yield* ImportTurns
      const ended: Array<string> = []
      const worked = (name: string, pieces: number) =>
        Effect.andThen(
          Effect.forEach(Array.from({ length: pieces }), () => turn(Effect.yieldNow), { discard: true }),
          Effect.sync(() => ended.push(name))
        )
      yield* Effect.all([worked("large", 100), worked("larger", 200), worked("huge", 300), worked("small", 1)], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(ended, ["small", "large", "larger", "huge"])
    }).pipe(Effect.provide(turnsLayer)))

  it.effect("have the share of imports: a piece waits for it without a timeout, and is done once, also when it fails", () =>
    Effect.gen(function*() {
      const { imports } = yield* Lanes
      const { turn } = yield* ImportTurns
      const release = yield* Deferred.make<void>()
      const file = yield* Effect.forkChild(imports(Deferred.await(release)))
      yield* Effect.yieldNow
      const done: Array<string> = []
      const piece = yield* Effect.forkChild(
        Effect.flip(turn(Effect.andThen(Effect.sync(() => done.push("piece")), Effect.fail("refused"))))
      )
      yield* TestClock.adjust("1 minute")
      assert.isEmpty(done)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(file)
      assert.strictEqual(yield* Fiber.join(piece), "refused")
      assert.deepStrictEqual(done, ["piece"])
    }).pipe(Effect.provide(turnsLayer)))

  it.effect("of files have their turn beside an archive of many pieces", () =>
    Effect.gen(function*() {
      const { imports } = yield* Lanes
      const { turn } = yield* ImportTurns
      const ended: Array<string> = []
      const archive = Effect.forEach(Array.from({ length: 100 }), () => turn(Effect.yieldNow), { discard: true })
      yield* Effect.all([
        Effect.tap(archive, () => Effect.sync(() => ended.push("archive"))),
        Effect.andThen(Effect.yieldNow, imports(Effect.sync(() => ended.push("file"))))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(ended, ["file", "archive"])
    }).pipe(Effect.provide(turnsLayer)))
})

layer(TestServer.layer())("an import of an account", (it) => {
  it.effect("has the share of imports while it restores preferences", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      yield* rider.patch("/users/me", { preferences: { units: "metric" } })
      const { bytes } = yield* exported(rider)
      const sql = yield* SqlClient.SqlClient
      const importing = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`SELECT 1 FROM users WHERE id = ${heir.id} FOR UPDATE`
        const fiber = yield* Effect.forkChild(imported(heir, bytes))
        const visitor = yield* anonymous
        yield* until(
          Effect.map(visitor.get("//metrics"), ({ text }) => text.includes("bulkhead_running{class=\"imports\"} 1\n"))
        )
        return fiber
      }))
      assert.strictEqual((yield* Fiber.join(importing)).status, 201)
    }))
})
