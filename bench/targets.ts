import { Effect, Schema } from "effect"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import type { Call } from "./steady.ts"

/** A server that is compared, and what it is asked. */
export interface Target {
  readonly name: string
  readonly pid: number
  readonly read: Call
  readonly write: Call
}

const Session = Schema.Struct({ accessToken: Schema.String })

const signIn = (origin: string) =>
  Effect.promise(() =>
    fetch(`${origin}/api/v1/auth/login-email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "bench@example.com", password: "a long enough password" })
    }).then((response) => response.json())
  ).pipe(Effect.map((body) => Schema.decodeUnknownSync(Session)(body).accessToken))

const NEW_ROUTE = JSON.stringify({
  name: "A ride",
  waypoints: [{ coord: [9.5209, 47.1415] }],
  geometry: Array.from({ length: 100 }, (_, n) => [9.5 + n / 10_000, 47.1 + n / 20_000, 450])
})

const target =
  (name: string, { origin, pid }: { readonly origin: string; readonly pid: number }, id: number) =>
  (authorization: string): Target => ({
    name,
    pid,
    read: { url: `${origin}/api/v1/routes/${id}` },
    write: {
      url: `${origin}/api/v1/routes`,
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: NEW_ROUTE
    }
  })

/** Takes whatever traces it gets. */
export const traceSink = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.end("{}"))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = address === null || typeof address === "string" ? 0 : address.port
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const service = Effect.fnUntraced(function*(url: string, settings: Readonly<Record<string, string>> = {}) {
  const started = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url, ...settings })
  yield* readyAfter(`${started.origin}/health/ready`, started.started)
  return started
})

/** A file with what a call is answered. */
const recorded = Effect.fnUntraced(function*(file: string, { url, ...call }: Call) {
  const bytes = yield* Effect.promise(() => fetch(url, call).then((response) => response.arrayBuffer()))
  yield* Effect.promise(() => writeFile(file, new Uint8Array(bytes)))
  return file
})

/** Ours in its kinds, the peer and the least there is, all on one database and all running at once. */
export const targets = Effect.fnUntraced(function*(url: string, directory: string) {
  const one = yield* service(url)
  const id = (yield* seed(url)) ?? 0
  const authorization = `Bearer ${yield* signIn(one.origin)}`
  const two = yield* service(url, { WORKERS: "2" })
  const traced = yield* service(url, {
    OTEL_EXPORTER_OTLP_ENDPOINT: (yield* traceSink).url,
    OTEL_TRACES_SAMPLER: "always_on"
  })
  const peer = yield* running("bench/peer.ts", { DATABASE_URL: url })
  yield* readyAfter(`${peer.origin}/api/v1/routes/${id}`, peer.started)
  const ours = target("one process", one, id)(authorization)
  const bare = yield* running("bench/bare.ts", {
    READ_ANSWER: yield* recorded(join(directory, "read.json"), ours.read),
    WRITE_ANSWER: yield* recorded(join(directory, "write.json"), ours.write)
  })
  yield* readyAfter(bare.origin, bare.started)
  return [
    ours,
    target("every request traced", traced, id)(authorization),
    target("`WORKERS=2`", two, id)(authorization),
    target("Fastify + `pg`", peer, id)(authorization),
    target("bare `node:http`, same bytes", bare, id)(authorization)
  ]
})
