import { Effect, Schema } from "effect"
import { constants, setPriority } from "node:os"
import { type RedisMode, StandInRedis } from "../test/support/StandInRedis.ts"
import { Behaviour, type Report } from "./neighbour.ts"

/** A Redis, as the process of `neighbour.ts`: its behaviours are messages. */

const report = (value: typeof Report.Type) => process.send?.(value)

const MODES: Readonly<Record<Exclude<Behaviour, "refuse">, RedisMode>> = {
  normal: "serve",
  hang: "hang",
  fail: "wrong",
  drip: "drip",
  garbage: "garbage",
  endless: "endless"
}

const take = Effect.fnUntraced(function*(behaviour: Behaviour) {
  const redis = yield* StandInRedis
  if (behaviour === "refuse") return yield* redis.down
  yield* redis.become(MODES[behaviour])
  yield* redis.up
})

// Elsewhere it is another machine: it has only what the service and PostgreSQL leave of this one.
setPriority(constants.priority.PRIORITY_LOW)

process.once("disconnect", () => process.exit())

await Effect.gen(function*() {
  const context = yield* Effect.context<StandInRedis>()
  process.on("message", async (message) => {
    const behaviour = Schema.decodeUnknownSync(Behaviour)(message)
    await Effect.runPromiseWith(context)(take(behaviour))
    report({ behaviour })
  })
  report({ url: (yield* StandInRedis).url })
  return yield* Effect.never
}).pipe(Effect.provide(StandInRedis.layer), Effect.scoped, Effect.runPromise)
