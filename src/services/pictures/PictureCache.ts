import { Effect, Fiber, Metric } from "effect"
import { LRUCache } from "lru-cache"
import { counterBy } from "../metrics/Counters.ts"
import { settings } from "../settings/Registry.ts"

const kept = Metric.gauge("picture_cache_bytes", { description: "Bytes of pictures kept in memory" })

const outcomeOf = counterBy<"kept" | "joined" | "made">(
  "pictures_total",
  "outcome",
  "Requests for pictures, by whether one was kept, was being made, or had to be made"
)

const OUTCOMES = { kept: outcomeOf("kept"), joined: outcomeOf("joined"), made: outcomeOf("made") }

interface MadePicture {
  readonly bytes: Uint8Array
  /** Whether it may be kept. */
  readonly isCurrent: boolean
}

/**
 * Keeps pictures by their keys; the least recently used leave beyond `PICTURE_CACHE_BYTES`. Equal requests at once are one
 * piece of work, in a fiber of its own, so that a client that leaves ends the work of no other.
 */
export const makePictureCache = <E>() =>
  Effect.gen(function*() {
    const maxSize = yield* settings.PICTURE_CACHE_BYTES
    const scope = yield* Effect.scope
    const pictures = new LRUCache<string, Uint8Array>({ maxSize, sizeCalculation: ({ byteLength }) => byteLength + 1 })
    const running = new Map<string, Fiber.Fiber<Uint8Array, E>>()
    yield* Effect.forEach(Object.values(OUTCOMES), (outcome) => Metric.update(outcome, 0))
    yield* Metric.update(kept, 0)

    const madeAndKept = (key: string, made: Effect.Effect<MadePicture, E>) =>
      made.pipe(
        Effect.tap(({ bytes, isCurrent }) => {
          if (isCurrent) pictures.set(key, bytes)
          return Metric.update(kept, pictures.calculatedSize)
        }),
        Effect.map(({ bytes }) => bytes),
        Effect.ensuring(Effect.sync(() => running.delete(key)))
      )

    return Effect.fnUntraced(function*(key: string, made: Effect.Effect<MadePicture, E>) {
      const picture = pictures.get(key)
      if (picture !== undefined) {
        yield* Metric.update(OUTCOMES.kept, 1)
        return picture
      }
      const other = running.get(key)
      yield* Metric.update(other === undefined ? OUTCOMES.made : OUTCOMES.joined, 1)
      if (other !== undefined) return yield* Fiber.join(other)
      const fiber = yield* Effect.forkIn(madeAndKept(key, made), scope)
      // A fiber that has ended already would stay in the map.
      if (fiber.pollUnsafe() === undefined) running.set(key, fiber)
      return yield* Fiber.join(fiber)
    })
  })
