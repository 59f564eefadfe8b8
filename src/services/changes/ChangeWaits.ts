import { Context, Duration, Effect, Layer, Ref } from "effect"
import type { UserId } from "../../schema/Ids.ts"
import type { CursorExpired, InvalidInput, Overloaded, TooManyWaiting } from "../DomainErrors.ts"
import { waitingForOthers } from "../limits/RunningRequests.ts"
import { bulkheadGauges, makeTurns } from "../limits/Turns.ts"
import { Draining } from "../operations/Draining.ts"
import { traced } from "../tracing/Traced.ts"
import { ChangeFeed, type ChangeRequest, type StoredChanges } from "./ChangeFeed.ts"
import { type ChangeSignal, ChangeSignals } from "./ChangeSignals.ts"

/** A thousand requests that wake at once may use so many connections. */
const READS_AT_ONCE = 2

const LONGEST_TURN = Duration.seconds(30)

/** Reads the changes of an account, and waits for one where there is none. */
export class ChangeWaits extends Context.Service<ChangeWaits, {
  /**
   * Waits until a page has a change, for the duration, or until the process shuts down, and then returns an empty page.
   * While it waits it holds no connection. `TooManyWaiting` and `Overloaded` where too many wait.
   */
  readonly next: <E, R>(
    owner: UserId,
    request: ChangeRequest,
    wait: {
      readonly empty: StoredChanges
      readonly duration: Duration.Duration
      /** Whether the caller may still read. */
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
      const inTurn = yield* makeTurns({
        atOnce: READS_AT_ONCE,
        longestWait: LONGEST_TURN,
        reason: "changes",
        ...bulkheadGauges("changes")
      })

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
        next: traced("ChangeWaits.next")(function*(owner, request, { duration, empty, recheck }) {
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
