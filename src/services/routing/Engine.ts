import {
  Cache,
  Cause,
  Context,
  Duration,
  Effect,
  Exit,
  Layer,
  Metric,
  Option,
  Ref,
  References,
  Schedule,
  Schema,
  Semaphore,
  Stream
} from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { EngineState } from "../../schema/Routing.ts"
import type { HeavyJob } from "../admission/HeavyJob.ts"
import type { HeavyWork } from "../admission/HeavyWork.ts"
import { waitingForOthers } from "../admission/Lane.ts"
import { AT_ONCE } from "../admission/Lanes.ts"
import {
  BeyondEngine,
  EngineBusy,
  EngineMisused,
  type InvalidInput,
  NoPath,
  NoRoad,
  type Overloaded,
  type TraceTooLong,
  UpstreamAway,
  UpstreamUnusable
} from "../DomainErrors.ts"
import { atZero, countersBy, during } from "../operations/Metrics.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { bodyOf, requestJson, requestText, type TextResponse, type UpstreamFailure } from "../operations/Upstream.ts"

export type EngineFailure =
  | UpstreamFailure
  | EngineBusy
  | EngineMisused
  | BeyondEngine
  | TraceTooLong
  | NoRoad
  | NoPath
  | InvalidInput
  | Overloaded

export const ENGINE = "The routing engine"

export const unusable = () => new UpstreamUnusable({ name: ENGINE })

const decodeRefusal = Schema.decodeUnknownOption(Schema.Struct({ error_code: Schema.Int }))

/** A client can act on these error codes of Valhalla (`src/exceptions.cc`). */
const REFUSALS: Readonly<Record<number, () => BeyondEngine | NoRoad | NoPath>> = {
  150: () => new BeyondEngine({ limit: "locations" }),
  153: () => new BeyondEngine({ limit: "points" }),
  154: () => new BeyondEngine({ limit: "distance" }),
  158: () => new BeyondEngine({ limit: "bounds" }),
  172: () => new BeyondEngine({ limit: "gaps" }),
  170: () => new NoPath({ of: "locations" }),
  171: () => new NoRoad({}),
  442: () => new NoPath({ of: "locations" }),
  443: () => new NoPath({ of: "trace" }),
  444: () => new NoPath({ of: "trace" })
}

const isOurFault = (code: number) => code >= 100 && code < 150

const refusalOf = Effect.fnUntraced(function*(body: unknown) {
  const code = Option.getOrUndefined(Option.map(decodeRefusal(body), ({ error_code }) => error_code))
  const refusal = code === undefined ? undefined : REFUSALS[code]
  if (refusal !== undefined) return yield* refusal()
  yield* Effect.logError("routing engine refused a request").pipe(
    Effect.annotateLogs({ engineCode: code ?? null })
  )
  return yield* code !== undefined && isOurFault(code) ? new EngineMisused() : unusable()
})

const CALLS = countersBy(
  "routing_engine_calls_total",
  "outcome",
  ["ok", "abandoned", "refused", "bad_answer", "timeout", "unavailable"],
  "Calls of the routing engine by how they ended"
)

const FAILED: Readonly<Record<EngineFailure["_tag"], keyof typeof CALLS>> = {
  BeyondEngine: "refused",
  EngineMisused: "refused",
  NoPath: "refused",
  NoRoad: "refused",
  TraceTooLong: "refused",
  InvalidInput: "refused",
  UpstreamUnusable: "bad_answer",
  UpstreamSlow: "timeout",
  EngineBusy: "unavailable",
  Overloaded: "unavailable",
  UpstreamAway: "unavailable"
}

const running = Metric.gauge("routing_engine_calls_running", {
  description: "Running calls of the routing engine"
})
const waiting = Metric.gauge("routing_engine_calls_waiting", {
  description: "Queued calls of the routing engine"
})

const CIRCUIT_STATES = (["Closed", "Open", "HalfOpen"] as const).map((state) => ({
  state,
  gauge: Metric.gauge("routing_engine_circuit_state", {
    description: "1 for the state that the circuit to the routing engine is in, 0 for the others",
    attributes: { state: state.replace("HalfOpen", "half_open").toLowerCase() }
  })
}))

const counterOf = <A>(exit: Exit.Exit<A, EngineFailure>) => {
  if (Exit.isSuccess(exit)) return CALLS.ok
  return Option.match(Cause.findErrorOption(exit.cause), {
    onNone: () => CALLS.abandoned,
    onSome: ({ _tag }) => CALLS[FAILED[_tag]]
  })
}

const counted = <A, E extends EngineFailure, R>(call: Effect.Effect<A, E, R>) =>
  Effect.onExit(call, (exit) => Metric.update(counterOf(exit), 1))

const circuitIs = (current: CircuitBreaker.State["_tag"]) =>
  Effect.forEach(CIRCUIT_STATES, ({ gauge, state }) => Metric.update(gauge, state === current ? 1 : 0), {
    discard: true
  })

const LAST_INSTANT = 8_640_000_000_000

const EngineStatus = Schema.Struct({
  version: Schema.String,
  tileset_last_modified: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: LAST_INSTANT }))
})

const decodeStatus = Schema.decodeUnknownEffect(EngineStatus)

/** The delay is jittered, so that a restarting engine does not get all retries at once. */
const RETRY_AFTER = "100 millis"

type EngineCall = "directions" | "height" | "locate" | "route" | "trace_attributes"

const MIB = 1024 * 1024

/** 500 km have at most 100 positions of 8 bytes a km, 5,000 maneuvers of 1.5 KiB; a trace 16,000 points with edges. */
const MAX_BYTES: Readonly<Record<EngineCall, number>> = {
  directions: 12 * MIB,
  height: MIB,
  locate: MIB,
  route: 4 * MIB,
  trace_attributes: 16 * MIB
}

const MAX_SHORT_BYTES = 65_536

const FAILURES_TO_OPEN = 5

/** The engine gets no calls for this time after failures. */
export const CIRCUIT_OPEN_FOR = Duration.seconds(5)
const CIRCUIT = "engine"

const STATUS_LIFETIME = Duration.seconds(30)

const STATUS_TIMEOUT = Duration.millis(300)

export class RoutingEngine extends Context.Service<RoutingEngine, {
  /**
   * Posts JSON. An `UpstreamUnusable` of `read` counts as a failure of the engine, as a timeout does, which may be
   * shorter than the setting. An interruption does not count.
   */
  readonly call: <A>(
    path: EngineCall,
    json: string,
    read: (text: string) => Effect.Effect<A, UpstreamUnusable | Overloaded>,
    timeout?: Duration.Duration
  ) => Effect.Effect<A, EngineFailure>
  /** The state is cached for 30 seconds. Takes at most 300 milliseconds, and never fails. */
  readonly status: Effect.Effect<EngineState>
  readonly mapDate: Effect.Effect<Option.Option<number>>
}>()("route-planning-service/RoutingEngine") {
  static readonly layer = Layer.effect(
    RoutingEngine,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const base = yield* settings.ROUTING_ENGINE_URL
      const longest = yield* settings.ROUTING_ENGINE_TIMEOUT
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(FAILURES_TO_OPEN),
        openDuration: CIRCUIT_OPEN_FOR
      })
      yield* atZero([running, waiting, ...Object.values(CALLS)])
      yield* circuitIs("Closed")
      yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, ({ to }) => circuitIs(to)))
      const turns = yield* Semaphore.make(AT_ONCE.engine.running)
      const present = yield* Ref.make(0)

      const upstream = (maxBytes: number, timeout = longest) => ({
        name: ENGINE,
        timeout: Duration.min(timeout, longest),
        maxBytes
      })
      const urlOf = (path: string) => new URL(path, base.href.endsWith("/") ? base : `${base.href}/`)

      const guarded = <A>(call: Effect.Effect<A, UpstreamFailure>): Effect.Effect<A, UpstreamFailure> =>
        breaker.execute(call, { key: CIRCUIT }).pipe(
          Effect.catchTag("CircuitBreakerError", () => Effect.fail(new UpstreamAway({ name: ENGINE })))
        )

      const inTurn = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | EngineBusy> =>
        Effect.acquireUseRelease(
          Ref.updateAndGet(present, (count) => count + 1),
          (count): Effect.Effect<A, E | EngineBusy> =>
            count > AT_ONCE.engine.running + AT_ONCE.engine.queued
              ? Effect.fail(new EngineBusy())
              : call.pipe(during(waiting, -1), during(running), turns.withPermit, during(waiting)),
          () => Ref.update(present, (count) => count - 1)
        )

      const post = (path: EngineCall, json: string) =>
        HttpClientRequest.post(urlOf(path === "directions" ? "route" : path)).pipe(
          HttpClientRequest.bodyText(json, MEDIA_TYPES.json)
        )

      /** Returns a refusal and `Overloaded` as the result of a call that worked: they do not open the circuit. */
      const requested = Effect.fnUntraced(function*<A>(
        path: EngineCall,
        json: string,
        read: (text: string) => Effect.Effect<A, UpstreamUnusable | Overloaded>,
        timeout?: Duration.Duration
      ): Effect.fn.Return<Effect.Effect<A, EngineFailure>, UpstreamFailure> {
        const response = yield* attempt(requestText(client, post(path, json), upstream(MAX_BYTES[path], timeout)))
        if (response.status !== 200) return refusalOf(yield* refusalBody(response))
        return yield* read(response.text).pipe(
          Effect.map(Effect.succeed),
          Effect.catchTag("Overloaded", (failure) => Effect.succeed(Effect.fail(failure)))
        )
      })

      const refusalBody = (response: TextResponse): Effect.Effect<unknown, UpstreamUnusable> =>
        response.text.length > MAX_SHORT_BYTES ? Effect.fail(unusable()) : bodyOf(response, upstream(MAX_SHORT_BYTES))

      const mapDate = yield* Ref.make(Option.none<number>())

      const statuses = yield* Cache.makeWith(
        (path: string) =>
          requestJson(client, HttpClientRequest.get(urlOf(path)), upstream(MAX_SHORT_BYTES, STATUS_TIMEOUT)).pipe(
            Effect.flatMap(({ body }) => decodeStatus(body)),
            Effect.tap(({ tileset_last_modified }) => Ref.set(mapDate, Option.some(tileset_last_modified))),
            Effect.option
          ),
        {
          capacity: 1,
          timeToLive: (exit) =>
            Exit.isSuccess(exit) && Option.isSome(exit.value) ? STATUS_LIFETIME : Duration.seconds(1)
        }
      )

      const known = Cache.get(statuses, "status")

      const isOpen = Effect.map(
        Effect.orDie(breaker.state(CIRCUIT)),
        (state) => state._tag === "Open" && Duration.isPositive(state.retryAfter)
      )

      return RoutingEngine.of({
        call: Effect.fnUntraced(function*(path, json, read, timeout) {
          // The engine is our own: it alone gets the trace id.
          return yield* waitingForOthers(inTurn(guarded(requested(path, json, read, timeout)))).pipe(
            Effect.provideService(HttpClient.TracerPropagationEnabled, yield* References.TracerEnabled),
            Effect.flatten
          )
        }, counted),
        status: Effect.zipWith(known, isOpen, toState),
        mapDate: Effect.andThen(Effect.forkDetach(known, { startImmediately: true }), Ref.get(mapDate))
      })
    })
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

// A restarting engine refuses connections and closes kept ones: repeating a route request is safe.
const attempt = <A>(request: Effect.Effect<A, UpstreamFailure>) =>
  Effect.retry(request, {
    while: ({ _tag }) => _tag === "UpstreamAway",
    schedule: Schedule.jittered(Schedule.spaced(RETRY_AFTER)),
    times: 1
  })

const toState = (status: Option.Option<typeof EngineStatus.Type>, isOpen: boolean): EngineState => {
  if (Option.isNone(status)) return { status: "away" }
  if (isOpen) return { status: "circuit-open" }
  const { tileset_last_modified, version } = status.value
  return { status: "ok", version, tiles: new Date(tileset_last_modified * 1000).toISOString() }
}

/** Reads a response by a job that returns undefined for an unusable one. */
export const readBy = <A>(heavy: HeavyWork["Service"], job: HeavyJob<string, A | undefined>) => (text: string) =>
  Effect.flatMap(
    heavy.run(job, text, text.length),
    (value) => value === undefined ? Effect.fail(unusable()) : Effect.succeed(value)
  )
