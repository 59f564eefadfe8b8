import {
  Context,
  DateTime,
  Duration,
  Effect,
  Latch,
  Layer,
  Metric,
  Option,
  RcRef,
  Ref,
  Schedule,
  Schema,
  type Scope
} from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { CHANGE_TYPES, type ChangeType } from "../../schema/Change.ts"
import { UserId } from "../../schema/Ids.ts"
import { Draining } from "../admission/Health.ts"
import { type Lane, makeLane, waitingForOthers } from "../admission/Lane.ts"
import { LANES } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { DatabaseNotifications } from "../db/DatabaseSessions.ts"
import { machineClock } from "../db/SharedTime.ts"
import { bigints } from "../db/Tables.ts"
import { CursorExpired, InvalidInput, Overloaded, TooManyWaiting } from "../DomainErrors.ts"
import { signedCursors } from "../operations/Keys.ts"
import { changedRows, Row, type StoredChange, type Wanted } from "./ChangedRows.ts"
import { changeNumbers, type LogState } from "./ChangeNumbers.ts"

const CHANNEL = "account_changes"

/** Notifications are lost with their connection, and do not pass a pooler of transactions. */
const POLL_INTERVAL = Duration.seconds(5)

const RECONNECT_INTERVAL = Duration.seconds(1)

const MAX_IDLE = Duration.minutes(1)

const RETRY_AFTER = Duration.seconds(5)

/** This many requests of an account, and of all accounts, may wait for a change in a process. */
export const WaitingLimits = Context.Reference<{ readonly perAccount: number; readonly total: number }>(
  "route-planning-service/WaitingLimits",
  { defaultValue: () => ({ perAccount: 1_000, total: 4_000 }) }
)

const changeWaits = Metric.gauge("change_waits", { description: "Requests that wait for a change of an account" })

interface Subscriber {
  readonly latch: Latch.Latch
  number: number
}

interface ChangeSignal {
  /** Waits for changes after this number from now on. */
  readonly rearm: (number: number) => void
  /** Ends when there may have been a change since `rearm`. */
  readonly changed: Effect.Effect<void>
}

const isUserId = Schema.is(UserId)

/**
 * Wakes requests when an account has changed: the trigger `announce_on_insert` (`announce_changes`) notifies when the
 * change is committed. While requests wait, one connection of the process listens, and a statement every few seconds
 * finds changes whose notification was lost.
 */
export class ChangeSignals extends Context.Service<ChangeSignals, {
  /** Signals changes until the scope closes. Fails with `TooManyWaiting` for an account, `Overloaded` for a process. */
  readonly subscribe: (
    owner: UserId,
    number: number
  ) => Effect.Effect<ChangeSignal, TooManyWaiting | Overloaded, Scope.Scope>
}>()("route-planning-service/ChangeSignals") {
  static readonly layer = Layer.effect(
    ChangeSignals,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const listen = yield* DatabaseNotifications
      const limits = yield* WaitingLimits
      const accounts = new Map<UserId, Set<Subscriber>>()
      const state = { total: 0 }
      yield* Metric.update(changeWaits, 0)

      const findChanged = SqlSchema.findAll({
        Request: Schema.Struct({ owners: Schema.Array(UserId), numbers: Schema.Array(Schema.Int) }),
        Result: Schema.Struct({ id: UserId }),
        execute: ({ numbers, owners }) =>
          sql`
            SELECT w.id FROM unnest(${bigints(owners)}::bigint[], ${bigints(numbers)}::bigint[]) AS w (id, number)
            WHERE EXISTS (SELECT FROM pending_changes WHERE user_id = w.id)
              OR EXISTS (SELECT FROM change_counters WHERE user_id = w.id AND last > w.number)`
      })

      const wake = (owner: UserId) => accounts.get(owner)?.forEach(({ latch }) => latch.openUnsafe())

      const poll = Effect.gen(function*() {
        if (accounts.size === 0) return
        const owners = [...accounts.keys()]
        const numbers = owners.map((owner) => Math.min(...[...accounts.get(owner) ?? []].map(({ number }) => number)))
        for (const { id } of yield* findChanged({ owners, numbers })) wake(id)
      })

      const wakeNamed = (payload: string) => {
        const owner = Number(payload)
        if (isUserId(owner)) wake(owner)
      }

      const listening = Effect.gen(function*() {
        const next = yield* listen(CHANNEL)
        yield* poll
        return yield* Effect.forever(Effect.map(next, wakeNamed))
      }).pipe(Effect.scoped)

      // Neither part ends: the poll finds changes that the notifications lose.
      const signals = yield* RcRef.make({
        acquire: Effect.all([
          listening.pipe(
            Effect.tapCause((cause) => Effect.logWarning("notifications of changes lost", cause)),
            Effect.retry(Schedule.spaced(RECONNECT_INTERVAL))
          ),
          Effect.repeat(
            Effect.catchCause(poll, (cause) => Effect.logWarning("polling for changes failed", cause)),
            Schedule.spaced(POLL_INTERVAL)
          )
        ], { concurrency: "unbounded" }).pipe(Effect.provide(machineClock), Effect.forkScoped),
        idleTimeToLive: MAX_IDLE
      })

      const add = Effect.fnUntraced(function*(owner: UserId, number: number) {
        const own = accounts.get(owner) ?? new Set()
        if (own.size >= limits.perAccount) {
          return yield* new TooManyWaiting({ retryAfterSeconds: Duration.toSeconds(RETRY_AFTER) })
        }
        if (state.total >= limits.total) {
          return yield* Overloaded.retryAfter("waiting_requests", RETRY_AFTER)
        }
        const subscriber: Subscriber = { latch: Latch.makeUnsafe(), number }
        accounts.set(owner, own.add(subscriber))
        state.total++
        yield* Metric.update(changeWaits, state.total)
        return subscriber
      })

      const remove = (owner: UserId, subscriber: Subscriber) =>
        Effect.suspend(() => {
          const own = accounts.get(owner)
          own?.delete(subscriber)
          if (own?.size === 0) accounts.delete(owner)
          state.total--
          return Metric.update(changeWaits, state.total)
        })

      return ChangeSignals.of({
        subscribe: Effect.fnUntraced(function*(owner, number) {
          const subscriber = yield* Effect.acquireRelease(add(owner, number), (added) => remove(owner, added))
          yield* RcRef.get(signals)
          return {
            changed: subscriber.latch.await,
            rearm: (covered) => {
              subscriber.latch.closeUnsafe()
              subscriber.number = covered
            }
          }
        })
      })
    })
  )
}

export class ChangeWaits extends Context.Service<ChangeWaits, {
  /**
   * Waits until a page has a change, for the duration, or until the process shuts down, and then returns an empty page.
   * A waiting request holds no connection. Fails with `TooManyWaiting` and `Overloaded` if too many wait.
   */
  readonly next: <E, R>(
    owner: UserId,
    request: ChangeRequest,
    wait: {
      readonly empty: StoredChanges
      readonly duration: Duration.Duration
      /** Fails unless the caller may still read. */
      readonly recheck: Effect.Effect<void, E, R>
    }
  ) => Effect.Effect<StoredChanges, E | InvalidInput | CursorExpired | TooManyWaiting | Overloaded, R>
}>()("route-planning-service/ChangeWaits") {
  static readonly layer = Layer.effect(
    ChangeWaits,
    Effect.gen(function*() {
      const feed = yield* ChangeFeed
      const signals = yield* ChangeSignals
      const draining = yield* Draining
      const inTurn = yield* makeLane("changes", LANES.changes)

      // A change between the read and the wait has opened the latch again.
      const untilChanged = Effect.fnUntraced(function*(
        owner: UserId,
        request: ChangeRequest,
        signal: ChangeSignal,
        latest: Ref.Ref<StoredChanges>
      ): Effect.fn.Return<void, InvalidInput | CursorExpired | Overloaded> {
        const { cursor, number } = yield* Ref.get(latest)
        signal.rearm(number)
        const page = yield* inTurn(feed.read(owner, { ...request, cursor }, (rows) => rows))
        yield* Ref.set(latest, page)
        if (page.changes.length > 0) return
        if (page.number === number) yield* waitingForOthers(signal.changed)
        yield* untilChanged(owner, request, signal, latest)
      })

      return ChangeWaits.of({
        next: Effect.fnUntraced(function*(owner, request, { duration, empty, recheck }) {
          const latest = yield* Ref.make(empty)
          const signal = yield* signals.subscribe(owner, empty.number)
          yield* untilChanged(owner, request, signal, latest).pipe(
            Effect.raceFirst(draining.begun),
            Effect.timeoutOption(duration)
          )
          yield* inTurn(recheck)
          return yield* Ref.get(latest)
        }, Effect.scoped)
      })
    })
  )
}

export interface StoredChanges {
  readonly changes: ReadonlyArray<StoredChange>
  readonly cursor: string
  readonly hasMore: boolean
  /** The page covers changes up to this number. */
  readonly number: number
}

interface ChangeRequest extends Wanted {
  readonly cursor: string | undefined
}

/** `seen` is the client's newest change, absent while that has no number. `row` is absent after the whole account. */
const Position = Schema.Struct({
  epoch: Schema.String,
  number: Schema.Int,
  row: Schema.optionalKey(Row),
  run: Schema.optionalKey(Schema.String),
  seen: Schema.optionalKey(Schema.Int),
  /** Earlier versions wrote cursors without it. */
  key: Schema.optionalKey(Schema.String)
})
type Position = typeof Position.Type

const bindingOf = (owner: UserId, include: ReadonlyArray<ChangeType>) =>
  JSON.stringify([owner, CHANGE_TYPES.filter((type) => include.includes(type))])

/**
 * Reads the whole account, then the changes since that began: each route, collection and link once in its newest state,
 * and the account's own settings. No change is lost (`changeNumbers`). `user` and the views of others are not part of
 * it: a change of the profile changes no route.
 */
export class ChangeFeed extends Context.Service<ChangeFeed, {
  /**
   * Reads a page of at most `limit` changes, and of the bytes of a list, in a turn. Fails with `InvalidInput` for a
   * cursor of another account or of other types, or one that was changed; with `CursorExpired` for one that is old or
   * from before `JWT_SECRET` was replaced.
   */
  readonly read: (
    owner: UserId,
    request: ChangeRequest,
    inTurn: Lane
  ) => Effect.Effect<StoredChanges, InvalidInput | CursorExpired | Overloaded>
}>()("route-planning-service/ChangeFeed") {
  static readonly layer = Layer.effect(
    ChangeFeed,
    Effect.gen(function*() {
      const numbers = yield* changeNumbers
      const rows = yield* changedRows
      const cursors = yield* signedCursors("changes v1", Position)

      const opened = Effect.fnUntraced(function*(owner: UserId, { cursor, include }: ChangeRequest) {
        if (cursor === undefined) return undefined
        const position = cursors.open(bindingOf(owner, include), cursor)
        if (Option.isSome(position)) return position.value
        return Option.exists(cursors.unproven(cursor), ({ key }) => key !== cursors.keyId)
          ? yield* new CursorExpired()
          : yield* InvalidInput.inQuery("cursor", "Expected the cursor of the last response, with the same include")
      })

      const started = Effect.fnUntraced(function*(position: Position | undefined, state: LogState) {
        if (position === undefined) {
          return { epoch: state.epoch, number: state.last, row: { type: CHANGE_TYPES[0], id: 0 } }
        }
        const isKept = position.run === state.run
          || position.seen !== undefined && state.kept !== null && position.seen <= state.kept
        const isKnown = position.epoch === state.epoch && isKept && position.number <= state.last
          && position.number >= state.completeFrom
        return isKnown ? position : yield* new CursorExpired()
      })

      /** Reads what is there from one row on, type after type, until the page is full. */
      const rowsFrom = Effect.fnUntraced(function*(owner: UserId, { number }: Position, from: Row, wanted: Wanted) {
        const changes: Array<StoredChange> = []
        for (const type of CHANGE_TYPES.slice(CHANGE_TYPES.indexOf(from.type))) {
          if (!wanted.include.includes(type)) continue
          const row = type === from.type ? from : { type, id: 0 }
          const limit = wanted.limit - changes.length
          if (limit === 0) return { changes, row }
          const part = yield* rows.rowsAfter(owner, number, row, { ...wanted, limit })
          if (part === undefined) return yield* new CursorExpired()
          changes.push(...part.changes)
          if (part.last !== undefined) return { changes, row: { type, id: part.last } }
        }
        return { changes, row: undefined }
      })

      /** A page may show changes committed after its number, so those that are committed now are numbered too. */
      const covering = Effect.fnUntraced(function*(owner: UserId, position: Position) {
        const { hasPending, last, run } = yield* numbers.current(owner, yield* DateTime.nowAsDate)
        return hasPending || run !== position.run ? position : { ...position, seen: last }
      })

      const page = (
        owner: UserId,
        { include }: ChangeRequest,
        position: Position,
        changes: ReadonlyArray<StoredChange>,
        hasMore: boolean
      ) => ({
        changes,
        cursor: cursors.seal(bindingOf(owner, include), { ...position, key: cursors.keyId }),
        hasMore,
        number: position.number
      })

      return ChangeFeed.of({
        read: Effect.fnUntraced(function*(owner, request, inTurn) {
          const given = yield* opened(owner, request)
          const state = yield* numbers.current(owner, yield* DateTime.nowAsDate, given?.run)
          const { row, seen, ...rest } = yield* started(given, state)
          const position = { ...rest, run: state.run }
          if (row === undefined && position.number === state.last) {
            const covered = state.hasPending ? seen : state.last
            return page(owner, request, covered === undefined ? position : { ...position, seen: covered }, [], false)
          }
          if (row !== undefined) {
            const part = yield* inTurn(rowsFrom(owner, position, row, request))
            const next = yield* covering(owner, part.row === undefined ? position : { ...position, row: part.row })
            return page(owner, request, next, part.changes, part.row !== undefined || state.last > position.number)
          }
          const part = yield* inTurn(rows.changesAfter(owner, position.number, request))
          if (part === undefined) return yield* new CursorExpired()
          const number = part.isLast ? Math.max(state.last, part.number) : part.number
          return page(owner, request, yield* covering(owner, { ...position, number }), part.changes, !part.isLast)
        }, databaseDefects)
      })
    })
  )
}
