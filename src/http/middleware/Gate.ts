import { Clock, Duration, Effect, Metric } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { performance } from "node:perf_hooks"
import { Unavailable } from "../../schema/Errors.ts"
import { isSafe } from "../../schema/Http.ts"
import { QueueLateness } from "../../services/admission/ConnectionQueue.ts"
import { type RequestCounter, RunningRequests } from "../../services/admission/Lane.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { declaredLength } from "../request/RequestBodies.ts"
import { isProbe } from "../request/RouteTemplates.ts"
import { respond } from "../response/ErrorResponse.ts"

const BUSY = { utilization: 0.75, windowMillis: 50 }

/**
 * Once the first in the queue has waited for this part of the longest wait, the database would refuse more requests
 * after most of their work. A slow machine comes there with fewer requests than `MAX_RUNNING_REQUESTS`.
 */
const LATE = 0.5

/** Requests start in so many milliseconds of each iteration of the event loop. */
const SLICE = 5

const RETRY_AFTER = Duration.seconds(1)

/** A longer body would cost more to read than its refusal. */
const DROPPED_BYTES = 65_536

const refusals = Metric.counter("overload_refusals_total", {
  description: "Requests refused before any work because the process has too much",
  incremental: true
})

const makeIsBusy = (millis: () => number) => {
  const last = { at: millis(), sample: performance.eventLoopUtilization(), isBusy: false }
  return () => {
    const at = millis()
    if (at - last.at >= BUSY.windowMillis) {
      const sample = performance.eventLoopUtilization()
      last.isBusy = performance.eventLoopUtilization(sample, last.sample).utilization >= BUSY.utilization
      last.sample = sample
      last.at = at
    }
    return last.isBusy
  }
}

/**
 * Ends at once, unless requests have started for a whole slice of this iteration of the event loop: later requests then
 * start in order in the next iterations. So a burst delays neither refusals of later requests nor running requests.
 */
const makeTurn = (millis: () => number) => {
  const waiting: Array<() => void> = []
  const slice = { since: 0, isOpen: false }
  const isUsed = () => millis() - slice.since >= SLICE

  const open = () => {
    if (slice.isOpen) return
    slice.isOpen = true
    slice.since = millis()
    setImmediate(nextIteration)
  }

  const nextIteration = () => {
    slice.isOpen = false
    if (waiting.length > 0) open()
    while (waiting.length > 0 && !isUsed()) waiting.shift()?.()
  }

  return Effect.callback<void>((resume) => {
    open()
    if (waiting.length === 0 && !isUsed()) resume(Effect.void)
    else waiting.push(() => resume(Effect.void))
  })
}

/** The refusal is made once, since an error captures its stack. */
const refusal = respond(Unavailable.retryAfter("The service has too many requests: try again", RETRY_AFTER))

const refuse = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  yield* Metric.update(refusals, 1)
  const notes = yield* RequestNotes
  notes.fault = { limit: "running_requests" }
  const response = yield* refusal
  const isShort = (declaredLength(request) ?? Infinity) <= DROPPED_BYTES
  return isShort ? response : HttpServerResponse.setHeader(response, "connection", "close")
})

/**
 * Refuses a request while the event loop is busy and the process either works on `MAX_RUNNING_REQUESTS` or is late with
 * the queue for the database. Neither alone is an overload: requests that wait cost no processor time, and a loop that
 * is busy with a few is at its best. Late transactions are no reason to refuse reads, which keep a part of the
 * connections. The gate never refuses requests for health or metrics.
 */
export const gateLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const most = yield* settings.MAX_RUNNING_REQUESTS
    const lateness = yield* QueueLateness
    const clock = yield* Clock.Clock
    const millis = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    const isBusy = makeIsBusy(millis)
    const turn = makeTurn(millis)
    const running = { count: 0 }
    const areMany = (isRead: boolean) => running.count >= most || lateness(isRead) >= LATE
    const counter: RequestCounter = {
      add: (change) => void (running.count += change),
      areMany: () => areMany(false)
    }
    yield* Metric.update(refusals, 0)

    const ended = () => {
      counter.add(-1)
      return undefined
    }

    return (httpEffect) => {
      const counted = Effect.provideService(Effect.andThen(turn, httpEffect), RunningRequests, counter)
      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        if (isProbe(request.url)) return httpEffect
        if (areMany(isSafe(request.method)) && isBusy()) return refuse(request)
        counter.add(1)
        return Effect.onExitPrimitive(counted, ended)
      })
    }
  }),
  { global: true }
)
