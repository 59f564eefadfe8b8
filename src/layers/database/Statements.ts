import type { PgConnection } from "@effect/sql-pg"
import { type Clock, Effect, type Exit, Predicate, Stream } from "effect"
import { type SqlConnection, SqlError } from "effect/sql"
import { Socket } from "node:net"

/** A statement that was sent and has not ended, by the process id of its back end: each has one at a time. */
export interface Running {
  readonly connection: PgConnection.PgConnection
  readonly sql: string
  /** In milliseconds. */
  readonly since: number
}

const lockTimeout = () =>
  new SqlError.SqlError({
    reason: new SqlError.LockTimeoutError({
      cause: new Error("Too many statements wait for a lock"),
      operation: "query"
    })
  })

type Rows = <A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>

/** What the connections of a pool work on. */
export interface Statements {
  readonly running: Map<number, Running>
  /** Statements that are not sent, since too many wait for a lock that they need, and until when. */
  readonly blocked: Map<string, number>
  /** How many have ended with a response, and probes of the server. */
  answered: number
}

/** A connection of the pool as statements use it. */
export class PooledConnection implements SqlConnection.Connection {
  readonly connection: PgConnection.PgConnection
  readonly statements: Statements
  readonly clock: Clock.Clock

  constructor(connection: PgConnection.PgConnection, statements: Statements, clock: Clock.Clock) {
    this.connection = connection
    this.statements = statements
    this.clock = clock
  }

  private readonly ended = (exit: Exit.Exit<unknown, unknown>) => {
    this.statements.running.delete(this.connection.processId)
    if (exit._tag === "Success") this.statements.answered++
    return undefined
  }

  private tracked<A>(sql: string, statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    return Effect.suspend(() => {
      if (this.statements.blocked.has(sql)) return Effect.fail(lockTimeout())
      this.statements.running.set(this.connection.processId, {
        connection: this.connection,
        sql,
        since: this.clock.currentTimeMillisUnsafe()
      })
      return Effect.onExitPrimitive(statement, this.ended)
    })
  }

  private rows(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined, isPrepared: boolean) {
    return this.tracked(
      sql,
      Effect.map(
        this.connection.query(sql, params, isPrepared),
        ({ rows }) => transform === undefined ? rows : transform(rows)
      )
    )
  }

  execute(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    return this.rows(sql, params, transform, true)
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    return this.rows(sql, params, transform, false)
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(sql, this.connection.query(sql, params))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(sql, this.connection.queryValues(sql, params))
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(sql, this.connection.queryValues(sql, params, false))
  }

  executeStream(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    const rows = this.connection.stream(sql, params)
    return transform === undefined ? rows : Stream.map(rows, (row) => transform([row])[0])
  }
}

/** The library has no way to end a connection that does not respond, so its socket is taken from the inside of it. */
const socketOf = (connection: PgConnection.PgConnection): Socket | undefined => {
  const session = Predicate.hasProperty(connection, "base") ? connection.base : connection
  if (!Predicate.hasProperty(session, "session") || !Predicate.hasProperty(session.session, "socket")) return undefined
  return session.session.socket instanceof Socket ? session.session.socket : undefined
}

export const bytesRead = (connection: PgConnection.PgConnection): number => socketOf(connection)?.bytesRead ?? 0

/** Ends a connection at once, and with an error the statement that waits on it. */
export const dropConnection = (connection: PgConnection.PgConnection): void => void socketOf(connection)?.destroy()
