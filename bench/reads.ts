import autocannon from "autocannon"
import { Effect } from "effect"

const SECONDS = 5
const CONNECTIONS = 20
const ROUNDS = 3

const load = (url: string) =>
  Effect.promise(() => autocannon({ url, connections: CONNECTIONS, duration: SECONDS })).pipe(
    Effect.filterOrElse(
      ({ non2xx, errors }) => non2xx === 0 && errors === 0,
      ({ errors, non2xx }) => Effect.die(new Error(`${url}: ${non2xx} answers were not 2xx, ${errors} errors`))
    ),
    Effect.map(({ latency, requests }) => ({ rate: requests.average, p99: latency.p99 }))
  )

const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Requests a second of both, in turns on the same machine; the ratio is the median of the rounds' ratios. */
export const compareReads = Effect.fnUntraced(function*(ours: string, peer: string) {
  yield* Effect.forEach([ours, peer], load)
  const rounds = yield* Effect.forEach(
    Array.from({ length: ROUNDS }),
    () => Effect.all({ ours: load(ours), peer: load(peer) })
  )
  return {
    ours: median(rounds.map(({ ours }) => ours.rate)),
    peer: median(rounds.map(({ peer }) => peer.rate)),
    p99: median(rounds.map(({ ours }) => ours.p99)),
    ratio: median(rounds.map(({ ours, peer }) => ours.rate / peer.rate))
  }
})
