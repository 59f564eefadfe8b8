import {
  Cache,
  Config,
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
import { type BadGateway, Unavailable } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { EngineState } from "../../schema/Routing.ts"
import { waitingForOthers } from "../limits/RunningRequests.ts"
import { during } from "../metrics/Gauges.ts"
import { httpUrl, period } from "../settings/SettingTypes.ts"
import { ask, askText, bodyOf, type TextAnswer, type UpstreamFailure } from "../upstream/Upstream.ts"
import { circuitIs, counted, running, waiting } from "./EngineMetrics.ts"
import { type EngineFailure, refusalOf, unusable } from "./EngineRefusals.ts"

/** The seconds that a date may have (ECMAScript, Time Values). */
const LAST_INSTANT = 8_640_000_000_000

/** What the engine knows of itself. */
const EngineStatus = Schema.Struct({
  version: Schema.String,
  tileset_last_modified: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: LAST_INSTANT }))
})

const decodeStatus = Schema.decodeUnknownEffect(EngineStatus)

/** `ROUTING_ENGINE_URL`. */
export const engineUrl = httpUrl("ROUTING_ENGINE_URL").pipe(Config.withDefault(new URL("http://127.0.0.1:8002")))

/** A call that its endpoint's own deadline of 30 seconds ends would not count as a failure of the engine. */
const MAX_TIMEOUT = Duration.seconds(25)

/** `ROUTING_ENGINE_TIMEOUT`. */
export const engineTimeout = period("ROUTING_ENGINE_TIMEOUT", MAX_TIMEOUT).pipe(
  Config.withDefault(Duration.seconds(10))
)

/** About how long before the second try: an engine that restarts is not asked by all at once. */
const RETRY_AFTER = "100 millis"

type EnginePath = "route" | "locate" | "trace_attributes"

const MIB = 1024 * 1024

/**
 * A route of 500 km, as far as the engine goes, has 100 positions a kilometre at most, each of some 8 bytes. A trace has
 * 16,000 points and the edges under them.
 */
const MAX_BYTES: Readonly<Record<EnginePath, number>> = { route: 4 * MIB, locate: MIB, trace_attributes: 16 * MIB }

/** Of a refusal and of the status, which are a line. */
const MAX_SHORT_BYTES = 65_536

/** As many calls the engine gets at once, and as many wait; who comes then is told to come back. */
const MAX_IN_FLIGHT = 32
const MAX_WAITING = 64

const FAILURES_TO_OPEN = 5

const OPEN_FOR = "5 seconds"
const CIRCUIT = "engine"

const STATUS_LIFETIME = Duration.seconds(30)

/** A probe does not wait for what the service can do without. */
const STATUS_PATIENCE = "300 millis"

/** Valhalla, a routing engine of our own, by its HTTP API. */
export class RoutingEngine extends Context.Service<RoutingEngine, {
  /**
   * Calls the engine with JSON. `read` makes of its response, which may be long, what is needed. Where it fails with
   * `BadGateway`, the response counts as a failure of the engine, as a timeout does; `Unavailable` does not. What the
   * engine refuses is recognised by its error code, since it responds to almost everything with 400: no path and no road
   * are `NotFound`, too far and too many `ValidationFailed`.
   */
  readonly call: <A>(
    path: EnginePath,
    json: string,
    read: (text: string) => Effect.Effect<A, BadGateway | Unavailable>
  ) => Effect.Effect<A, EngineFailure>
  /** How the engine is, known for at most 30 seconds. Never waits longer than 300 milliseconds, and never fails. */
  readonly status: Effect.Effect<EngineState>
  /** The date of the engine's map in seconds, as far as it is known: found out on the side, and never waited for. */
  readonly mapDate: Effect.Effect<Option.Option<number>>
}>()("route-planning-service/RoutingEngine") {
  static readonly layer = Layer.effect(
    RoutingEngine,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const base = yield* engineUrl
      const timeout = yield* engineTimeout
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(FAILURES_TO_OPEN),
        openDuration: OPEN_FOR
      })
      yield* circuitIs("Closed")
      yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, ({ to }) => circuitIs(to)))
      const turns = yield* Semaphore.make(MAX_IN_FLIGHT)
      const present = yield* Ref.make(0)

      const upstream = (maxBytes: number) => ({ name: "The routing engine", timeout, maxBytes })
      const urlOf = (path: string) => new URL(path, base.href.endsWith("/") ? base : `${base.href}/`)

      const guarded = <A>(call: Effect.Effect<A, UpstreamFailure>): Effect.Effect<A, UpstreamFailure> =>
        breaker.execute(call, { key: CIRCUIT }).pipe(
          Effect.catchTag("CircuitBreakerError", () => Effect.fail(away("The routing engine is not reachable")))
        )

      const inTurn = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
        Effect.acquireUseRelease(
          Ref.updateAndGet(present, (count) => count + 1),
          (count): Effect.Effect<A, E | Unavailable> =>
            count > MAX_IN_FLIGHT + MAX_WAITING
              ? Effect.fail(away("The routing engine is busy: try again"))
              : call.pipe(during(waiting, -1), during(running), turns.withPermit, during(waiting)),
          () => Ref.update(present, (count) => count - 1)
        )

      const post = (path: EnginePath, json: string) =>
        HttpClientRequest.post(urlOf(path)).pipe(HttpClientRequest.bodyText(json, MEDIA_TYPES.json))

      const asked = Effect.fnUntraced(function*<A>(
        path: EnginePath,
        json: string,
        read: (text: string) => Effect.Effect<A, BadGateway | Unavailable>
      ) {
        const answer = yield* attempt(askText(client, post(path, json), upstream(MAX_BYTES[path])))
        if (answer.status !== 200) return { refusal: yield* refusalBody(answer) }
        return yield* read(answer.text).pipe(
          Effect.map((value) => ({ value })),
          Effect.catchTag("Unavailable", (failure) => Effect.succeed({ failure }))
        )
      })

      const refusalBody = (answer: TextAnswer): Effect.Effect<unknown, BadGateway> =>
        answer.text.length > MAX_SHORT_BYTES ? Effect.fail(unusable) : bodyOf(answer, upstream(MAX_SHORT_BYTES))

      const mapDate = yield* Ref.make(Option.none<number>())

      const statuses = yield* Cache.makeWith(
        (path: string) =>
          ask(client, HttpClientRequest.get(urlOf(path)), {
            ...upstream(MAX_SHORT_BYTES),
            timeout: STATUS_PATIENCE
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
        call: Effect.fn("RoutingEngine.call")(function*(path, json, read) {
          // The engine is our own: it may know which trace it works for. Nobody else may.
          const outcome = yield* waitingForOthers(inTurn(guarded(asked(path, json, read)))).pipe(
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

// An engine that restarts refuses for a moment, and connections that it kept are closed: a route that is asked for twice
// is no harm. One more try, and no storm of them.
const attempt = <A>(asking: Effect.Effect<A, UpstreamFailure>) =>
  Effect.retry(asking, {
    while: ({ _tag }) => _tag === "Unavailable",
    schedule: Schedule.jittered(Schedule.spaced(RETRY_AFTER)),
    times: 1
  })

const away = (message: string) => new Unavailable({ message })

const toState = (status: Option.Option<typeof EngineStatus.Type>, isOpen: boolean): EngineState => {
  if (Option.isNone(status)) return { status: "away" }
  if (isOpen) return { status: "circuit-open" }
  const { tileset_last_modified, version } = status.value
  return { status: "ok", version, tiles: new Date(tileset_last_modified * 1000).toISOString() }
}
