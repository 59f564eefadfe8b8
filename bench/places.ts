import { Effect } from "effect"
import { setTimeout } from "node:timers/promises"
import type { Position } from "../src/schema/Geometry.ts"
import { Places } from "../src/services/places/Places.ts"

const LOOKUPS = 4000

const CITIES: ReadonlyArray<Position> = [
  [13.4, 52.5],
  [2.35, 48.85],
  [-74, 40.7],
  [139.7, 35.7],
  [77.2, 28.6],
  [-58.4, -34.6],
  [151.2, -33.9],
  [9.5, 47.1]
]

/** Half of them within 50 km of large cities, half anywhere. */
const positions = Array.from({ length: LOOKUPS }, (_, n): Position => {
  const [lng = 0, lat = 0] = CITIES[n % CITIES.length] ?? []
  const spread = (step: number) => (n * step) % 1
  return n % 16 < 8
    ? [lng + spread(0.618) - 0.5, lat + spread(0.414) - 0.5]
    : [360 * spread(0.618) - 180, 140 * spread(0.414) - 70]
})

const memory = async () => {
  // What was freed on the way is given back with the second collection, and the buffers of zlib a moment later.
  await setTimeout(200)
  globalThis.gc?.()
  globalThis.gc?.()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 1e6
}

await Effect.gen(function*() {
  const before = yield* Effect.promise(memory)
  const started = performance.now()
  yield* Effect.gen(function*() {
    const places = yield* Places
    yield* places.at([9.52, 47.14])
    const ready = performance.now() - started
    const after = yield* Effect.promise(memory)
    yield* Effect.forEach(positions, places.at, { discard: true })
    const began = performance.now()
    yield* Effect.forEach(positions, places.at, { discard: true })
    const each = (performance.now() - began) / LOOKUPS
    process.stdout.write(
      `${(after - before).toFixed(1)} MB, ${ready.toFixed(0)} ms until the first, ${(each * 1000).toFixed(0)} µs each\n`
    )
  }).pipe(Effect.provide(Places.layer))
}).pipe(Effect.scoped, Effect.runPromise)
