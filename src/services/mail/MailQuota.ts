import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { MAILS_A_DAY, MAILS_AN_HOUR } from "../../schema/Limits.ts"
import { emailKey } from "../identity/EmailAddresses.ts"
import { derivedKey } from "../keys/DerivedKeys.ts"
import { traced } from "../tracing/Traced.ts"

const HOUR = Duration.toMillis(Duration.hours(1))
const DAY = Duration.toMillis(Duration.days(1))

/** Limits mails to one address, so that the service cannot flood a mailbox. */
export class MailQuota extends Context.Service<MailQuota, {
  /** False, without counting, above the limit. Exact across processes; joins the transaction of the caller. */
  readonly take: (address: string) => Effect.Effect<boolean>
  readonly forget: (address: string) => Effect.Effect<void>
}>()("route-planning-service/MailQuota") {
  static readonly layer = Layer.effect(
    MailQuota,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const key = yield* derivedKey("mail-quota")

      const digest = (address: string) => createHmac("sha256", key).update(emailKey(address)).digest("base64url")

      const sentSince = (since: Date) =>
        sql`(SELECT count(*) FROM unnest(q.sent_at) AS sent(at) WHERE sent.at > ${since}::timestamptz)`

      return MailQuota.of({
        take: traced("MailQuota.take")(function*(address) {
          const now = yield* Clock.currentTimeMillis
          const at = new Date(now)
          const hourAgo = new Date(now - HOUR)
          const dayAgo = new Date(now - DAY)
          const rows = yield* sql`
            INSERT INTO mail_quotas AS q (recipient, sent_at, expires_at)
            VALUES (${digest(address)}, ARRAY[${at}::timestamptz], ${new Date(now + DAY)})
            ON CONFLICT (recipient) DO UPDATE SET
              sent_at = ARRAY(
                SELECT sent.at FROM unnest(q.sent_at) AS sent(at) WHERE sent.at > ${dayAgo}::timestamptz
              ) || excluded.sent_at,
              expires_at = excluded.expires_at
            WHERE ${sentSince(hourAgo)} < ${MAILS_AN_HOUR} AND ${sentSince(dayAgo)} < ${MAILS_A_DAY}
            RETURNING recipient`
          return rows.length > 0
        }, Effect.orDie),

        forget: traced("MailQuota.forget")((address) =>
          sql`DELETE FROM mail_quotas WHERE recipient = ${digest(address)}`.pipe(Effect.asVoid, Effect.orDie)
        )
      })
    })
  )
}
