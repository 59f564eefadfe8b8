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
  Schema,
  Semaphore,
  Stream
} from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { BadGateway, type GatewayTimeout, NotFound, Unavailable, ValidationFailed } from "../../schema/Errors.ts"
import type { EngineState } from "../../schema/Routing.ts"
import { during } from "../metrics/Gauges.ts"
import { httpUrl, period } from "../SettingTypes.ts"
import { ask, type UpstreamFailure } from "../Upstream.ts"
import { circuitIs, counted, running, waiting } from "./EngineMetrics.ts"

/** What the engine knows of itself. */
const EngineStatus = Schema.Struct({ version: Schema.String, tileset_last_modified: Schema.Finite })

const decodeStatus = Schema.decodeUnknownEffect(EngineStatus)

type Failure = ValidationFailed | NotFound | BadGateway | Unavailable | GatewayTimeout

const DEFAULT_URL = "http://127.0.0.1:8002"

const MAX_ANSWER = 16 * 1024 * 1024

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
   * Asks the engine in JSON, and gives its answer as it came. What it refuses is told by its error code, since it answers
   * almost everything with 400: no path and no road are `NotFound`, too far and too many `ValidationFailed`.
   */
  readonly call: (path: "route" | "locate" | "trace_attributes", json: string) => Effect.Effect<unknown, Failure>
  /** How the engine is, known for at most 30 seconds. Never waits longer than 300 milliseconds, and never fails. */
  readonly status: Effect.Effect<EngineState>
  /** The date of the engine's map in seconds, as far as it is known: found out on the side, and never waited for. */
  readonly mapDate: Effect.Effect<Option.Option<number>>
}>()("route-planning-service/RoutingEngine") {
  static readonly layer = Layer.effect(
    RoutingEngine,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const base = yield* httpUrl("ROUTING_ENGINE_URL").pipe(Config.withDefault(new URL(DEFAULT_URL)))
      const timeout = yield* period("ROUTING_ENGINE_TIMEOUT").pipe(Config.withDefault(Duration.seconds(10)))
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(FAILURES_TO_OPEN),
        openDuration: OPEN_FOR
      })
      yield* circuitIs("Closed")
      yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, ({ to }) => circuitIs(to)))
      const turns = yield* Semaphore.make(MAX_IN_FLIGHT)
      const present = yield* Ref.make(0)

      const upstream = { name: "The routing engine", timeout, maxBytes: MAX_ANSWER }
      const urlOf = (path: string) => new URL(path, base.href.endsWith("/") ? base : `${base.href}/`)

      // An engine that restarts refuses for a moment: one more try, and no storm of them.
      const attempt = (request: HttpClientRequest.HttpClientRequest) => {
        const once = ask(client, request, upstream)
        return Effect.catchTag(once, "Unavailable", () => once)
      }

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

      const mapDate = yield* Ref.make(Option.none<number>())

      const statuses = yield* Cache.makeWith(
        (path: string) =>
          ask(client, HttpClientRequest.get(urlOf(path)), { ...upstream, timeout: STATUS_PATIENCE }).pipe(
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
        call: Effect.fn("RoutingEngine.call")(function*(path, json) {
          const request = HttpClientRequest.post(urlOf(path)).pipe(HttpClientRequest.bodyText(json, "application/json"))
          // The engine is our own: it may know which trace it works for. Nobody else may.
          const answer = yield* inTurn(guarded(attempt(request))).pipe(
            Effect.provideService(HttpClient.TracerPropagationEnabled, yield* References.TracerEnabled)
          )
          return answer.status === 200 ? answer.body : yield* refusalOf(answer.body)
        }, counted),
        status: Effect.zipWith(known, isOpen, toState),
        mapDate: Effect.andThen(Effect.forkDetach(known, { startImmediately: true }), Ref.get(mapDate))
      })
    })
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

const away = (message: string) => new Unavailable({ message })

const toState = (status: Option.Option<typeof EngineStatus.Type>, isOpen: boolean): EngineState => {
  if (Option.isNone(status)) return { status: "away" }
  if (isOpen) return { status: "circuit-open" }
  const { tileset_last_modified, version } = status.value
  return { status: "ok", version, tiles: new Date(tileset_last_modified * 1000).toISOString() }
}

const Refusal = Schema.Struct({ error_code: Schema.Int })

const decodeRefusal = Schema.decodeUnknownOption(Refusal)

const notFound = (reason: string, message: string) => new NotFound({ message, details: { reason } })

/** The reason of a `NotFound` for a location without roads. */
export const NO_ROAD = "no_road_near_location"

const tooMuch = (reason: string, message: string) =>
  new ValidationFailed({ message, details: { reason, issues: [{ path: "", message }] } })

/** Valhalla's error codes (`src/exceptions.cc`), by what a client of ours can do about them. */
const REFUSALS: Readonly<Record<number, () => Failure>> = {
  150: () => tooMuch("too_many_locations", "There are too many locations"),
  153: () => tooMuch("too_many_points", "The trace has too many points"),
  154: () => tooMuch("too_far", "The locations are too far apart"),
  158: () => tooMuch("too_far", "The trace is out of the engine's bounds"),
  172: () => tooMuch("too_far", "The points of the trace are too far apart"),
  170: () => notFound("no_path", "There is no path between the locations"),
  171: () => notFound(NO_ROAD, "There is no road near a location"),
  442: () => notFound("no_path", "There is no path between the locations"),
  443: () => notFound("no_path", "The trace does not follow any roads"),
  444: () => notFound("no_path", "The trace does not follow any roads")
}

const refusalOf = Effect.fnUntraced(function*(body: unknown) {
  const code = Option.map(decodeRefusal(body), ({ error_code }) => error_code)
  const refusal = Option.isSome(code) ? REFUSALS[code.value] : undefined
  if (refusal !== undefined) return yield* refusal()
  yield* Effect.logError("the routing engine refused what we asked").pipe(
    Effect.annotateLogs({ engineCode: Option.getOrNull(code) })
  )
  return yield* new BadGateway({ message: "The routing engine gave an answer that cannot be used" })
})
