import { Context, Predicate, Schema } from "effect"
import type { Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { onEveryRequest } from "./Overload.ts"

/**
 * In milliseconds, how long Node waits on a connection: for the headers of a request; for a client to take any more of a
 * response, or to send the rest of a body that nobody reads; and for anything at all, as from a client that went away
 * without a word. The last is more than the two minutes in which an import has its response. Bodies that are read have
 * their own allowance (`BodyAllowance`).
 */
export const SocketTimeouts = Context.Reference<{
  readonly headers: number
  readonly stalled: number
  readonly idle: number
}>("route-planning-service/SocketTimeouts", {
  defaultValue: () => ({ headers: 5_000, stalled: 30_000, idle: 150_000 })
})

/** In bytes a second, how fast a client takes a response at the least; it may fall behind by the time of a stalled one. */
export const LowestReadRate = Context.Reference<number>("route-planning-service/LowestReadRate", {
  defaultValue: () => 16 * 1024
})

type Timeouts = typeof SocketTimeouts.Service

/** A connection is looked at so many times within the time after which a response counts as stalled. */
const LOOKS = 3

/** Since when nothing has moved on a connection, and when that was seen last. */
interface Silence {
  readonly since: number
  readonly seen: number
}

/**
 * Ends responses of which the client takes nothing, and connections on which nothing moves. Node reports a socket without
 * a sent or received byte; while a long write goes on in parts, it does not. Without a request it closes at once: that is
 * the end of `keepAliveTimeout`.
 */
const closeSilentSockets = (server: Server, { idle, stalled }: Timeouts) => {
  const look = stalled / LOOKS
  const silences = new WeakMap<Socket, Silence>()
  const responses = new WeakMap<Socket, ServerResponse>()
  onEveryRequest(server, (request, response) => void responses.set(request.socket, response))
  server.setTimeout(look, (socket: Socket) => {
    const now = performance.now()
    const last = silences.get(socket)
    const since = last === undefined || now - last.seen > look * 1.5 ? now - look : last.since
    silences.set(socket, { since, seen: now })
    const limit = socket.writableLength > 0 ? stalled : idle
    // A timer may be some milliseconds early.
    if (responses.get(socket)?.writableFinished !== false || now - since >= limit - look / 2) socket.destroy()
    else socket.setTimeout(look)
  })
}

/** Closes a connection on which the rest of a body that nobody reads takes too long. */
const closeUnreadBodies = (server: Server, { stalled }: Timeouts) => {
  onEveryRequest(server, (request, response) => {
    response.once("finish", () => {
      if (request.complete) return
      const timer = setTimeout(() => request.complete || request.socket.destroy(), stalled)
      request.once("close", () => clearTimeout(timer))
    })
  })
}

/** What Node's `net` itself reads of a connection to see whether a long write goes on. */
const isHandle = Schema.is(Schema.Struct({ bytesWritten: Schema.Number, writeQueueSize: Schema.Number }))

/** The bytes that a socket has handed to the system, those of a write that is not over among them. */
const takenOf = (socket: Socket) => {
  const handle = Predicate.hasProperty(socket, "_handle") ? socket._handle : undefined
  return isHandle(handle) ? handle.bytesWritten - handle.writeQueueSize : Infinity
}

/**
 * Ends responses that a client takes more slowly than the lowest rate: each has one of the few places for downloads. Only
 * the time counts in which there was more of it than the client took.
 */
const closeSlowReaders = (server: Server, { stalled }: Timeouts, bytesPerSecond: number) => {
  const look = stalled / LOOKS
  const responses = new Map<ServerResponse, { readonly socket: Socket; readonly start: number; fullMillis: number }>()
  server.on("request", ({ socket }, response) => {
    responses.set(response, { socket, start: takenOf(socket), fullMillis: 0 })
    response.once("close", () => responses.delete(response))
  })
  const timer = setInterval(() => {
    for (const state of responses.values()) {
      const { socket, start } = state
      if (socket.writableLength === 0) continue
      state.fullMillis += look
      const allowedMillis = stalled + (takenOf(socket) - start) / bytesPerSecond * 1000
      if (state.fullMillis > allowedMillis) socket.destroy()
    }
  }, look).unref()
  server.once("close", () => clearInterval(timer))
}

export const applySocketTimeouts = (server: Server, timeouts: Timeouts, lowestReadRate: number): void => {
  closeSilentSockets(server, timeouts)
  closeSlowReaders(server, timeouts, lowestReadRate)
  closeUnreadBodies(server, timeouts)
}
