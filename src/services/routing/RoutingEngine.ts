import {
  Cache,
  Context,
  Duration,
  Effect,
  Exit,
  Layer,
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
import { EngineBusy, type Overloaded, UpstreamAway, type UpstreamUnusable } from "../DomainErrors.ts"
import { waitingForOthers } from "../limits/RunningRequests.ts"
import { during } from "../metrics/Gauges.ts"
import { settings } from "../settings/Registry.ts"
import { traced } from "../tracing/Traced.ts"
import { bodyOf, requestJson, requestText, type TextResponse, type UpstreamFailure } from "../upstream/Upstream.ts"
import { circuitIs, counted, prepared, running, waiting } from "./EngineMetrics.ts"
import { ENGINE, type EngineFailure, refusalOf, unusable } from "./EngineRefusals.ts"

const LAST_INSTANT = 8_640_000_000_000

const EngineStatus = Schema.Struct({
  version: Schema.String,
  tileset_last_modified: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: LAST_INSTANT }))
})

const decodeStatus = Schema.decodeUnknownEffect(EngineStatus)

/** Jittered, so that a restarting engine does not get all retries at once. */
const RETRY_AFTER = "100 millis"

/** `directions` is a route with its maneuvers. */
type EngineCall = "directions" | "height" | "locate" | "route" | "trace_attributes"

const MIB = 1024 * 1024

/** 500 km have at most 100 positions of 8 bytes a km, and 5,000 maneuvers of 1.5 KiB; a trace 16,000 points with edges. */
const MAX_BYTES: Readonly<Record<EngineCall, number>> = {
  directions: 12 * MIB,
  height: MIB,
  locate: MIB,
  route: 4 * MIB,
  trace_attributes: 16 * MIB
}

const MAX_SHORT_BYTES = 65_536

const MAX_RUNNING = 32
const MAX_QUEUED = 64

const FAILURES_TO_OPEN = 5

const OPEN_FOR = "5 seconds"
const CIRCUIT = "engine"

const STATUS_LIFETIME = Duration.seconds(30)

const STATUS_TIMEOUT = Duration.millis(300)

export class RoutingEngine extends Context.Service<RoutingEngine, {
  /** Posts JSON. An `UpstreamUnusable` of `read` counts as a failure of the engine, as a timeout does. */
  readonly call: <A>(
    path: EngineCall,
    json: string,
    read: (text: string) => Effect.Effect<A, UpstreamUnusable | Overloaded>
  ) => Effect.Effect<A, EngineFailure>
  /** Cached for 30 seconds. Takes at most 300 milliseconds, and never fails. */
  readonly status: Effect.Effect<EngineState>
  readonly mapDate: Effect.Effect<Option.Option<number>>
}>()("route-planning-service/RoutingEngine") {
  static readonly layer = Layer.effect(
    RoutingEngine,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const base = yield* settings.ROUTING_ENGINE_URL
      const timeout = yield* settings.ROUTING_ENGINE_TIMEOUT
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(FAILURES_TO_OPEN),
        openDuration: OPEN_FOR
      })
      yield* prepared
      yield* circuitIs("Closed")
      yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, ({ to }) => circuitIs(to)))
      const turns = yield* Semaphore.make(MAX_RUNNING)
      const present = yield* Ref.make(0)

      const upstream = (maxBytes: number) => ({ name: ENGINE, timeout, maxBytes })
      const urlOf = (path: string) => new URL(path, base.href.endsWith("/") ? base : `${base.href}/`)

      const guarded = <A>(call: Effect.Effect<A, UpstreamFailure>): Effect.Effect<A, UpstreamFailure> =>
        breaker.execute(call, { key: CIRCUIT }).pipe(
          Effect.catchTag("CircuitBreakerError", () => Effect.fail(new UpstreamAway({ name: ENGINE })))
        )

      const inTurn = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | EngineBusy> =>
        Effect.acquireUseRelease(
          Ref.updateAndGet(present, (count) => count + 1),
          (count): Effect.Effect<A, E | EngineBusy> =>
            count > MAX_RUNNING + MAX_QUEUED
              ? Effect.fail(new EngineBusy())
              : call.pipe(during(waiting, -1), during(running), turns.withPermit, during(waiting)),
          () => Ref.update(present, (count) => count - 1)
        )

      const post = (path: EngineCall, json: string) =>
        HttpClientRequest.post(urlOf(path === "directions" ? "route" : path)).pipe(
          HttpClientRequest.bodyText(json, MEDIA_TYPES.json)
        )

      const requested = Effect.fnUntraced(function*<A>(
        path: EngineCall,
        json: string,
        read: (text: string) => Effect.Effect<A, UpstreamUnusable | Overloaded>
      ) {
        const response = yield* attempt(requestText(client, post(path, json), upstream(MAX_BYTES[path])))
        if (response.status !== 200) return { refusal: yield* refusalBody(response) }
        return yield* read(response.text).pipe(
          Effect.map((value) => ({ value })),
          Effect.catchTag("Overloaded", (failure) => Effect.succeed({ failure }))
        )
      })

      const refusalBody = (response: TextResponse): Effect.Effect<unknown, UpstreamUnusable> =>
        response.text.length > MAX_SHORT_BYTES ? Effect.fail(unusable()) : bodyOf(response, upstream(MAX_SHORT_BYTES))

      const mapDate = yield* Ref.make(Option.none<number>())

      const statuses = yield* Cache.makeWith(
        (path: string) =>
          requestJson(client, HttpClientRequest.get(urlOf(path)), {
            ...upstream(MAX_SHORT_BYTES),
            timeout: STATUS_TIMEOUT
          }).pipe(
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
        call: traced("RoutingEngine.call")(function*(path, json, read) {
          // The engine is our own: it alone gets the trace id.
          const outcome = yield* waitingForOthers(inTurn(guarded(requested(path, json, read)))).pipe(
            Effect.provideService(HttpClient.TracerPropagationEnabled, yield* References.TracerEnabled)
          )
          if ("refusal" in outcome) return yield* refusalOf(outcome.refusal)
          return "failure" in outcome ? yield* outcome.failure : outcome.value
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
