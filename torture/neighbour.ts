import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import { closed, listening } from "../test/support/Listening.ts"

/** How another service behaves; `refuse` takes no connections, `endless` is a body without an end. */
export const MOODS = ["hang", "fail", "drip", "garbage", "endless", "refuse"] as const

export type Mood = "well" | (typeof MOODS)[number]

/** The body of a response, from a request and its body, while it works. */
export type Answering = (request: IncomingMessage, body: string) => unknown

export interface Neighbour {
  readonly url: string
  readonly become: (mood: Mood) => Effect.Effect<void>
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

const behave = async (mood: Mood, response: ServerResponse, body: string) => {
  if (mood === "hang") return undefined
  if (mood === "drip") return drip(response, body)
  if (mood === "endless") return endless(response)
  if (mood === "garbage") return void response.writeHead(200, { "content-type": "application/json" }).end("<{\u0000")
  if (mood === "fail") return void response.writeHead(500).end("{}")
  return void response.writeHead(200, { "content-type": "application/json" }).end(body)
}

/** Another service on the loopback interface, which works at first. The requests that it gets count in every mood. */
export const neighbour = Effect.fnUntraced(function*(answer: Answering) {
  const state: { mood: Mood } = { mood: "well" }
  const server = createServer(async (request, response) => {
    try {
      const body = JSON.stringify(answer(request, await text(request)))
      await behave(state.mood, response, body)
    } catch {
      response.destroy()
    }
  })
  server.on("connection", (socket) => state.mood === "refuse" && socket.resetAndDestroy())
  const port = yield* listening(server)
  yield* Effect.addFinalizer(() => closed(server))
  const made: Neighbour = {
    url: `http://127.0.0.1:${port}`,
    become: (mood) =>
      Effect.sync(() => {
        state.mood = mood
        server.closeAllConnections()
      })
  }
  return made
})
