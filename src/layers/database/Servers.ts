import { PgConnection, PgPool } from "@effect/sql-pg"
import { Clock, Context, Duration, Effect, Exit, Metric, Predicate, Result, Schema, Scope } from "effect"
import { SqlError } from "effect/sql"
import { abandonedAfter, connectionError, isServerState } from "../../services/db/DatabaseErrors.ts"
import { dropConnection } from "../../upstream/ConnectionSocket.ts"
import { keepChecking, type Statements } from "./Watch.ts"

/** `timeline` is 0 in recovery, `received` and `replayed` on a primary. A pooler's connection has another `pid`. */
const ROLE = `
  SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only')::bool AS "isReadOnly",
    (SELECT system_identifier::text FROM pg_control_system()) AS system,
    CASE WHEN pg_is_in_recovery() THEN 0
      ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline,
    CASE WHEN pg_is_in_recovery() THEN coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::float8, 0)
      ELSE 0 END AS received,
    CASE WHEN pg_is_in_recovery() THEN coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8, 0)
      ELSE 0 END AS replayed`

const Role = Schema.Struct({
  pid: Schema.Int,
  isReadOnly: Schema.Boolean,
  system: Schema.String,
  timeline: Schema.Int,
  received: Schema.Finite,
  replayed: Schema.Finite
})
type Role = typeof Role.Type

const decodeRole = Schema.decodeUnknownEffect(Schema.Tuple([Role]))

/** `role` is the role that the server had when it was last asked. */
export interface Server {
  readonly config: PgConnection.Config
  readonly role: Role
}

const isSame = (one: Server, other: Server) => one.config === other.config && one.role.timeline === other.role.timeline

const roleOf = (connection: PgConnection.PgConnection) =>
  connection.query(ROLE, [], false).pipe(
    Effect.flatMap(({ rows }) => Effect.orDie(decodeRole(rows))),
    Effect.map(([role]) => role)
  )

const ask = (config: PgConnection.Config): Effect.Effect<Server, SqlError.SqlError> =>
  PgConnection.make(config).pipe(
    Effect.flatMap(roleOf),
    Effect.map((role) => ({ config, role })),
    Effect.scoped
  )

/** `config` connects to the server that takes writes at present. */
export class PrimaryServer extends Context.Service<PrimaryServer, {
  readonly config: () => PgConnection.Config
}>()("route-planning-service/PrimaryServer") {}

const readOnly = () => connectionError("connect", "the server takes no writes: it is a standby, or read-only")

export const mayComeUp = ({ reason }: SqlError.SqlError) => reason._tag === "ConnectionError" || isServerState(reason)

/** Returns what the server or the socket says, which the driver's message does not repeat. */
export const reasonOf = ({ reason: { cause, message } }: SqlError.SqlError) =>
  Predicate.hasProperty(cause, "message") ? String(cause.message) : message

const newest = (servers: ReadonlyArray<Server>): Server | undefined =>
  servers.filter(({ role }) => !role.isReadOnly).toSorted((one, other) => other.role.timeline - one.role.timeline)[0]

/** Returns the server that takes writes, or fails with the reason why there is none. */
export const findWritable = Effect.fnUntraced(function*(hosts: ReadonlyArray<PgConnection.Config>) {
  const results = yield* Effect.forEach(hosts, (host) => Effect.result(ask(host)), { concurrency: "unbounded" })
  const writable = newest(results.filter(Result.isSuccess).map(({ success }) => success))
  if (writable !== undefined) return writable
  const failures = results.filter(Result.isFailure).map(({ failure }) => failure)
  const final = failures.find((error) => !mayComeUp(error))
  return yield* final ?? (failures.length < results.length ? readOnly() : failures[0] ?? readOnly())
})

const READ_ONLY = Metric.gauge("database_read_only", {
  description: "1 while the database takes no writes, as without a primary"
})

const LOOK_INTERVAL = Duration.seconds(1)

/** The hosts are asked at this interval while there is no primary. */
const SEARCH_INTERVAL = Duration.millis(250)

const LOOK_TIMEOUT = Duration.millis(750)

const answer = (host: PgConnection.Config) => Effect.result(abandonedAfter(LOOK_TIMEOUT)(ask(host)))

/** Without a primary, reads wait this long for a standby with all commits: one may be received and not yet replayed. */
const LONGEST_DOUBT = Duration.seconds(3)

/** A server that froze after the handshake would hold its connection, and the end of the process, for ever. */
const MEET_TIMEOUT = Duration.seconds(2)

/** A connection is replaced after this time at the latest, even if it leads to the primary. */
const LONGEST_LIFE = Duration.minutes(30)

/** Requests that wait for the old pool get a connection or its error: opening a connection takes less than this. */
const CLOSE_DELAY = Duration.seconds(5)

interface Options {
  readonly first: Server
  readonly hosts: ReadonlyArray<PgConnection.Config>
  readonly maxConnections: number
  readonly statements: Statements
}

/**
 * Returns a pool of connections to the primary. Each second it asks all hosts, over separate connections, which one
 * takes writes. If that is another server, has a newer timeline, or is back after there was none, a new pool replaces
 * the old one, whose transactions end unless server and timeline are the same. A new connection to a primary of an
 * older timeline than this process has seen is refused, since the servers of the newer one lack its writes. While no
 * server takes writes, reads use the standby that has replayed the most, once none has received more.
 */
export const primaryPool = Effect.fnUntraced(
  function*({ first, hosts, maxConnections, statements }: Options) {
    const clock = yield* Clock.Clock
    const scope = yield* Effect.scope

    const open = Effect.fnUntraced(function*(server: Server) {
      const own = yield* Scope.fork(scope)
      const pool = yield* Scope.provide(PgPool.make({ ...server.config, maxConnections }), own)
      return { openedAt: statements.now(), pool, scope: own, server }
    })
    const met = new WeakSet<PgConnection.PgConnection>()
    const state = {
      current: yield* open(first),
      newest: first.role,
      isLost: false,
      lostBy: "",
      isReportedReadOnly: false,
      doubtedSince: Infinity,
      lookedAt: statements.now()
    }
    yield* Metric.update(READ_ONLY, 0)

    const isOlder = (role: Role) =>
      role.timeline > 0 && role.system === state.newest.system && role.timeline < state.newest.timeline

    const meet = Effect.fnUntraced(function*(connection: PgConnection.PgConnection) {
      const ending = yield* Effect.sync(() => dropConnection(connection)).pipe(
        Effect.delay(MEET_TIMEOUT),
        Effect.provideService(Clock.Clock, clock),
        Effect.forkDetach
      )
      const role = yield* Effect.ensuring(roleOf(connection), Effect.sync(() => ending.interruptUnsafe()))
      if (isOlder(role)) {
        dropConnection(connection)
        return yield* connectionError(
          "connect",
          `the server is of timeline ${role.timeline}, and one of timeline ${state.newest.timeline} has been seen`
        )
      }
      if (role.isReadOnly) statements.isReadOnly = true
      else state.newest = role
      met.add(connection)
    })

    const follow = Effect.fnUntraced(function*(server: Server) {
      const { current } = state
      state.current = yield* open(server)
      yield* Scope.close(current.scope, Exit.void).pipe(Effect.delay(CLOSE_DELAY), Effect.forkIn(scope))
      if (isSame(current.server, server)) return
      for (const connection of statements.reserved) dropConnection(connection)
      yield* Effect.logInfo("database server changed", { timeline: server.role.timeline })
    })

    const report = Effect.suspend(() => {
      const { isReadOnly } = statements
      if (isReadOnly === state.isReportedReadOnly) return Effect.void
      state.isReportedReadOnly = isReadOnly
      return Effect.andThen(
        Metric.update(READ_ONLY, isReadOnly ? 1 : 0),
        isReadOnly
          ? Effect.logError("database takes no writes")
          : Effect.logInfo("database takes writes again")
      )
    })

    // No response in time may be a busy event loop: `Watch.ts` says whether the database hangs.
    const noteLoss = Effect.fnUntraced(function*(refusal: SqlError.SqlError | undefined) {
      const { lostBy } = state
      state.lostBy = state.isLost ? lostBy || (refusal === undefined ? "" : reasonOf(refusal)) : ""
      if (state.lostBy === lostBy) return
      yield* state.lostBy === ""
        ? Effect.logInfo("database reachable again")
        : Effect.logError("database not reachable", { reason: state.lostBy })
    })

    const look = Effect.gen(function*() {
      const answers = yield* Effect.forEach(hosts, answer, { concurrency: "unbounded" })
      const found = answers.filter(Result.isSuccess).map(({ success }) => success)
      const servers = found.filter(({ role }) => !isOlder(role))
      const { openedAt, server } = state.current
      const primary = newest(servers)
      state.isLost = servers.length === 0
      yield* noteLoss(answers.filter(Result.isFailure).map(({ failure }) => failure).find(SqlError.isSqlError))
      if (primary !== undefined) {
        const isFit = isSame(server, primary) && !statements.isReadOnly &&
          statements.now() - openedAt < Duration.toMillis(LONGEST_LIFE)
        state.newest = primary.role
        state.doubtedSince = Infinity
        if (!isFit) yield* follow(primary)
        statements.isReadOnly = false
        return undefined
      }
      const isUsed = ({ config }: Server) => config === server.config
      const standby = servers.toSorted((one, other) =>
        other.role.replayed - one.role.replayed || Number(isUsed(other)) - Number(isUsed(one))
      )[0]
      if (standby === undefined) {
        return undefined
      }
      // The one host that may be silent is the lost primary, or the only standby that has the last writes.
      const isComplete = found.length >= hosts.length - 1
        && servers.every(({ role }) =>
          role.received <= standby.role.replayed
        )
      state.doubtedSince = isComplete ? -Infinity : Math.min(state.doubtedSince, statements.now())
      if (statements.now() - state.doubtedSince < Duration.toMillis(LONGEST_DOUBT)) return undefined
      if (!isUsed(standby)) yield* follow(standby)
      statements.isReadOnly = true
      return undefined
    })

    const check = Effect.suspend(() => {
      const isSearching = statements.isReadOnly || state.isLost || state.doubtedSince < Infinity
      const interval = isSearching ? SEARCH_INTERVAL : LOOK_INTERVAL
      if (statements.now() - state.lookedAt < Duration.toMillis(interval)) return Effect.void
      state.lookedAt = statements.now()
      return look
    })

    yield* keepChecking(Effect.andThen(check, report), "search for the primary failed")

    const get = Effect.suspend(() =>
      Effect.tap(state.current.pool.get, (lent) => met.has(lent) ? Effect.void : meet(lent))
    )
    return {
      config: () => state.current.server.config,
      get,
      reserve: Effect.flatMap(get, (lent) => Effect.andThen(statements.reserve(lent), lent.pin)),
      use: <A, E, R>(work: (lent: PgConnection.PgConnection) => Effect.Effect<A, E, R>) =>
        Effect.suspend(() =>
          state.current.pool.use((lent): Effect.Effect<A, E | SqlError.SqlError, R> =>
            met.has(lent) ? work(lent) : Effect.andThen(meet(lent), work(lent))
          )
        )
    }
  }
)
