import { Cause, Effect, Exit, Metric, Option } from "effect"
import type { CircuitBreaker } from "effect/persistence"
import { counterBy } from "../metrics/Counters.ts"
import type { EngineFailure } from "./EngineRefusals.ts"

const callsWith = counterBy<"ok" | "abandoned" | "refused" | "bad_answer" | "timeout" | "unavailable">(
  "routing_engine_calls_total",
  "outcome",
  "Calls of the routing engine by how they ended"
)

const OK = callsWith("ok")
const ABANDONED = callsWith("abandoned")
const REFUSED = callsWith("refused")
const UNAVAILABLE = callsWith("unavailable")
const BAD_ANSWER = callsWith("bad_answer")
const TIMEOUT = callsWith("timeout")

const FAILED: Readonly<Record<EngineFailure["_tag"], Metric.Counter<number>>> = {
  BeyondEngine: REFUSED,
  EngineMisused: REFUSED,
  NoPath: REFUSED,
  NoRoad: REFUSED,
  TraceTooLong: REFUSED,
  InvalidInput: REFUSED,
  UpstreamUnusable: BAD_ANSWER,
  UpstreamSlow: TIMEOUT,
  EngineBusy: UNAVAILABLE,
  Overloaded: UNAVAILABLE,
  UpstreamAway: UNAVAILABLE
}

export const running = Metric.gauge("routing_engine_calls_running", {
  description: "Running calls of the routing engine"
})
export const waiting = Metric.gauge("routing_engine_calls_waiting", {
  description: "Queued calls of the routing engine"
})

const CIRCUIT = (["Closed", "Open", "HalfOpen"] as const).map((state) => ({
  state,
  gauge: Metric.gauge("routing_engine_circuit_state", {
    description: "1 for the state that the circuit to the routing engine is in, 0 for the others",
    attributes: { state: state.replace("HalfOpen", "half_open").toLowerCase() }
  })
}))

export const prepared = Effect.all([
  ...[running, waiting].map((gauge) => Metric.update(gauge, 0)),
  ...[OK, ABANDONED, REFUSED, BAD_ANSWER, TIMEOUT, UNAVAILABLE].map((counter) => Metric.update(counter, 0))
], { discard: true })

const counterOf = <A>(exit: Exit.Exit<A, EngineFailure>) => {
  if (Exit.isSuccess(exit)) return OK
  return Option.match(Cause.findErrorOption(exit.cause), {
    onNone: () => ABANDONED,
    onSome: ({ _tag }) => FAILED[_tag]
  })
}

export const counted = <A, E extends EngineFailure, R>(call: Effect.Effect<A, E, R>) =>
  Effect.onExit(call, (exit) => Metric.update(counterOf(exit), 1))

export const circuitIs = (current: CircuitBreaker.State["_tag"]) =>
  Effect.forEach(CIRCUIT, ({ gauge, state }) => Metric.update(gauge, state === current ? 1 : 0), { discard: true })
