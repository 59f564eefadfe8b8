import { Context, Effect, Layer } from "effect"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { listening } from "./Listening.ts"

/** A request hangs if its behaviour does not end the response. */
export type Behaviour = (request: { readonly path: string; readonly body: string }, response: ServerResponse) => void

export const json = (body: unknown, status = 200): Behaviour => (_request, response) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

/** Refuses in the words of Valhalla. */
export const refusal = (error_code: number): Behaviour =>
  json({ error_code, error: "canary of the engine", status_code: 400, status: "Bad Request" }, 400)

/** This HTTP server stands in for the routing engine, for faults that the real one does not have. */
export class StandInEngine extends Context.Service<StandInEngine, {
  readonly url: string
  /** The stand-in got these requests, except those for its status. */
  readonly asked: Array<{ readonly path: string; readonly body: string }>
  /** Counts the requests for its status. */
  readonly statusCalls: Effect.Effect<number>
  /** Responds to a request for its status with the date of another map; without a date it does not respond. */
  readonly setMapDate: (date: number | undefined) => Effect.Effect<void>
  readonly behave: (behaviour: Behaviour) => Effect.Effect<void>
  /** Gives calls to a listener, except those for the status. */
  readonly misbehave: (listener: RequestListener) => Effect.Effect<void>
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
}>()("test/StandInEngine") {
  static readonly layer = Layer.effect(
    StandInEngine,
    Effect.gen(function*() {
      const asked: Array<{ readonly path: string; readonly body: string }> = []
      const state: {
        behaviour: Behaviour
        listener: RequestListener | undefined
        isDown: boolean
        mapDate: number | undefined
        statusCalls: number
      } = {
        behaviour: json({}),
        listener: undefined,
        isDown: false,
        mapDate: 1_700_000_000,
        statusCalls: 0
      }
      const answer = async (request: IncomingMessage, response: ServerResponse) => {
        const path = request.url ?? ""
        if (path === "/status") {
          state.statusCalls += 1
          const { mapDate } = state
          if (mapDate === undefined) return
          json({ version: "3.9.1", tileset_last_modified: mapDate })({ path, body: "" }, response)
          return
        }
        const body = await text(request)
        asked.push({ path, body })
        if (state.listener === undefined) state.behaviour({ path, body }, response)
        else state.listener(request, response)
      }
      const server = createServer((request, response) => void answer(request, response).catch(() => undefined))
      server.on("connection", (socket) => state.isDown && socket.destroy())
      const port = yield* listening(server)
      const setDown = (isDown: boolean) =>
        Effect.sync(() => {
          state.isDown = isDown
          if (isDown) server.closeAllConnections()
        })
      return StandInEngine.of({
        url: `http://127.0.0.1:${port}`,
        asked,
        statusCalls: Effect.sync(() => state.statusCalls),
        setMapDate: (date) => Effect.sync(() => void (state.mapDate = date)),
        behave: (behaviour) => Effect.sync(() => void Object.assign(state, { behaviour, listener: undefined })),
        misbehave: (listener) => Effect.sync(() => void (state.listener = listener)),
        down: setDown(true),
        up: setDown(false)
      })
    })
  )
}
