import { Effect } from "effect"
import { Agent, get } from "node:http"
import type { Credential } from "./session.ts"
import { median, P99, quantile } from "./statistics.ts"

/** One request: its URL and its caller. */
export interface Call {
  readonly url: string
  readonly headers?: Credential
}

const REQUESTS = 300

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Reads a response to its end; dies of one that is not 2xx. */
const answered = ({ headers, url }: Call) =>
  Effect.promise(() =>
    new Promise<number>((resolve, reject) => {
      get(url, { agent, ...(headers === undefined ? {} : { headers }) }, (response) => {
        let bytes = 0
        response.on("data", (chunk: Buffer) => (bytes += chunk.length))
        response.on(
          "end",
          () => response.statusCode === 200 ? resolve(bytes) : reject(new Error(`${url}: ${response.statusCode}`))
        )
      }).on("error", reject)
    })
  )

const timed = Effect.fnUntraced(function*(call: Call) {
  const started = performance.now()
  yield* answered(call)
  return performance.now() - started
})

/** The median and the p99 in milliseconds of 300 requests one after the other, the calls in turns. */
export const latencyOf = Effect.fnUntraced(function*(calls: ReadonlyArray<Call>) {
  const turns = Array.from({ length: REQUESTS }, (_, n) => calls[n % calls.length]).filter((call) => call !== undefined)
  const times = yield* Effect.forEach(turns, timed)
  return { p50: median(times), p99: quantile(times, P99) }
})

/** Mean size of the responses in KiB. */
export const sizeOf = (calls: ReadonlyArray<Call>) =>
  Effect.forEach(calls, answered).pipe(
    Effect.map((sizes) => sizes.reduce((sum, size) => sum + size, 0) / sizes.length / 1024)
  )
