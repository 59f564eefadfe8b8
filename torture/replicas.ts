import { Effect } from "effect"
import type { Keeper } from "./keeper.ts"
import { service } from "./service.ts"

const DRAIN = "1 second"

/** So many processes on the database at an address, started at one instant. */
export const started = Effect.fnUntraced(function*(
  keeper: Keeper,
  url: string,
  count: number,
  env: Readonly<Record<string, string>> = {}
) {
  const settings = { DATABASE_URL: url, SHUTDOWN_DRAIN_DELAY: DRAIN, ...env }
  const all = yield* Effect.forEach(Array.from({ length: count }), () => service(keeper, settings))
  yield* Effect.forEach(all, (one) => one.spawn)
  const ready = yield* Effect.forEach(all, (one) => one.ready, { concurrency: "unbounded" })
  return { all, areReady: ready.every((is) => is) }
})
