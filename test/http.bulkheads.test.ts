import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, signedIn } from "./support/Actors.ts"
import { TestServer } from "./support/TestServer.ts"
import { until } from "./support/Waiting.ts"

/** The share of lists in a pool of ten connections. */
const LISTS_AT_ONCE = 3

const figureOf = (name: string) =>
  Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")).pipe(
    Effect.map(({ text }) => Number(new RegExp(`^${name}\\{class="lists"\\} (\\d+)$`, "m").exec(text)?.[1]))
  )

layer(TestServer.layer())("lists that take long", (it) => {
  it.effect("leave connections to everybody else, and those that queue for 2 seconds are 503 with Retry-After", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`LOCK TABLE routes IN ACCESS EXCLUSIVE MODE`
        const lists = yield* Effect.forkChild(Effect.all(
          Array.from({ length: 2 * LISTS_AT_ONCE }, () => visitor.get("/routes/public")),
          { concurrency: "unbounded" }
        ))
        yield* until(Effect.map(figureOf("bulkhead_waiting"), (waiting) => waiting === LISTS_AT_ONCE))
        assert.strictEqual(yield* figureOf("bulkhead_running"), LISTS_AT_ONCE)
        assert.strictEqual((yield* rider.get("/me/sessions")).status, 200)
        yield* TestClock.adjust("2 seconds")
        yield* until(Effect.map(figureOf("bulkhead_waiting"), (waiting) => waiting === 0))
        return lists
      })).pipe(
        Effect.flatMap(Fiber.join),
        Effect.tap((answers) =>
          Effect.sync(() => {
            const refused = answers.filter(({ status }) => status === 503)
            assert.strictEqual(answers.filter(({ status }) => status === 200).length, LISTS_AT_ONCE)
            assert.strictEqual(refused.length, LISTS_AT_ONCE)
            for (const { body, headers } of refused) {
              assert.strictEqual(headers.get("retry-after"), "2")
              assert.deepInclude(body, { code: "INTERNAL", message: "Too many lists are being read: try again" })
            }
          })
        )
      )
      assert.strictEqual((yield* visitor.get("/routes/public")).status, 200)
      yield* until(Effect.map(figureOf("bulkhead_running"), (running) => running === 0))
    }))
})
