import { type Array as Arr, Cause, Context, Effect, References } from "effect"
import { SqlError } from "effect/sql"
import { Overloaded } from "../../schema/DomainErrors.ts"
import type { UserId } from "../../schema/Ids.ts"
import { RunningRequests } from "./RunningRequests.ts"
import { LONGEST_WAIT, QUEUE, WriterTurns } from "./WriterTurns.ts"

interface Write<A, B, E> {
  readonly value: A
  readonly resume: (written: Effect.Effect<B, E | Overloaded>) => void
}

type Writes<A, B, E> = Array<Write<A, B, E>>

/** Bounds how long a statement keeps the counters of its account locked, and how many statements there are to prepare. */
const MAX_WRITES = 8

const REFUSALS = new Set(["ConstraintError", "UniqueViolation"])

// Of these alone it is known that nothing was written, and that another row may be.
const mayBeOfOneRow = (error: unknown) => SqlError.isSqlError(error) && REFUSALS.has(error.reason._tag)

/**
 * Writes that wait for the turn of an earlier one of their account are one statement, in the order in which they came
 * (decision 0019). A write whose caller leaves before its statement begins is not made; a statement that has begun ends.
 * If it is refused for what may be one row, each is written by itself. Fails with `Overloaded` like `WriterTurns`.
 */
export const gatheredWrites = Effect.gen(function*() {
  const { run } = yield* WriterTurns
  const context = Context.add(yield* Effect.context<never>(), References.TracerEnabled, false)
  const refused = Effect.suspend(() => Effect.fail(Overloaded.retryAfter("writes", LONGEST_WAIT)))

  /** `writeAll` returns what it wrote in the order of its values. */
  return <A, B extends object, E>(
    writeAll: (values: Arr.NonEmptyReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
  ) => {
    const accounts = new Map<UserId, Writes<A, B, E>>()

    const written = (writes: ReadonlyArray<Write<A, B, E>>): Effect.Effect<void> => {
      const [first, ...others] = writes
      if (first === undefined) return Effect.void
      return writeAll([first.value, ...others.map(({ value }) => value)]).pipe(
        Effect.matchCauseEffect({
          onSuccess: (rows) =>
            Effect.sync(() => {
              writes.forEach(({ resume }, n) => resume(Effect.orDie(Effect.fromNullishOr(rows[n]))))
            }),
          onFailure: (cause) =>
            writes.length > 1 && mayBeOfOneRow(Cause.squash(cause))
              ? Effect.forEach(writes, (write) => written([write]), { discard: true })
              : Effect.sync(() => {
                for (const { resume } of writes) resume(Effect.failCause(cause))
              })
        })
      )
    }

    const writeWaiting = (owner: UserId, waiting: Writes<A, B, E>): Effect.Effect<void> =>
      run(owner, Effect.suspend(() => written(waiting.splice(0, MAX_WRITES)))).pipe(
        Effect.catch((overloaded) =>
          Effect.sync(() => {
            for (const { resume } of waiting.splice(0)) resume(Effect.fail(overloaded))
          })
        ),
        Effect.andThen(Effect.suspend(() => {
          if (waiting.length > 0) return writeWaiting(owner, waiting)
          accounts.delete(owner)
          return Effect.void
        }))
      )

    const waitingOf = (owner: UserId) => {
      const known = accounts.get(owner)
      if (known !== undefined) return known
      const waiting: Writes<A, B, E> = []
      accounts.set(owner, waiting)
      Effect.runForkWith(context)(Effect.andThen(Effect.yieldNow, writeWaiting(owner, waiting)))
      return waiting
    }

    const gathered = (owner: UserId, value: A) =>
      Effect.callback<B, E | Overloaded>((resume) => {
        const write = { value, resume }
        const waiting = waitingOf(owner)
        waiting.push(write)
        return Effect.sync(() => {
          const place = waiting.indexOf(write)
          if (place !== -1) waiting.splice(place, 1)
        })
      })

    return (owner: UserId, value: A): Effect.Effect<B, E | Overloaded> =>
      Effect.flatMap(RunningRequests, ({ areMany }) => {
        const longest = areMany() ? QUEUE.longestCrowded : QUEUE.longest
        return (accounts.get(owner)?.length ?? 0) >= longest ? refused : gathered(owner, value)
      })
  }
})
