import type { PgConnection } from "@effect/sql-pg"
import { type Clock, Effect, type Exit, Predicate, Stream } from "effect"
import { type SqlConnection, SqlError } from "effect/sql"
import { Socket } from "node:net"
import type { BlockedStatements } from "./BlockedStatements.ts"

/** A statement without a response yet, by the process id of its back end, which runs one at a time. */
export interface Running {
  readonly connection: PgConnection.PgConnection
  readonly sql: string
  readonly since: number
  readonly isTry: boolean
}

const lockTimeout = () =>
  new SqlError.SqlError({
    reason: new SqlError.LockTimeoutError({
      cause: new Error("Too many statements wait for a lock"),
      operation: "query"
    })
  })

type Rows = <A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>

export interface Statements {
  readonly running: Map<number, Running>
  readonly blocked: BlockedStatements
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
    const { blocked, running } = this.statements
    if (!blocked.isEmpty) this.report(exit)
    running.delete(this.connection.processId)
    if (exit._tag === "Success") this.statements.responses++
    return undefined
  }

  private report(exit: Exit.Exit<unknown, unknown>) {
    const { blocked, running } = this.statements
    const ended = running.get(this.connection.processId)
    if (ended !== undefined) blocked.ended(ended.sql, ended.isTry, exit, this.clock.currentTimeMillisUnsafe())
  }

  private tracked<A>(sql: string, statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    return Effect.suspend(() => {
      const { blocked, running } = this.statements
      const since = this.clock.currentTimeMillisUnsafe()
      const admitted = blocked.isEmpty ? "runs" : blocked.admit(sql, since)
      if (admitted === "fails") return Effect.fail(lockTimeout())
      running.set(this.connection.processId, { connection: this.connection, sql, since, isTry: admitted === "tries" })
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

/** The library cannot end a connection that does not respond, so its socket is read from its internals. */
const socketOf = (connection: PgConnection.PgConnection): Socket | undefined => {
  const session = Predicate.hasProperty(connection, "base") ? connection.base : connection
  if (!Predicate.hasProperty(session, "session") || !Predicate.hasProperty(session.session, "socket")) return undefined
  return session.session.socket instanceof Socket ? session.session.socket : undefined
}

export const bytesRead = (connection: PgConnection.PgConnection): number => socketOf(connection)?.bytesRead ?? 0

export const dropConnection = (connection: PgConnection.PgConnection): void => void socketOf(connection)?.destroy()
