import { Context, Duration, Effect, Layer, Semaphore } from "effect"
import type { UserId } from "../../schema/Ids.ts"
import type { Overloaded } from "../DomainErrors.ts"
import { settings } from "../settings/Registry.ts"
import { bulkheadGauges, initialTurns, type Turns, turnsBy } from "./Turns.ts"

/** Of the connections. At least two, so that the second begins as soon as the first has committed. */
const SHARE = 0.4

const QUEUE = { longest: 256, longestCrowded: 8 }

const LONGEST_WAIT = Duration.seconds(2)

/** The account whose turn a fiber has. */
const HeldTurn = Context.Reference<UserId | undefined>("route-planning-service/WriterTurns/HeldTurn", {
  defaultValue: () => undefined
})

/**
 * Writes that count the usage of one account wait for each other in the database. Here they do so before they have a
 * connection, so that an account leaves the others to the rest: each service that makes such a write takes a turn around
 * its transaction. Work in a turn of the same account needs no other. Fails with `Overloaded` after 2 seconds.
 */
export class WriterTurns extends Context.Service<WriterTurns, {
  readonly run: <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>
}>()("route-planning-service/WriterTurns") {
  static readonly layer = Layer.effect(
    WriterTurns,
    Effect.gen(function*() {
      const atOnce = Math.max(2, Math.floor((yield* settings.DATABASE_POOL_SIZE) * SHARE))
      const options = {
        longestQueue: QUEUE.longest,
        longestCrowdedQueue: QUEUE.longestCrowded,
        longestWait: LONGEST_WAIT,
        countsQueued: true,
        reason: "writes" as const,
        ...bulkheadGauges("writes")
      }
      yield* initialTurns(options)
      const accounts = new Map<UserId, { readonly turns: Turns; writers: number }>()

      const enter = (owner: UserId) => {
        const account = accounts.get(owner) ?? { turns: turnsBy(Semaphore.makeUnsafe(atOnce), options), writers: 0 }
        account.writers += 1
        accounts.set(owner, account)
        return account
      }

      return WriterTurns.of({
        run: (owner, work) =>
          Effect.flatMap(HeldTurn, (held) =>
            held === owner ? work : Effect.acquireUseRelease(
              Effect.sync(() => enter(owner)),
              ({ turns }) => turns(Effect.provideService(work, HeldTurn, owner)),
              (account) =>
                Effect.sync(() => {
                  account.writers -= 1
                  if (account.writers === 0) accounts.delete(owner)
                })
            ))
      })
    })
  )
}
