import autocannon from "autocannon"
import { Effect } from "effect"
import { PASSWORD } from "./session.ts"
import { median } from "./statistics.ts"

const TRIES = 500

const post = (origin: string, path: string, body: object) =>
  Effect.promise(() =>
    fetch(`${origin}/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    }).then((response) => response.text())
  )

const timed = (origin: string, email: string) =>
  Effect.gen(function*() {
    const started = performance.now()
    yield* post(origin, "/auth/login-email", { email, password: `${PASSWORD}, but wrong` })
    return performance.now() - started
  })

/** Median milliseconds of refused sign-ins, the three kinds in turns. */
export const compareSignIns = Effect.fnUntraced(function*(origin: string, known: string, providerOnly: string) {
  const times: Record<string, Array<number>> = { unknown: [], wrong: [], providerOnly: [] }
  for (let n = 0; n < TRIES; n++) {
    times["unknown"]?.push(yield* timed(origin, `nobody-${n}@example.com`))
    times["wrong"]?.push(yield* timed(origin, known))
    times["providerOnly"]?.push(yield* timed(origin, providerOnly))
  }
  return Object.fromEntries(Object.entries(times).map(([kind, values]) => [kind, median(values)]))
})

const SECONDS = 6

const readsAt = (url: string) =>
  Effect.promise(() => autocannon({ url, connections: 4, duration: SECONDS })).pipe(
    Effect.map(({ latency }) => latency.p99)
  )

const flood = (origin: string) =>
  Effect.promise(() =>
    autocannon({
      url: `${origin}/api/v1/auth/login-email`,
      connections: 50,
      duration: SECONDS + 1,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "bench@example.com", password: PASSWORD })
    })
  ).pipe(Effect.map(({ requests }) => requests.average))

/** p99 of a read in milliseconds, idle and beside as many sign-ins as the machine takes. */
export const readsBesideSignIns = Effect.fnUntraced(function*(origin: string, path: string) {
  const idle = yield* readsAt(origin + path)
  const [signIns, flooded] = yield* Effect.all([flood(origin), readsAt(origin + path)], { concurrency: 2 })
  return { idle, flooded, signIns }
})
