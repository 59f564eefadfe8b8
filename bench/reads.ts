import autocannon from "autocannon"
import { Effect } from "effect"
import { median } from "./statistics.ts"

const SECONDS = 5
const CONNECTIONS = 20
const ROUNDS = 3

const load = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.promise(() => autocannon({ url, headers, connections: CONNECTIONS, duration: SECONDS })).pipe(
    Effect.filterOrElse(
      ({ non2xx, errors }) => non2xx === 0 && errors === 0,
      ({ errors, non2xx }) => Effect.die(new Error(`${url}: ${non2xx} answers were not 2xx, ${errors} errors`))
    ),
    Effect.map(({ latency, requests }) => ({ rate: requests.average, p99: latency.p99 }))
  )

/** Requests a second of both, in turns on the same machine; the ratio is the median of the rounds' ratios. */
export const compareReads = Effect.fnUntraced(function*(
  ours: string,
  peer: string,
  { headers = {}, count = ROUNDS }: { readonly headers?: Readonly<Record<string, string>>; readonly count?: number } =
    {}
) {
  yield* Effect.forEach([ours, peer], (url) => load(url, headers))
  const rounds = yield* Effect.forEach(
    Array.from({ length: count }),
    () => Effect.all({ ours: load(ours, headers), peer: load(peer, headers) })
  )
  return {
    ours: median(rounds.map(({ ours }) => ours.rate)),
    peer: median(rounds.map(({ peer }) => peer.rate)),
    p99: median(rounds.map(({ ours }) => ours.p99)),
    ratio: median(rounds.map(({ ours, peer }) => ours.rate / peer.rate))
  }
})
