import { Clock, Config, Context, Duration, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { mailCipher } from "./MailCipher.ts"
import type { Mail } from "./Mailer.ts"

/** A mail that could not be sent within a day speaks of a link that is dead. */
const LIFETIME = Duration.toMillis(Duration.hours(24))

/**
 * Mails are written in the transaction that they speak of, and sent after it: a provider that is down delays them and
 * loses none. `outboxDeliveryLayer` sends them.
 */
export class Outbox extends Context.Service<Outbox, {
  /** Writes a mail to a user, encrypted, in the transaction of the caller where there is one. It goes with the user. */
  readonly put: (userId: UserId, mail: Mail) => Effect.Effect<void>
  /** Has what was written sent now; to be called after the transaction. */
  readonly wake: Effect.Effect<void>
  /** Ends when `wake` was called since this ended the last time. For the one delivery of this process. */
  readonly woken: Effect.Effect<void>
}>()("route-planning-service/Outbox") {
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { encrypt } = mailCipher(yield* Config.Redacted("JWT_SECRET"))
      const wakeUps = yield* Queue.sliding<void>(1)

      return Outbox.of({
        put: Effect.fn("Outbox.put")(function*(userId, mail) {
          const now = yield* Clock.currentTimeMillis
          yield* sql`INSERT INTO outbox ${
            sql.insert({
              user_id: userId,
              payload: yield* encrypt(mail),
              created_at: new Date(now),
              next_attempt_at: new Date(now),
              expires_at: new Date(now + LIFETIME)
            })
          }`
        }, Effect.orDie),
        wake: Effect.asVoid(Queue.offer(wakeUps, undefined)),
        woken: Queue.take(wakeUps)
      })
    })
  )
}
