import { Effect } from "effect"
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import { listening } from "./Listening.ts"

const LOOK_INTERVAL = 100

interface Backend {
  readonly origin: string
  readonly agent: Agent
}

const isReady = ({ agent, origin }: Backend) =>
  new Promise<boolean>((resolve) => {
    const probe = request(`${origin}/health/ready`, { agent, timeout: 1000 }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode === 200))
    })
    probe.on("error", () => resolve(false)).end()
  })

const pass = (backend: Backend, incoming: IncomingMessage, outgoing: ServerResponse) => {
  const url = new URL(incoming.url ?? "/", backend.origin)
  const forwarded = request(url, { agent: backend.agent, method: incoming.method, headers: incoming.headers })
  forwarded.on("response", (answer) => {
    // This header is about the connection to the backend only; the front keeps its other connection.
    const { connection: _, ...headers } = answer.headers
    outgoing.writeHead(answer.statusCode ?? 502, headers)
    answer.pipe(outgoing)
  })
  forwarded.on("error", (error) => outgoing.writeHead(502).end(`${backend.origin}: ${error.message}`))
  incoming.pipe(forwarded)
}

const looking = (backend: Backend, ready: Set<Backend>) =>
  setInterval(() => {
    void isReady(backend).then((is) => is ? ready.add(backend) : ready.delete(backend))
  }, LOOK_INTERVAL)

/**
 * Starts a front as operators have it, and returns its address. It keeps its connections, checks every 100 ms which
 * backends are ready, sends each request to a ready one, and retries nothing.
 */
export const front = Effect.fnUntraced(function*(origins: ReadonlyArray<string>) {
  const backends = origins.map((origin) => ({ origin, agent: new Agent({ keepAlive: true }) }))
  const ready = new Set<Backend>(backends)
  const turns = { taken: 0 }
  // The clients run on a busy machine, where a connection may be used just when it is closed.
  const server: Server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    const backend = [...ready][turns.taken++ % Math.max(ready.size, 1)]
    if (backend === undefined) return void outgoing.writeHead(502).end("nobody is ready")
    return pass(backend, incoming, outgoing)
  })
  const port = yield* listening(server)
  yield* Effect.acquireRelease(
    Effect.sync(() => backends.map((one) => looking(one, ready))),
    (timers) =>
      Effect.sync(() => {
        timers.forEach(clearInterval)
        backends.forEach(({ agent }) => agent.destroy())
      })
  )
  return { origin: `http://127.0.0.1:${port}`, readyCount: Effect.sync(() => ready.size) }
})
