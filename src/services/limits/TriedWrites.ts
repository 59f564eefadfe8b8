import { type Cause, type Clock, Effect, Exit } from "effect"
import { SqlError } from "effect/sql"
import { isWithoutRoom } from "../sql/ServerState.ts"

/** Writes at once, and those a second that may fail, so that the end of the fault is noticed. */
const TRIES = 16

/** When there is room all clients repeat their writes: for milliseconds after a failure so many run at once. */
const AFTERWARDS = { atOnce: 48, millis: 10_000 }

const isForWantOfRoom = ({ reasons }: Cause.Cause<unknown>) =>
  reasons.some((reason) => {
    if (reason._tag === "Interrupt") return false
    const error = reason._tag === "Fail" ? reason.error : reason.defect
    return SqlError.isSqlError(error) && isWithoutRoom(error.reason)
  })

/**
 * Runs writes. Where too many have just failed because the disk of the database is full, they are `refused` before any
 * work; more run with each one that succeeds.
 */
export const makeTriedWrites = <Refused>(refused: Effect.Effect<never, Refused>) => {
  const state = { running: 0, failures: 0, allowed: TRIES, countedAt: 0, failedAt: -Infinity }

  const failuresAt = (now: number) => {
    state.failures = Math.max(0, state.failures - Math.max(0, now - state.countedAt) * TRIES / 1000)
    state.countedAt = now
    return state.failures
  }

  const isRefused = (now: number) =>
    now - state.failedAt < AFTERWARDS.millis && state.running + failuresAt(now) > state.allowed - 1

  const ended = (clock: Clock.Clock) => (exit: Exit.Exit<unknown, unknown>) => {
    state.running--
    if (Exit.isSuccess(exit)) return void (state.allowed = Math.min(AFTERWARDS.atOnce, state.allowed + 1))
    if (!isForWantOfRoom(exit.cause)) return undefined
    state.allowed = TRIES
    state.failedAt = clock.currentTimeMillisUnsafe()
    state.failures = Math.min(TRIES, failuresAt(state.failedAt) + 1)
    return undefined
  }

  return <A, E, R>(write: Effect.Effect<A, E, R>) =>
    Effect.clockWith((clock): Effect.Effect<A, E | Refused, R> => {
      if (isRefused(clock.currentTimeMillisUnsafe())) return refused
      state.running++
      return Effect.onExitPrimitive(write, ended(clock))
    })
}
