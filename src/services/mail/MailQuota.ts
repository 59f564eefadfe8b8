import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { MAILS_A_DAY, MAILS_A_DAY_IN_ALL, MAILS_AN_HOUR } from "../../schema/Limits.ts"
import { emailKey } from "../identity/EmailAddresses.ts"
import { derivedKey } from "../keys/DerivedKeys.ts"
import { traced } from "../tracing/Traced.ts"

const HOUR = Duration.toMillis(Duration.hours(1))
const DAY = Duration.toMillis(Duration.days(1))

/** Of mails that nobody asked for. */
const NO_NETWORK = ""

/** Limits mails to one address, so that the service cannot flood a mailbox and one network cannot use up the mails of others. */
export class MailQuota extends Context.Service<MailQuota, {
  /** False, without counting, above a limit. Exact across processes; joins the transaction of the caller. */
  readonly take: (address: string, network?: string) => Effect.Effect<boolean>
  /** Whether the address may get no mail now, whichever network asks. */
  readonly isUsedUp: (address: string) => Effect.Effect<boolean>
  readonly forget: (address: string) => Effect.Effect<void>
}>()("route-planning-service/MailQuota") {
  static readonly layer = Layer.effect(
    MailQuota,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const key = yield* derivedKey("mail-quota")

      const keyed = (text: string) => createHmac("sha256", key).update(text).digest("base64url")
      const digest = (address: string) => keyed(emailKey(address))

      const sent = sql`unnest(q.sent_at, q.sent_from) AS sent(at, network)`

      const sentSince = (since: number, network?: string) =>
        sql`
          (SELECT count(*) FROM ${sent} WHERE sent.at > ${new Date(since)}::timestamptz
            AND ${network === undefined ? sql`true` : sql`sent.network = ${network}`})`

      return MailQuota.of({
        take: traced("MailQuota.take")(function*(address, network = NO_NETWORK) {
          const now = yield* Clock.currentTimeMillis
          const recipient = digest(address)
          const asking = keyed(`${recipient} ${network}`)
          const rows = yield* sql`
            INSERT INTO mail_quotas AS q (recipient, sent_at, sent_from, expires_at)
            VALUES (${recipient}, ARRAY[${new Date(now)}::timestamptz], ARRAY[${asking}], ${new Date(now + DAY)})
            ON CONFLICT (recipient) DO UPDATE SET
              (sent_at, sent_from) = (
                SELECT coalesce(array_agg(sent.at), '{}') || excluded.sent_at,
                  coalesce(array_agg(sent.network), '{}') || excluded.sent_from
                FROM ${sent} WHERE sent.at > ${new Date(now - DAY)}::timestamptz
              ),
              expires_at = excluded.expires_at
            WHERE ${sentSince(now - HOUR, asking)} < ${MAILS_AN_HOUR} AND ${
            sentSince(now - DAY, asking)
          } < ${MAILS_A_DAY}
              AND ${sentSince(now - DAY)} < ${MAILS_A_DAY_IN_ALL}
            RETURNING recipient`
          return rows.length > 0
        }, Effect.orDie),

        isUsedUp: traced("MailQuota.isUsedUp")(function*(address) {
          const dayAgo = (yield* Clock.currentTimeMillis) - DAY
          const rows = yield* sql`
            SELECT recipient FROM mail_quotas q
            WHERE recipient = ${digest(address)} AND ${sentSince(dayAgo)} >= ${MAILS_A_DAY_IN_ALL}`
          return rows.length > 0
        }, Effect.orDie),

        forget: traced("MailQuota.forget")((address) =>
          sql`DELETE FROM mail_quotas WHERE recipient = ${digest(address)}`.pipe(Effect.asVoid, Effect.orDie)
        )
      })
    })
  )
}
