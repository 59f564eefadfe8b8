import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { ZipImportLine } from "../../src/schema/ZipImport.ts"
import { type Actor, type Rider, signedIn, withHeaders } from "../support/Actors.ts"
import { zipped } from "../support/Archives.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const gpx = (n: number) =>
  `<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Ride ${n}</name><trkseg>`
  + `<trkpt lat="4${n}" lon="9.5"/><trkpt lat="4${n}.01" lon="9.51"/></trkseg></trk></gpx>`

const RIDES = zipped([1, 2, 3, 4, 5].map((n) => [`${n}.gpx`, gpx(n)] as const))

const decodeLines = Schema.decodeUnknownSync(Schema.Array(Schema.fromJsonString(ZipImportLine)))

const linesOf = (rider: Actor) =>
  Effect.gen(function*() {
    const { status, text } = yield* rider.post("/users/me/import", undefined, {
      raw: Uint8Array.from(yield* RIDES),
      headers: { "content-type": "application/zip" }
    })
    assert.strictEqual(status, 200, text)
    return decodeLines(text.trim().split("\n"))
  })

const outcomesOf = (lines: ReadonlyArray<ZipImportLine>) => lines.map(({ outcome }) => outcome)

/** Runs a statement in the middle of an import, before the third ride is stored. */
const atThird = (body: string) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.andThen(
      sql.unsafe(
        `CREATE FUNCTION at_third() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NEW; END $$`
      ),
      sql`
        CREATE TRIGGER at_third BEFORE INSERT ON routes
        FOR EACH ROW WHEN (NEW.name = 'Ride 3') EXECUTE FUNCTION at_third()`
    )
  )

/** Sends the rides and returns as soon as the line is there that says why the import stopped. */
const untilStopped = async (url: string, { cookie }: Rider, body: Uint8Array<ArrayBuffer>) => {
  const headers = { cookie, "content-type": "application/zip" }
  const response = await fetch(url, { method: "POST", body, headers })
  const decoder = new TextDecoderStream()
  let text = ""
  for await (const chunk of response.body?.pipeThrough(decoder) ?? []) {
    text += chunk
    if (text.includes("\"stopped\"")) break
  }
  return { status: response.status, text }
}

const goneOn = Effect.fnUntraced(function*(rider: Actor, there: number) {
  const again = yield* linesOf(rider)
  const outcomes = [...Array(there).fill("duplicate"), ...Array(5 - there).fill("imported")]
  assert.deepStrictEqual(outcomesOf(again), ["begun", ...outcomes, "ended"])
  assert.deepInclude(again.at(-1), { imported: 5 - there, duplicates: there, skipped: 0 })
})

it.live(
  "an import ends with a reason when the database takes no more writes, and goes on when it is sent again",
  () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      yield* atThird("RAISE EXCEPTION 'cannot execute INSERT in a read-only transaction' USING ERRCODE = '25006'")
      const lines = yield* linesOf(rider)
      assert.deepStrictEqual(outcomesOf(lines), ["begun", "imported", "imported", "stopped"])
      assert.deepInclude(lines.at(-1), {
        statusCode: 503,
        message: "The database takes no writes at the moment"
      })
      yield* sql`DROP FUNCTION at_third() CASCADE`
      yield* goneOn(rider, 2)
    }).pipe(Effect.provide(TestServer.layer()))
)

it.live(
  "an import may be sent again as soon as the line is there that says why it stopped",
  () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const rides = Uint8Array.from(yield* RIDES)
      yield* atThird("RAISE EXCEPTION 'cannot execute INSERT in a read-only transaction' USING ERRCODE = '25006'")
      for (let time = 0; time < 40; time++) {
        const { status, text } = yield* Effect.promise(() =>
          untilStopped(`${origin}/api/v1/users/me/import`, rider, rides)
        )
        assert.strictEqual(status, 200, text)
      }
    }).pipe(Effect.provide(TestServer.layer()))
)

it.live(
  "an import ends with a reason at SIGTERM to its process, and goes on when it is sent to another",
  () =>
    Effect.gen(function*() {
      const url = yield* clonedDatabase
      const ending = yield* Scope.make()
      const first = yield* Layer.buildWithScope(Layer.fresh(TestServer.on(url, {})), ending)
      const rider = yield* Effect.provideContext(signedIn, first)
      yield* Effect.gen(function*() {
        yield* atThird("PERFORM pg_advisory_xact_lock_shared(3)")
        const { ends, lines } = yield* whileLocked(
          (sql) => sql`SELECT pg_advisory_xact_lock(3)`,
          Effect.gen(function*() {
            const lines = yield* Effect.forkChild(linesOf(rider))
            yield* untilLocked(1)
            const ends = yield* Effect.forkChild(Scope.close(ending, Exit.void))
            yield* until(
              Effect.map(Effect.exit(rider.get("//health/ready")), (exit) =>
                Exit.isFailure(exit) || exit.value.status === 503)
            )
            return { ends, lines }
          })
        )
        const received = yield* Fiber.join(lines)
        yield* Fiber.join(ends)
        assert.deepStrictEqual(outcomesOf(received), ["begun", "imported", "imported", "imported", "stopped"])
        assert.deepInclude(received.at(-1), { statusCode: 503, message: "The service is shutting down" })
        yield* goneOn(yield* withHeaders({ cookie: rider.cookie }), 3)
      }).pipe(Effect.provide(Layer.fresh(TestServer.on(url, {}))))
    }).pipe(Effect.scoped)
)
