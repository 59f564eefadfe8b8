import { Context, Deferred, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { abandonedAfter, DatabaseReadOnly, DatabaseResponses } from "../db/DatabaseErrors.ts"
import { NotReady } from "../DomainErrors.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { NoFreeConnection } from "./ConnectionQueue.ts"

export const Stopping = Context.Reference<Effect.Effect<void>>("route-planning-service/Stopping", {
  defaultValue: () => Effect.never
})

/** `count` is the number of requests that have ended since the process began. */
export const EndedRequests = Context.Reference<{ count: number }>("route-planning-service/EndedRequests", {
  defaultValue: () => ({ count: 0 })
})

export class Draining extends Context.Service<Draining, {
  readonly hasBegun: Effect.Effect<boolean>
  readonly begun: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>()("route-planning-service/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.gen(function*() {
      const delay = yield* settings.SHUTDOWN_DRAIN_DELAY
      const begun = yield* Deferred.make<void>()
      return Draining.of({
        hasBegun: Deferred.isDone(begun),
        begun: Deferred.await(begun),
        begin: Effect.andThen(
          Deferred.succeed(begun, undefined),
          Duration.isZero(delay) ? Effect.void : Effect.sleep(delay)
        )
      })
    })
  )
}

const isBusy = Schema.is(NoFreeConnection)

const away = () => new NotReady({ reason: "database" })

export class Health extends Context.Service<Health, {
  /**
   * Succeeds when the database responds within half a second, to this query or, while all connections are in use, to
   * another: under load a front would remove all processes at once. Fails when the process shuts down. A database that
   * takes no writes is ready: reads work, and a front without a ready process omits `Retry-After`.
   */
  readonly ready: Effect.Effect<{ readonly database: "ok" | "read-only" }, NotReady>
}>()("route-planning-service/Health") {
  static readonly layer = Layer.effect(
    Health,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const draining = yield* Draining
      const responses = yield* DatabaseResponses
      const isReadOnly = yield* DatabaseReadOnly
      return Health.of({
        ready: Effect.gen(function*() {
          if (yield* draining.hasBegun) return yield* new NotReady({ reason: "shutdown" })
          const before = yield* responses
          const sinceBefore = Effect.flatMap(responses, (now) => now > before ? Effect.void : Effect.fail(away()))
          yield* abandonedAfter("500 millis")(sql`SELECT 1`).pipe(
            Effect.catchTags({
              SqlError: ({ reason }) => isBusy(reason.cause) ? Effect.void : Effect.fail(away()),
              TimeoutError: () => sinceBefore
            })
          )
          return { database: (yield* isReadOnly) ? "read-only" as const : "ok" as const }
        })
      })
    })
  )
}
