import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import { closed, listening } from "../test/support/Listening.ts"

/** How another service behaves; `refuse` takes no connections, `endless` is a body without an end. */
export const FAILURES = ["hang", "fail", "drip", "garbage", "endless", "refuse"] as const

export type Behaviour = "normal" | (typeof FAILURES)[number]

/** The body of a response, from a request and its body, while it works. */
export type Answering = (request: IncomingMessage, body: string) => unknown

export interface Neighbour {
  readonly url: string
  readonly become: (behaviour: Behaviour) => Effect.Effect<void>
}

const CHUNK = "x".repeat(16_384)

const endless = async (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "application/json" })
  while (!response.destroyed) {
    if (!response.write(CHUNK)) {
      await Promise.race([new Promise((drained) => response.once("drain", drained)), pause(200)])
    }
  }
}

const drip = async (response: ServerResponse, body: string) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": String(body.length) })
  for (const character of body) {
    if (response.destroyed) return
    response.write(character)
    await pause(1000)
  }
  response.end()
}

const behave = async (behaviour: Behaviour, response: ServerResponse, body: string) => {
  if (behaviour === "hang") return undefined
  if (behaviour === "drip") return drip(response, body)
  if (behaviour === "endless") return endless(response)
  if (behaviour === "garbage") {
    return void response.writeHead(200, { "content-type": "application/json" }).end("<{\u0000")
  }
  if (behaviour === "fail") return void response.writeHead(500).end("{}")
  return void response.writeHead(200, { "content-type": "application/json" }).end(body)
}

/** Another service on the loopback interface, which works at first. The requests that it gets count whatever its behaviour. */
export const neighbour = Effect.fnUntraced(function*(answer: Answering) {
  const state: { behaviour: Behaviour } = { behaviour: "normal" }
  const server = createServer(async (request, response) => {
    try {
      const body = JSON.stringify(answer(request, await text(request)))
      await behave(state.behaviour, response, body)
    } catch {
      response.destroy()
    }
  })
  server.on("connection", (socket) => state.behaviour === "refuse" && socket.resetAndDestroy())
  const port = yield* listening(server)
  yield* Effect.addFinalizer(() => closed(server))
  const made: Neighbour = {
    url: `http://127.0.0.1:${port}`,
    become: (behaviour) =>
      Effect.sync(() => {
        state.behaviour = behaviour
        server.closeAllConnections()
      })
  }
  return made
})
