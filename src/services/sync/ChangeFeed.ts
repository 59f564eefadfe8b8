import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CHANGE_TYPES, type ChangeType } from "../../schema/Change.ts"
import type { UserId } from "../../schema/Ids.ts"
import type { Lane } from "../admission/Lane.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { CursorExpired, InvalidInput, type Overloaded } from "../DomainErrors.ts"
import { signedCursors } from "../operations/Keys.ts"
import { changedRows, Row, type StoredChange, type Wanted } from "./ChangedRows.ts"
import { changeNumbers, type LogState } from "./ChangeNumbers.ts"

export interface StoredChanges {
  readonly changes: ReadonlyArray<StoredChange>
  readonly cursor: string
  readonly hasMore: boolean
  /** Changes up to this number are covered. */
  readonly number: number
}

export interface ChangeRequest extends Wanted {
  readonly cursor: string | undefined
}

/**
 * `row` is absent once the whole account was read. The client has seen nothing that is newer than the change `seen`; where that is
 * absent, what it has seen has no number yet.
 */
const Position = Schema.Struct({
  epoch: Schema.String,
  number: Schema.Int,
  row: Schema.optionalKey(Row),
  run: Schema.optionalKey(Schema.String),
  seen: Schema.optionalKey(Schema.Int)
})
type Position = typeof Position.Type

const bindingOf = (owner: UserId, include: ReadonlyArray<ChangeType>) =>
  JSON.stringify([owner, CHANGE_TYPES.filter((type) => include.includes(type))])

/**
 * The changes of an account, each route, collection and link once in its newest state, and the account's own settings. It reads
 * the whole account first, then the changes since that began. No change is lost: see `changeNumbers` for their order. `user` and the views of others
 * are not part of it: a change of the profile changes no route.
 */
export class ChangeFeed extends Context.Service<ChangeFeed, {
  /**
   * Reads a page of at most `limit` changes, and of the bytes of a list. `InvalidInput` for a cursor of another account
   * or of other types, or one that was changed; `CursorExpired`. Rows are read in a turn.
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
        return Option.isSome(position)
          ? position.value
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

      /** A page may show changes that were committed after its number, so those that are committed now are numbered too. */
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
        cursor: cursors.seal(bindingOf(owner, include), position),
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
