import { Context, Effect, Metric, Option, Predicate } from "effect"
import { SqlError } from "effect/sql"
import type { ReplicaState } from "../../schema/Admin.ts"
import { atZero, countersBy } from "../operations/Metrics.ts"
import { isServerState } from "./DatabaseErrors.ts"

export interface Replicas {
  /** Runs a read on a replica that lags at most `DATABASE_READ_MAX_LAG`. Returns none without one, or if it fails. */
  readonly read: <A, E, R>(
    read: Effect.Effect<A, E | SqlError.SqlError, R>
  ) => Effect.Effect<Option.Option<A>, E, R>
  /** Returns true, after a moment, if this process reaches no primary. */
  readonly isPrimaryAway: Effect.Effect<boolean>
  readonly states: Effect.Effect<ReadonlyArray<ReplicaState>>
}

export const ReadReplicas = Context.Reference<Replicas>("route-planning-service/ReadReplicas", {
  defaultValue: () => ({
    read: () => Effect.succeedNone,
    isPrimaryAway: Effect.succeed(false),
    states: Effect.succeed([])
  })
})

/** The value is true for a read without a credential, whose caller has written nothing that a replica could lack. */
export const IsStranger = Context.Reference<boolean>("route-planning-service/IsStranger", {
  defaultValue: () => false
})

const READS = countersBy(
  "database_replica_reads_total",
  "outcome",
  ["changed", "served", "unserved"],
  "Reads that a replica may serve"
)

/** A process knows a new primary before its connections lead to it, and before its replicas have followed it. */
const TRIES = 5

const counted = (outcome: keyof typeof READS) => Metric.update(READS[outcome], 1)

/** Excludes a lack of free connections, which says nothing about the primary. */
const mayBeAway = (error: unknown): boolean =>
  SqlError.isSqlError(error) && (isServerState(error.reason) || (error.reason._tag === "ConnectionError"
    && !Predicate.isTagged(error.reason.cause, "NoFreeConnection")))

/**
 * Decides what a replica may serve (decision 0024): what strangers list, once the primary has confirmed each row;
 * totals, which may be old; and, while there is no primary, what is public.
 */
export const replicaReads = Effect.gen(function*() {
  const { isPrimaryAway, read } = yield* ReadReplicas
  yield* atZero(Object.values(READS))

  const unlessAway = <A, E, R, R2>(
    asked: Effect.Effect<A, E, R>,
    otherwise: (error: E) => Effect.Effect<A, E, R2>,
    tries = TRIES
  ): Effect.Effect<A, E, R | R2> =>
    asked.pipe(
      Effect.catch(Effect.fnUntraced(function*(error) {
        if (!mayBeAway(error)) return yield* Effect.fail(error)
        if (yield* isPrimaryAway) return yield* otherwise(error)
        if (tries === 1 || !(yield* IsStranger)) return yield* Effect.fail(error)
        return yield* unlessAway(asked, otherwise, tries - 1)
      }))
    )

  const fromReplica = <A, E, R>(
    asked: Effect.Effect<A, E, R>,
    error: E,
    isPublic: (found: A) => boolean = () => true
  ) =>
    read(asked).pipe(
      // A replica may lack what the primary has.
      Effect.mapError(() => error),
      Effect.flatMap((found) =>
        Option.isSome(found) && isPublic(found.value)
          ? Effect.as(counted("served"), found.value)
          : Effect.fail(error)
      )
    )

  return {
    /** Counts the rows of a list, on a replica if there is one. */
    total: <A, E, R>(count: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(
        read(count),
        Option.match({
          onNone: () => Effect.andThen(counted("unserved"), unlessAway(count, Effect.fail)),
          onSome: (total) => Effect.as(counted("served"), total)
        })
      ),

    /** Reads a page of a list. The primary reads it where it does not confirm each row as it is. */
    page: <A, E, R, E2, R2>(
      page: Effect.Effect<A, E, R>,
      isConfirmed: (page: A) => Effect.Effect<boolean, E2, R2>
    ): Effect.Effect<A, E | E2, R | R2> =>
      Effect.gen(function*() {
        if (!(yield* IsStranger)) return yield* page
        const found = yield* read(page)
        if (Option.isNone(found)) return yield* Effect.andThen(counted("unserved"), unlessAway(page, Effect.fail))
        // Nothing changes without a primary.
        if (yield* unlessAway(isConfirmed(found.value), () => Effect.succeed(true))) {
          return yield* Effect.as(counted("served"), found.value)
        }
        return yield* Effect.andThen(counted("changed"), page)
      }),

    /** Counts the rows of a list on the primary, and on a replica while there is none. */
    totalWhileAway: <A, E, R>(count: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      unlessAway(count, (error) => fromReplica(count, error)),

    /** Reads from the primary. While there is none, a stranger gets from a replica what `isPublic` accepts. */
    whileAway: <A, E, R>(
      asked: Effect.Effect<A, E, R>,
      isPublic: (found: A) => boolean = () => true
    ): Effect.Effect<A, E, R> =>
      Effect.flatMap(
        IsStranger,
        (isStranger) => isStranger ? unlessAway(asked, (error) => fromReplica(asked, error, isPublic)) : asked
      )
  }
})
