import { Duration, Effect } from "effect"
import { TOWN } from "../test/support/Town.ts"

/** How long a refused client waits without Retry-After. */
export const PAUSE = Duration.seconds(1)

/** How many responses of each status there were, and how many calls had none in the end. */
interface Spread {
  readonly answers: ReadonlyMap<number, number>
  readonly unanswered: number
}

interface Crowd {
  readonly origin: string
  readonly callers: number
  readonly seconds: number
}

/** A start of its own for each call, so that every one goes to the engine. */
export const startOf = (n: number) => ({ lat: TOWN.busyWest.lat + n / 1e7, lon: TOWN.busyWest.lon })

const asked = (origin: string, n: number) =>
  Effect.promise(async (signal) => {
    const locations = [startOf(n), TOWN.busyEast]
    const response = await fetch(`${origin}/api/v1/routing/route`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ activity: "cycle", preferences: {}, locations }),
      signal
    })
    await response.arrayBuffer()
    return response
  })

const pauseAfter = ({ headers, ok }: Response) => {
  if (ok) return Duration.zero
  const wanted = headers.get("retry-after")
  return wanted === null ? PAUSE : Duration.seconds(Number(wanted))
}

/**
 * Callers who ask for a route again and again, each call for one of its own, since calls for the same are one to
 * the engine. Who gets none pauses as long as `Retry-After` says, or a second; who still waits when the time is over
 * hangs up. They come one after the other, over a second: clients that know nothing of each other do not call in step with
 * them.
 */
export const crowd = Effect.fnUntraced(function*({ callers, origin, seconds }: Crowd) {
  const answers = new Map<number, number>()
  let calls = 0
  const call = Effect.gen(function*() {
    const response = yield* asked(origin, calls++)
    answers.set(response.status, (answers.get(response.status) ?? 0) + 1)
    yield* Effect.sleep(pauseAfter(response))
  })
  const everybody = Array.from(
    { length: callers },
    (_, n) => Effect.delay(Effect.forever(call), Duration.times(PAUSE, n / callers))
  )
  yield* Effect.all(everybody, { concurrency: "unbounded", discard: true }).pipe(
    Effect.timeoutOption(Duration.seconds(seconds))
  )
  const answered = [...answers.values()].reduce((sum, count) => sum + count, 0)
  return { answers, unanswered: calls - answered }
})

/** As one prints it: `504: 32, 503: 1200, unanswered: 96`. */
export const printed = ({ answers, unanswered }: Spread) =>
  [...answers.entries(), ["unanswered", unanswered] as const].map(([status, count]) => `${status}: ${count}`).join(", ")
