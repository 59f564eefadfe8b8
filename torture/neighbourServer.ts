import { Effect, Schema } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { constants, setPriority } from "node:os"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import { listening } from "../test/support/Listening.ts"
import { Behaviour, HttpRole, type Report } from "./neighbour.ts"

/** Another service that speaks HTTP, as the process of `neighbour.ts`: its role is an argument, its behaviours are messages. */

const report = (value: typeof Report.Type) => process.send?.(value)

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

const discovery = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  jwks_uri: `${origin}/keys`,
  keys: [],
  error: "invalid_grant"
})

/** The body of a response, while it works. A mail is taken as soon as it has come, whatever its response is. */
const BODIES: Readonly<Record<HttpRole, (request: IncomingMessage, body: string) => unknown>> = {
  engine: () => ({ trip: { legs: [], locations: [] }, version: "3.9.1" }),
  mail: ({ headers: { "idempotency-key": key } }, body) => {
    report({ mail: typeof key === "string" ? { body, key } : { body } })
    return { id: "taken" }
  },
  identity: ({ headers: { host = "" } }) => discovery(`http://${host}`),
  collector: () => ({})
}

// Elsewhere it is another machine: it has only what the service and PostgreSQL leave of this one.
setPriority(constants.priority.PRIORITY_LOW)

const bodyOf = BODIES[Schema.decodeUnknownSync(HttpRole)(process.argv[2])]

const state: { behaviour: Behaviour } = { behaviour: "normal" }

const server = createServer(async (request, response) => {
  try {
    const body = JSON.stringify(bodyOf(request, await text(request)))
    await behave(state.behaviour, response, body)
  } catch {
    response.destroy()
  }
})

server.on("connection", (socket) => state.behaviour === "refuse" && socket.resetAndDestroy())

process.on("message", (message) => {
  state.behaviour = Schema.decodeUnknownSync(Behaviour)(message)
  server.closeAllConnections()
  report({ behaviour: state.behaviour })
})

process.once("disconnect", () => process.exit())

await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  report({ url: `http://127.0.0.1:${yield* listening(server)}` })
  return yield* Effect.never
})))
