import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Redacted, Schema } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { processorTime, readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { signedIn } from "./session.ts"
import { median } from "./statistics.ts"

const POSITIONS = [200, 5000, 100_000]

/** Others than this in size are other pictures: each is made once. */
const SIZES = 40

const KEPT = 300

const ride = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const turn = (index / count) * 6
    return [
      9.5 + 0.3 * Math.cos(turn) + 0.01 * Math.sin(turn * 15),
      47.1 + 0.12 * Math.sin(turn) + 0.005 * Math.cos(turn * 21),
      Math.round(5000 + 4000 * Math.sin(turn) + 300 * Math.sin(turn * 7)) / 10
    ]
  })

const decodeRoute = Schema.decodeUnknownSync(Schema.Struct({ shareToken: Schema.String }))

interface Server {
  readonly origin: string
  readonly pid: number
}

const bytesOf = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url)
    const { byteLength } = await response.arrayBuffer()
    return response.ok ? byteLength : Promise.reject(new Error(`${url}: ${response.status}`))
  })

const timeOf = Effect.fnUntraced(function*(url: string) {
  const started = performance.now()
  yield* bytesOf(url)
  return performance.now() - started
})

/** The median time, and the processor time of each, in milliseconds. */
const costOf = Effect.fnUntraced(function*({ pid }: Server, urls: ReadonlyArray<string>) {
  const before = yield* processorTime(pid)
  const times = yield* Effect.forEach(urls, timeOf)
  const processor = ((yield* processorTime(pid)) - before) / urls.length
  return { time: median(times), processor }
})

const said = ({ processor, time }: { readonly processor: number; readonly time: number }) =>
  `${time.toFixed(1)} ms, ${processor.toFixed(1)} ms of processor time`

const pictures = Effect.fnUntraced(function*(server: Server, token: string, positions: number) {
  for (const format of ["svg", "png"]) {
    const url = (height: number) =>
      `${server.origin}/api/v1/routes/${token}/picture.${format}?profile=true&width=800&height=${height}`
    yield* bytesOf(url(499))
    const made = yield* costOf(server, Array.from({ length: SIZES }, (_, index) => url(500 + index)))
    const kept = yield* costOf(server, Array.from({ length: KEPT }, () => url(500 + SIZES - 1)))
    const bytes = yield* bytesOf(url(500 + SIZES - 1))
    yield* Console.log(`${format} of ${positions} positions, ${bytes} B: made ${said(made)}; kept ${said(kept)}`)
  }
})

/** What a desktop browser requests: the page, its stylesheet and one of its pictures. */
const page = Effect.fnUntraced(function*(server: Server, token: string) {
  const url = `${server.origin}/r/${token}`
  const text = yield* Effect.promise(() => fetch(url).then((response) => response.text()))
  const parts = [/<link rel="stylesheet" href="([^"]+)"/, /<img src="([^"]+)"/].map((part) =>
    new URL((part.exec(text)?.[1] ?? "").replaceAll("&amp;", "&"), url).href
  )
  const sizes = yield* Effect.forEach([url, ...parts], bytesOf)
  yield* Console.log(
    `a shared page: ${sizes.length} requests, ${sizes.join(" + ")} B; the page itself ${
      said(yield* costOf(server, Array.from({ length: KEPT }, () => url)))
    }`
  )
})

const figures = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const { origin, pid, started } = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url })
  yield* readyAfter(`${origin}/health/ready`, started)
  yield* seed(url)
  const credential = yield* signedIn(origin, "bench@example.com")
  const server = { origin, pid }
  for (const positions of POSITIONS) {
    const { shareToken } = yield* Effect.promise(async () => {
      const response = await fetch(`${origin}/api/v1/routes`, {
        method: "POST",
        headers: { ...credential, "content-type": "application/json" },
        body: JSON.stringify({
          name: "A ride",
          visibility: "unlisted",
          waypoints: [{ coord: [9.5, 47.1] }],
          geometry: ride(positions)
        })
      })
      return decodeRoute(await response.json())
    })
    yield* pictures(server, shareToken, positions)
    if (positions === POSITIONS[1]) yield* page(server, shareToken)
  }
})

NodeRuntime.runMain(Effect.scoped(figures))
