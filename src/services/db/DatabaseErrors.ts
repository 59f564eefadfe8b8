import { Cause, Context, type Duration, Effect, Fiber, Predicate, Schema } from "effect"
import { SqlError } from "effect/sql"

export type DatabaseError = SqlError.SqlError | Schema.SchemaError | Cause.NoSuchElementError

/** Turns failed statements, and rows that are missing or that their schema refuses, into defects. */
export const databaseDefects = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    effect,
    (error): error is Extract<E, DatabaseError> =>
      SqlError.isSqlError(error) || Schema.isSchemaError(error) || Cause.isNoSuchElementError(error),
    Effect.die
  )

/** Fails after the timeout. A query to a server that hangs does not end when interrupted, so nothing waits for it. */
export const abandonedAfter = (timeout: Duration.Input) => <A, E, R>(query: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.forkDetach(query), (running) =>
    Fiber.join(running).pipe(
      Effect.timeout(timeout),
      Effect.ensuring(Effect.sync(() => running.interruptUnsafe()))
    ))

/** Counts the responses of the database to this process, also while statements wait for a connection. */
export const DatabaseResponses = Context.Reference<Effect.Effect<number>>("route-planning-service/DatabaseResponses", {
  defaultValue: () => Effect.succeed(0)
})

/** Node's names of errors of sockets, such as `EPIPE`, have no digit. */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/

/** Returns PostgreSQL's code (SQLSTATE), which an error of the connection does not have. */
export const sqlStateOf = (cause: unknown): string | undefined =>
  Predicate.hasProperty(cause, "code") && SQL_STATE.test(String(cause.code)) ? String(cause.code) : undefined

/** Functions of this file fail in recovery with a code (55000) that others have too, and a translated message. */
const RECOVERY_FILE = "xlogfuncs.c"

const isOfReadOnly = ({ cause }: SqlError.SqlErrorReason): boolean =>
  Predicate.hasProperty(cause, "code")
  && (cause.code === "25006"
    || cause.code === "55000" && Predicate.hasProperty(cause, "file") && cause.file === RECOVERY_FILE)

/** Returns true if the server takes no writes: it is a standby, or a primary that is set so. */
export const isReadOnly = (error: unknown): boolean => SqlError.isSqlError(error) && isOfReadOnly(error.reason)

export const connectionError = (operation: string, message: string, cause: unknown = new Error(message)) =>
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause, message, operation }) })

/** Fails as the first statement that writes would, before any work is done. */
export const refuseWrites = Effect.suspend(() => {
  const message = "the database takes no writes"
  return Effect.die(connectionError("begin", message, Object.assign(new Error(message), { code: "25006" })))
})

/** The server fails, not the statement (PostgreSQL, appendix A): resources (53), start, shutdown (57P), no writes. */
export const isServerState = (reason: SqlError.SqlErrorReason): boolean =>
  isOfReadOnly(reason)
  || Predicate.hasProperty(reason.cause, "code") && /^(53|57P)/.test(String(reason.cause.code))

/** The server may have committed the transaction or not. */
export class UnknownCommit extends Schema.TaggedError<UnknownCommit>()("UnknownCommit", {
  cause: Schema.Defect()
}) {}

/** Returns whether the database takes writes. Without a primary it may still be read. */
export const DatabaseReadOnly = Context.Reference<Effect.Effect<boolean>>("route-planning-service/DatabaseReadOnly", {
  defaultValue: () => Effect.succeed(false)
})

const WAITED = new Set(["LockTimeoutError", "StatementTimeoutError"])

/** The statement waited too long, as for a lock, or was canceled. It had no effect. */
export const hasWaited = (error: unknown): error is SqlError.SqlError =>
  SqlError.isSqlError(error) && WAITED.has(error.reason._tag)

const isDeadlock = (error: unknown) => SqlError.isSqlError(error) && error.reason._tag === "DeadlockError"

/** Runs a transaction once more where PostgreSQL has rolled it back, because it and another waited for each other. */
export const againAfterDeadlock = <A, E, R>(transaction: Effect.Effect<A, E, R>) =>
  Effect.catchCause(
    transaction,
    (cause) =>
      cause.reasons.some((reason) =>
          (Cause.isFailReason(reason) && isDeadlock(reason.error)) ||
          (Cause.isDieReason(reason) && isDeadlock(reason.defect))
        )
        ? transaction
        : Effect.failCause(cause)
  )

/** Lets a read succeed if the write beside it, such as the last use of a credential, finds no room. */
export const ifThereIsRoom = <A, R>(
  write: Effect.Effect<A, SqlError.SqlError, R>,
  orElse: Effect.Effect<void> = Effect.void
): Effect.Effect<void, SqlError.SqlError, R> =>
  write.pipe(Effect.asVoid, Effect.catchIf(({ reason }) => isServerState(reason), () => orElse))

/** On this condition the commit of such a write waits neither for the disk nor for a standby, which may be away. */
export const UNCONFIRMED = "set_config('synchronous_commit', 'off', true) = 'off'"
