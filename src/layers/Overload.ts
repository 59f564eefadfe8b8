import { Config, Effect, Metric } from "effect"
import { IncomingMessage, type OutgoingHttpHeaders, Server, ServerResponse } from "node:http"
import { performance } from "node:perf_hooks"
import { overloadResponse } from "../http/middleware/OverloadResponse.ts"
import { declaredLength } from "../http/request/Body.ts"
import { isProbe, templateOf } from "../http/request/RouteTemplates.ts"
import { isSafe } from "../schema/SafeMethods.ts"
import { QueueLateness } from "../services/limits/ConnectionQueue.ts"
import type { RequestCounter } from "../services/limits/RunningRequests.ts"
import { whole } from "../services/settings/SettingTypes.ts"
import { closeGently } from "./ClosingSockets.ts"
import { makeRequestStarts } from "./RequestStarts.ts"

/**
 * Requests at once above which a process with a saturated event loop refuses more (`MAX_RUNNING_REQUESTS`): as many as
 * may queue for the database. Fewer would refuse a short burst.
 */
export const maxRunning = whole(1, 100_000, "MAX_RUNNING_REQUESTS").pipe(Config.withDefault(256))

const SATURATION = { utilization: 0.75, windowMillis: 50 }

/**
 * More than this share for so long, or once the most, is no burst, and refused as well until for as long fewer than half of it
 * run: most of 256 requests that each need the database several times would be refused by its queue after all their work.
 * Writes that clients repeat after a fault leave room for reads.
 */
const STANDING = { share: 0.5, ofWrites: 0.25, millis: 500 }

/**
 * Where the first in the queue for the database has waited for this part of its longest wait, what is admitted would be refused
 * there after most of its work. A slow machine, or several processes on one, comes there with fewer requests than the most; one
 * that has just started is late for a moment, and must not refuse for that.
 */
const LATE = { share: 0.5, ofWrites: 0.25 }

const refusals = Metric.counter("overload_refusals_total", {
  description: "Requests refused before any work because the process has too much",
  incremental: true
})

const makeSaturation = ({ utilization, windowMillis }: typeof SATURATION) => {
  const state = { at: performance.now(), since: performance.eventLoopUtilization(), isSaturated: false }
  return () => {
    const now = performance.now()
    if (now - state.at < windowMillis) return state.isSaturated
    const current = performance.eventLoopUtilization()
    state.isSaturated = performance.eventLoopUtilization(current, state.since).utilization >= utilization
    state.since = current
    state.at = now
    return state.isSaturated
  }
}

const isLong = (since: number | undefined) => since !== undefined && performance.now() - since >= STANDING.millis

const makeRunning = (most: number, share: number, isLate: () => boolean): RequestCounter => {
  const standing = Math.max(1, Math.floor(most * share))
  const state: { count: number; manySince: number | undefined; fewSince: number | undefined } = {
    count: 0,
    manySince: undefined,
    fewSince: undefined
  }
  return {
    add: (change: number) => {
      if (state.manySince !== undefined && isLong(state.fewSince)) state.manySince = undefined
      state.count += change
      state.fewSince = state.count < standing / 2 ? state.fewSince ?? performance.now() : undefined
      if (state.count >= most) state.manySince = -Infinity
      else if (state.count >= standing) state.manySince ??= performance.now()
      else if (!isLong(state.manySince)) state.manySince = undefined
    },
    areMany: () => isLate() || (state.count >= standing && (state.count >= most || isLong(state.manySince)))
  }
}

const DROPPED_BYTES = 65_536

const CLOSE = { connection: "close" }

const isForProbe = ({ method = "", url = "" }: IncomingMessage) => isProbe(templateOf(method, url) ?? "")

export interface LoadGate {
  readonly all: RequestCounter
  readonly writes: RequestCounter
  /** Starts the work of a request, or responds with 503 where the process has too much to do. */
  readonly admit: (request: IncomingMessage, response: ServerResponse, start: () => void) => void
}

export const makeLoadGate = Effect.gen(function*() {
  const mostRunning = yield* maxRunning
  const { body, headersFor } = yield* overloadResponse
  const context = yield* Effect.context<never>()
  const lateness = yield* QueueLateness
  const isSaturated = makeSaturation(SATURATION)
  const all = makeRunning(mostRunning, STANDING.share, () => lateness() >= LATE.share)
  const ofWrites = makeRunning(mostRunning, STANDING.ofWrites, () => lateness() >= LATE.ofWrites)
  const writes: RequestCounter = {
    add: (change) => {
      all.add(change)
      ofWrites.add(change)
    },
    areMany: () => ofWrites.areMany() || all.areMany()
  }
  const starts = makeRequestStarts(all.add)
  yield* Metric.update(refusals, 0)

  const refuse = (request: IncomingMessage, response: ServerResponse) => {
    const headers: OutgoingHttpHeaders = headersFor(request.headers)
    refusals.updateUnsafe(1, context)
    if ((declaredLength(request) ?? Infinity) <= DROPPED_BYTES) return void response.writeHead(503, headers).end(body)
    const { socket } = request
    socket.destroySoon = () => closeGently(socket)
    response.writeHead(503, { ...headers, ...CLOSE }).end(body)
  }

  const gate: LoadGate = {
    all,
    writes,
    admit: (request, response, start) => {
      const { areMany } = isSafe(request.method) ? all : writes
      if (!areMany() && starts.isFree()) return starts.add(start)
      if (isForProbe(request)) return start()
      return areMany() && isSaturated() ? refuse(request, response) : starts.add(start)
    }
  }
  return gate
})

/** Emitted before anything is done with a request, also for a refused one and one that expects `100-continue`. */
const ARRIVED = "arrived"

export const onEveryRequest = (
  server: Server,
  listener: (request: IncomingMessage, response: ServerResponse) => void
): void => void server.on(ARRIVED, listener)

const REQUEST_EVENTS = new Set(["request", "checkContinue"])

export class GatedServer extends Server {
  gate: LoadGate | undefined
  /** A worker closes connections above `maxConnections`: Node would hand them from worker to worker. */
  readonly dropMaxConnection = true

  override emit(event: string, ...args: ReadonlyArray<unknown>): boolean {
    const [request, response] = args
    if (REQUEST_EVENTS.has(event) && request instanceof IncomingMessage && response instanceof ServerResponse) {
      super.emit(ARRIVED, request, response)
      if (this.gate !== undefined) {
        this.gate.admit(request, response, () => {
          // A client that left while its request waited has begun nothing.
          if (!response.destroyed) super.emit(event, ...args)
        })
        return true
      }
    }
    return super.emit(event, ...args)
  }
}
