import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { listening } from "../test/support/Listening.ts"
import { readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { type Credential, signedIn } from "./session.ts"
import type { Call } from "./steady.ts"

/** A server that is compared, and what it is asked. */
export interface Target {
  readonly name: string
  readonly pid: number
  readonly read: Call
  readonly write: Call
}

const NEW_ROUTE = JSON.stringify({
  name: "A ride",
  waypoints: [{ coord: [9.5209, 47.1415] }],
  geometry: Array.from({ length: 100 }, (_, n) => [9.5 + n / 10_000, 47.1 + n / 20_000, 450])
})

const target =
  (name: string, { origin, pid }: { readonly origin: string; readonly pid: number }, id: number) =>
  (credential: Credential): Target => ({
    name,
    pid,
    read: { url: `${origin}/api/v1/routes/${id}` },
    write: {
      url: `${origin}/api/v1/routes`,
      method: "POST",
      headers: { ...credential, "content-type": "application/json" },
      body: NEW_ROUTE
    }
  })

/** The URL of what takes whatever traces it gets. */
export const traceSink = Effect.suspend(() =>
  listening(createServer((request, response) => void request.resume().on("end", () => response.end("{}"))))
).pipe(Effect.map((port) => `http://127.0.0.1:${port}`))

const service = Effect.fnUntraced(function*(url: string, settings: Readonly<Record<string, string>> = {}) {
  const started = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url, ...settings })
  yield* readyAfter(`${started.origin}/health/ready`, started.started)
  return started
})

/** A file with the response of a call. */
const recorded = Effect.fnUntraced(function*(file: string, { url, ...call }: Call) {
  const bytes = yield* Effect.promise(() => fetch(url, call).then((response) => response.arrayBuffer()))
  yield* Effect.promise(() => writeFile(file, new Uint8Array(bytes)))
  return file
})

/** Ours in its kinds, the peer and the least there is, all on one database and all running at once. */
export const targets = Effect.fnUntraced(function*(url: string, directory: string) {
  const one = yield* service(url)
  const id = (yield* seed(url)) ?? 0
  const credential = yield* signedIn(one.origin, "bench@example.com")
  const traced = yield* service(url, {
    OTEL_EXPORTER_OTLP_ENDPOINT: yield* traceSink,
    OTEL_TRACES_SAMPLER: "always_on"
  })
  const peer = yield* running("bench/peer.ts", { DATABASE_URL: url })
  yield* readyAfter(`${peer.origin}/api/v1/routes/${id}`, peer.started)
  const ours = target("one process", one, id)(credential)
  const bare = yield* running("bench/bare.ts", {
    READ_ANSWER: yield* recorded(join(directory, "read.json"), ours.read),
    WRITE_ANSWER: yield* recorded(join(directory, "write.json"), ours.write)
  })
  yield* readyAfter(bare.origin, bare.started)
  return [
    ours,
    target("every request traced", traced, id)(credential),
    target("Fastify + `pg`", peer, id)(credential),
    target("bare `node:http`, same bytes", bare, id)(credential)
  ]
})
