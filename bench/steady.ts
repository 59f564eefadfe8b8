import { Effect } from "effect"
import { Agent, request } from "node:http"
import { setTimeout } from "node:timers/promises"
import { P99, quantile } from "./statistics.ts"

/** A request that is asked again and again. */
export interface Call {
  readonly url: string
  readonly method?: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

const answered = (agent: Agent, { body, headers = {}, method = "GET", url }: Call) =>
  new Promise<void>((resolve, reject) => {
    request(url, { agent, method, headers }, (response) => {
      const { statusCode = 0 } = response
      response.resume()
        .on("error", reject)
        .on("end", () => statusCode < 300 ? resolve() : reject(new Error(`${url}: ${statusCode}`)))
    }).on("error", reject).end(body)
  })

/**
 * The p99 in milliseconds at so many requests a second, evenly spaced, however long the responses take: each is timed from
 * when it was due. (The `overallRate` of autocannon sends the requests of each second in one burst.)
 */
export const steadyP99 = (call: Call, rate: number, connections: number, seconds: number) =>
  Effect.promise(async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    const started = performance.now()
    const times: Array<number> = []
    const answers: Array<Promise<unknown>> = []
    while (answers.length < rate * seconds) {
      const due = started + answers.length * 1000 / rate
      const early = due - performance.now()
      if (early > 0) await setTimeout(early)
      else answers.push(answered(agent, call).then(() => times.push(performance.now() - due)))
    }
    await Promise.all(answers)
    agent.destroy()
    return quantile(times, P99)
  })
