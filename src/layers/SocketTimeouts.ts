import { Context, Predicate, Schema } from "effect"
import type { Server } from "node:http"
import type { Socket } from "node:net"
import { declaredLength } from "../http/request/Body.ts"
import { onEveryRequest } from "./ParserErrors.ts"

/**
 * In milliseconds: until the headers of a request are there; until a client takes more of a response or sends the rest
 * of an unread body; and until anything moves on a connection, which is more than the two minutes of an import.
 * `BodyAllowance` limits bodies that are read.
 */
export const SocketTimeouts = Context.Reference<{
  readonly headers: number
  readonly stalled: number
  readonly idle: number
}>("route-planning-service/SocketTimeouts", {
  defaultValue: () => ({ headers: 5_000, stalled: 30_000, idle: 150_000 })
})

/** Bytes a second that a client must take of a response, after an initial time of `stalled`. */
export const LowestReadRate = Context.Reference<number>("route-planning-service/LowestReadRate", {
  defaultValue: () => 16 * 1024
})

type Timeouts = typeof SocketTimeouts.Service

const CHECKS = 3

/** What Node's `net` reads to see whether a long write continues. */
const isHandle = Schema.is(Schema.Struct({ bytesWritten: Schema.Number, writeQueueSize: Schema.Number }))

/** Bytes handed to the system, those of an unfinished write included. */
const takenOf = (socket: Socket) => {
  const handle = Predicate.hasProperty(socket, "_handle") ? socket._handle : undefined
  return isHandle(handle) ? handle.bytesWritten - handle.writeQueueSize : Infinity
}

interface Silence {
  readonly since: number
  readonly seen: number
}

interface Sending {
  /** Those that are not complete; more than one where requests are pipelined. */
  responses: number
  /** Bytes taken when it was first seen that the client had more to take. */
  start: number | undefined
  fullMillis: number
}

/** By connections, not by responses, which would keep all of a request in memory (decision 0018). */
const sendingOf = (server: Server) => {
  const sending = new Map<Socket, Sending>()
  server.on("connection", (socket) => {
    sending.set(socket, { responses: 0, start: undefined, fullMillis: 0 })
    socket.once("close", () => sending.delete(socket))
  })
  onEveryRequest(server, ({ socket }, response) => {
    const state = sending.get(socket)
    if (state === undefined) return
    if (state.responses === 0) {
      state.start = undefined
      state.fullMillis = 0
    }
    state.responses++
    response.on("close", () => state.responses--)
  })
  return sending
}

/**
 * Closes connections whose response is not taken, and those on which nothing moves. Node reports no silence while a
 * long write continues in parts. A connection without a request is closed at once: that is the end of
 * `keepAliveTimeout`.
 */
const closeSilentSockets = (server: Server, sending: ReadonlyMap<Socket, Sending>, { idle, stalled }: Timeouts) => {
  const interval = stalled / CHECKS
  const silences = new WeakMap<Socket, Silence>()
  server.setTimeout(interval, (socket: Socket) => {
    const now = performance.now()
    const last = silences.get(socket)
    const since = last === undefined || now - last.seen > interval * 1.5 ? now - interval : last.since
    silences.set(socket, { since, seen: now })
    const limit = socket.writableLength > 0 ? stalled : idle
    const isIdle = (sending.get(socket)?.responses ?? 0) === 0
    if (isIdle || now - since >= limit - interval / 2) socket.destroy()
    else socket.setTimeout(interval)
  })
}

const closeUnreadBodies = (server: Server, { stalled }: Timeouts) => {
  onEveryRequest(server, (request, response) => {
    if (declaredLength(request) === 0) return
    response.once("finish", () => {
      if (request.complete) return
      const timer = setTimeout(() => request.complete || request.socket.destroy(), stalled)
      request.once("close", () => clearTimeout(timer))
    })
  })
}

/**
 * Closes connections of clients slower than the lowest rate, since each occupies one of the few downloads at once. Only
 * time in which the client had more to take counts.
 */
const closeSlowReaders = (
  server: Server,
  sending: ReadonlyMap<Socket, Sending>,
  { stalled }: Timeouts,
  bytesPerSecond: number
) => {
  const interval = stalled / CHECKS
  const timer = setInterval(() => {
    for (const [socket, state] of sending) {
      if (state.responses === 0 || socket.writableLength === 0) continue
      const taken = takenOf(socket)
      state.start ??= taken
      state.fullMillis += interval
      const allowedMillis = stalled + (taken - state.start) / bytesPerSecond * 1000
      if (state.fullMillis > allowedMillis) socket.destroy()
    }
  }, interval).unref()
  server.once("close", () => clearInterval(timer))
}

export const applySocketTimeouts = (server: Server, timeouts: Timeouts, lowestReadRate: number): void => {
  const sending = sendingOf(server)
  closeSilentSockets(server, sending, timeouts)
  closeSlowReaders(server, sending, timeouts, lowestReadRate)
  closeUnreadBodies(server, timeouts)
}
