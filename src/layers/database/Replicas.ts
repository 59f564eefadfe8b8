import { PgClient, PgConnection } from "@effect/sql-pg"
import {
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Metric,
  Option,
  type Redacted,
  Schema,
  Scope
} from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { ReplicaState } from "../../schema/Admin.ts"
import { abandonedAfter } from "../../services/db/DatabaseErrors.ts"
import { ReadReplicas, type Replicas } from "../../services/db/ReadReplicas.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { dropConnection } from "../../upstream/ConnectionSocket.ts"
import { PrimaryServer, reasonOf } from "./Servers.ts"

const PRIMARY = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS position"

/** A server that is no standby, such as a promoted one, has NaN: no position that could be compared. */
const STANDBY = `
  SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 ELSE 'NaN' END
    AS position`

const decodePosition = Schema.decodeUnknownEffect(Schema.Tuple([Schema.Struct({ position: Schema.Number })]))

/** All servers of a cluster may be named, so that the one that takes writes is no replica, and none that is away. */
class TakesWrites extends Schema.TaggedError<TakesWrites>()("TakesWrites", {}) {}

const LONGEST_INTERVAL = Duration.millis(250)

/** The position is read this many times within the longest lag, so that the measured lag is near the real one. */
const ASKED_IN_LAG = 4

const RESPONSE_TIMEOUT = Duration.seconds(1)

const RECONNECT_INTERVAL = Duration.seconds(1)

/** The loss of a primary that refuses connections is known after this time. */
const NOTICED_WITHIN = Duration.millis(500)

/** A replica that takes longer than this for a page is slower than the primary. */
const READ_TIMEOUT = Duration.seconds(2)

const KEPT_POSITIONS = 256

const lag = (replica: number) =>
  Metric.gauge("database_replica_lag_seconds", {
    description: "Age of the newest commit that the replica has, -1 while it is not used, and NaN for the primary",
    attributes: { replica: String(replica) }
  })

interface Position {
  readonly position: number
  /** The position was requested at this time, in milliseconds: it contains all earlier commits. */
  readonly at: number
}

interface Replica {
  readonly url: Redacted.Redacted
  /** The first replica has the number 1. */
  readonly number: number
  /** The client is undefined while the replica is away. */
  client: SqlClient.SqlClient | undefined
  /** The replica has all commits up to this time, in milliseconds. */
  upTo: number
  reported: "away" | "takes writes" | undefined
}

const again = <E, R>(life: Effect.Effect<unknown, E, R>) =>
  life.pipe(
    Effect.andThen(Effect.sleep(RECONNECT_INTERVAL)),
    Effect.forever,
    Effect.forkScoped
  )

/** Compares each replica's replay position with the primary's: this works for every role, and without writes. */
const follow = Effect.fnUntraced(function*(urls: ReadonlyArray<Redacted.Redacted>, maxConnections: number) {
  const maxLag = yield* settings.DATABASE_READ_MAX_LAG
  const primary = yield* PrimaryServer
  const clock = yield* Clock.Clock
  const { transactionService } = yield* SqlClient.SqlClient
  const now = () => clock.currentTimeMillisUnsafe()
  const interval = Duration.min(LONGEST_INTERVAL, Duration.times(maxLag, 1 / ASKED_IN_LAG))
  const replicas = urls.map((url, index): Replica => ({
    url,
    number: index + 1,
    client: undefined,
    upTo: -Infinity,
    reported: undefined
  }))
  const state: { positions: ReadonlyArray<Position>; isAway: boolean; turn: number } = {
    positions: [],
    isAway: true,
    turn: 0
  }

  /** Reads the position of a server at every interval, and fails once the server does not respond. */
  const ask = Effect.fnUntraced(function*<E>(
    config: PgConnection.Config,
    query: string,
    note: (position: Position) => Effect.Effect<void, E>
  ) {
    const connection = yield* PgConnection.make(config)
    yield* Effect.addFinalizer(() => Effect.sync(() => dropConnection(connection)))
    const once = Effect.gen(function*() {
      const at = now()
      const { rows } = yield* abandonedAfter(RESPONSE_TIMEOUT)(connection.query(query, []))
      const [{ position }] = yield* decodePosition(rows)
      yield* note({ position, at })
    })
    return yield* Effect.forever(Effect.andThen(once, Effect.sleep(interval)))
  }, Effect.scoped)

  const notePrimary = (position: Position) =>
    Effect.sync(() => {
      // A promoted primary begins where its timeline does, which may be before the end of the last timeline.
      const known = state.positions.filter((each) => each.position < position.position)
      state.positions = [...known, position].slice(-KEPT_POSITIONS)
      state.isAway = false
    })

  const primaryLife = Effect.suspend(() => ask(primary.config(), PRIMARY, notePrimary)).pipe(
    Effect.ensuring(Effect.sync(() => state.isAway = true)),
    Effect.ignore
  )

  /** Returns up to when commits may exist, in milliseconds: a lost primary has none after its last position. */
  const present = () => state.isAway ? state.positions.at(-1)?.at ?? Infinity : now()

  const lagOf = ({ upTo }: Replica) => Math.max(0, present() - upTo) / 1000

  const isUsed = ({ client, upTo }: Replica) => client !== undefined && present() - upTo <= Duration.toMillis(maxLag)

  const noteReplica = (replica: Replica) => ({ position }: Position) =>
    Effect.suspend(() => {
      const known = state.positions.findLast((each) => each.position <= position)
      replica.upTo = known?.at ?? -Infinity
      return Metric.update(lag(replica.number), isUsed(replica) ? lagOf(replica) : -1)
    })

  const replicaLife = Effect.fnUntraced(function*(replica: Replica) {
    const { number, url } = replica
    const config = { ...primary.config(), url }
    const scope = yield* Scope.make()
    const use = Effect.fnUntraced(function*(client: SqlClient.SqlClient) {
      if (replica.client !== undefined) return
      replica.client = client
      replica.reported = undefined
      yield* Effect.logInfo("read replica found", { replica: number })
    })
    const serve = Effect.gen(function*() {
      const built = yield* Layer.buildWithScope(PgClient.layer({ ...config, maxConnections }), scope)
      const note = noteReplica(replica)
      return yield* ask(
        config,
        STANDBY,
        (position) =>
          Number.isNaN(position.position)
            ? Effect.fail(new TakesWrites())
            : Effect.andThen(use(Context.get(built, SqlClient.SqlClient)), note(position))
      )
    })
    const report = Effect.fnUntraced(function*(error: Effect.Error<typeof serve>) {
      const is = error._tag === "TakesWrites" ? "takes writes" : "away"
      if (is === "takes writes") yield* Metric.update(lag(number), Number.NaN)
      if (replica.reported === is) return
      replica.reported = is
      if (is === "takes writes") return yield* Effect.logInfo("read replica takes writes", { replica: number })
      const reason = SqlError.isSqlError(error) ? reasonOf(error) : error._tag
      yield* Effect.logWarning("read replica away", { replica: number, reason })
    })
    const end = Effect.gen(function*() {
      Object.assign(replica, { client: undefined, upTo: -Infinity })
      yield* Metric.update(lag(number), -1)
      // The connections to a server that hangs may not close.
      yield* Effect.forkDetach(Scope.close(scope, Exit.void))
    })
    yield* serve.pipe(Effect.ensuring(end), Effect.catch(report))
  })

  yield* again(primaryLife)
  yield* Effect.forEach(replicas, (replica) => again(replicaLife(replica)), { discard: true })

  const next = () => {
    const used = replicas.filter(isUsed)
    return used[state.turn++ % used.length]?.client
  }

  const read: Replicas["read"] = <A, E, R>(read: Effect.Effect<A, E | SqlError.SqlError, R>) =>
    Effect.suspend(() => {
      const client = next()
      if (client === undefined) return Effect.succeedNone
      const reading = Effect.scoped(Effect.flatMap(
        client.reserve,
        (connection) => Effect.provideService(read, transactionService, [connection, 0])
      ))
      // An interrupted query to a server that hangs does not end, so nothing waits for it.
      return Effect.flatMap(Effect.forkDetach(reading), (running) =>
        Fiber.await(running).pipe(
          Effect.timeoutOption(READ_TIMEOUT),
          Effect.provideService(Clock.Clock, clock),
          Effect.ensuring(Effect.sync(() => running.interruptUnsafe())),
          // A pool that closes interrupts the reads that wait for it.
          Effect.flatMap((exit) =>
            Option.isNone(exit) || Exit.hasInterrupts(exit.value) ? Effect.succeedNone : Effect.asSome(exit.value)
          )
        ))
    }).pipe(
      Effect.catch((error): Effect.Effect<Option.Option<A>, E> =>
        SqlError.isSqlError(error) ? Effect.succeedNone : Effect.fail(error)
      )
    )

  const stateOf = (replica: Replica): ReplicaState => {
    const lagSeconds = lagOf(replica)
    const status = isUsed(replica) ? "ok" : "behind"
    return {
      replica: replica.number,
      status: replica.client === undefined ? "away" : status,
      ...Number.isFinite(lagSeconds) ? { lagSeconds } : {}
    }
  }

  return {
    read,
    states: Effect.sync(() => replicas.map(stateOf)),
    isPrimaryAway: Effect.suspend(() =>
      state.isAway ? Effect.succeed(true) : Effect.map(Effect.sleep(NOTICED_WITHIN), () => state.isAway)
    ).pipe(Effect.provideService(Clock.Clock, clock))
  }
})

/** Provides `ReadReplicas` for `DATABASE_READ_URL`. A replica that is away delays no start. */
export const replicasLayer = (maxConnections: number) =>
  Layer.unwrap(Effect.map(settings.DATABASE_READ_URL, (urls) =>
    Option.match(urls, {
      onNone: () => Layer.empty,
      onSome: (urls) => Layer.effect(ReadReplicas, follow(urls, maxConnections))
    })))
