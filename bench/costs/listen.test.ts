import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { inject } from "vitest"
import { signedIn } from "../../test/support/Actors.ts"
import { clonedDatabase, onServer } from "../../test/support/Databases.ts"
import { hasPooler, pooled, pooler } from "../../test/support/Pooler.ts"
import { created, newRoute } from "../../test/support/Routes.ts"
import { TestServer } from "../../test/support/TestServer.ts"
import { until } from "../../test/support/Waiting.ts"
import { median, quantile } from "../statistics.ts"

const ROUNDS = 30

const MAX_MILLISECONDS = 100

const onPooler = Layer.unwrap(Effect.gen(function*() {
  const url = yield* clonedDatabase
  const settings = pooled(url, yield* pooler(inject("postgresUrl")))
  return TestServer.on(settings.DATABASE_URL, settings)
}))

const cursorIn = Schema.decodeUnknownSync(Schema.Struct({ cursor: Schema.String }))

// The figure is printed by `npm run bench:costs -- bench/costs/listen.test.ts --silent=false`.
it.live.skipIf(!hasPooler)(
  "a pooler of transactions that LISTEN goes past shows a waiting request what was changed in less than 100 ms (skipped "
    + "where Debian's package pgbouncer is not installed)",
  () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      const shownAfter = Effect.fnUntraced(function*(name: string) {
        const { cursor } = cursorIn((yield* rider.get("/sync")).body)
        const waiting = yield* Effect.forkChild(
          Effect.map(rider.get(`/sync?cursor=${cursor}&wait=20`), ({ text }) => ({ text, at: performance.now() }))
        )
        yield* until(Effect.map(
          onServer((sql) => sql`SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`),
          (rows) => rows.length > 0
        ))
        yield* Effect.sleep("200 millis")
        assert.strictEqual((yield* rider.patch(`/routes/${id}`, { name })).status, 200)
        const acknowledged = performance.now()
        const { at, text } = yield* Fiber.join(waiting)
        assert.include(text, name)
        return Math.max(0, at - acknowledged)
      })
      const names = Array.from({ length: ROUNDS }, (_, round) => `Change ${round}`)
      const times = yield* Effect.forEach(names, shownAfter)
      yield* Effect.log(
        `a change was shown ${median(times).toFixed(1)} ms after its response by the median of ${ROUNDS}, `
          + `${quantile(times, 1).toFixed(1)} ms at most`
      )
      assert.isBelow(median(times), MAX_MILLISECONDS)
    }).pipe(Effect.provide(onPooler), Effect.scoped),
  600_000
)
