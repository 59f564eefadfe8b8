import type { PgConnection } from "@effect/sql-pg"
import { type Clock, Effect, type Exit, Predicate, Stream } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import { Socket } from "node:net"

type Rows = <A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>

export interface Statements {
  /** When each statement without a response began, by its connection, which runs one at a time. */
  readonly running: Map<PgConnection.PgConnection, number>
  /** Statements with a response, and successful probes. */
  responses: number
}

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
    this.statements.running.delete(this.connection)
    if (exit._tag === "Success") this.statements.responses++
    return undefined
  }

  private tracked<A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    return Effect.suspend(() => {
      this.statements.running.set(this.connection, this.clock.currentTimeMillisUnsafe())
      return Effect.onExitPrimitive(statement, this.ended)
    })
  }

  private rows(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined, isPrepared: boolean) {
    return this.tracked(
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
    return this.tracked(this.connection.query(sql, params))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(this.connection.queryValues(sql, params))
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(this.connection.queryValues(sql, params, false))
  }

  executeStream(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    const rows = this.connection.stream(sql, params)
    return transform === undefined ? rows : Stream.map(rows, (row) => transform([row])[0])
  }
}

/** The library cannot end a connection that does not respond, so its socket is read from its internals. */
const socketOf = (connection: PgConnection.PgConnection): Socket | undefined => {
  const session = Predicate.hasProperty(connection, "base") ? connection.base : connection
  if (!Predicate.hasProperty(session, "session") || !Predicate.hasProperty(session.session, "socket")) return undefined
  return session.session.socket instanceof Socket ? session.session.socket : undefined
}

export const dropConnection = (connection: PgConnection.PgConnection): void => void socketOf(connection)?.destroy()
