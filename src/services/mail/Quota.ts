import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { createHmac } from "node:crypto"
import { MAILS_A_DAY, MAILS_A_DAY_IN_ALL, MAILS_AN_HOUR } from "../../schema/Limits.ts"
import { emailKey } from "../identity/Users.ts"
import { derivedKey } from "../operations/Keys.ts"

const HOUR = Duration.toMillis(Duration.hours(1))
const DAY = Duration.toMillis(Duration.days(1))

/** The limits of notices, which nobody requests. */
const NO_NETWORK = ""

/** Limits mails to one address, so that the service cannot flood a mailbox and one network cannot use up the mails of others. */
export class MailQuota extends Context.Service<MailQuota, {
  /**
   * False, without counting, above a limit. A mail without a network is a notice: notices have a limit of their own,
   * since a thief of a session causes them, and strangers use up the other. Exact across processes; joins the
   * transaction of the caller.
   */
  readonly take: (address: string, network?: string) => Effect.Effect<boolean>
  /** True if no network can request a mail to the address now. */
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
      const laneOf = (recipient: string, network: string) => keyed(`${recipient} ${network}`)

      const sent = sql`unnest(q.sent_at, q.sent_from) AS sent(at, network)`

      const sentSince = (since: number, lane: Statement.Fragment) =>
        sql`
          (SELECT count(*) FROM ${sent} WHERE sent.at > ${new Date(since)}::timestamptz AND ${lane})`

      const askedSince = (since: number, recipient: string) =>
        sentSince(since, sql`sent.network IS DISTINCT FROM ${laneOf(recipient, NO_NETWORK)}`)

      return MailQuota.of({
        take: Effect.fnUntraced(function*(address, network = NO_NETWORK) {
          const now = yield* Clock.currentTimeMillis
          const recipient = digest(address)
          const asking = laneOf(recipient, network)
          const ofLane = sql`sent.network = ${asking}`
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
            WHERE ${sentSince(now - HOUR, ofLane)} < ${MAILS_AN_HOUR} AND ${
            sentSince(now - DAY, ofLane)
          } < ${MAILS_A_DAY}
              AND ${
            network === NO_NETWORK ? sql`true` : sql`${askedSince(now - DAY, recipient)} < ${MAILS_A_DAY_IN_ALL}`
          }
            RETURNING recipient`
          return rows.length > 0
        }, Effect.orDie),

        isUsedUp: Effect.fnUntraced(function*(address) {
          const dayAgo = (yield* Clock.currentTimeMillis) - DAY
          const recipient = digest(address)
          const rows = yield* sql`
            SELECT recipient FROM mail_quotas q
            WHERE recipient = ${recipient} AND ${askedSince(dayAgo, recipient)} >= ${MAILS_A_DAY_IN_ALL}`
          return rows.length > 0
        }, Effect.orDie),

        forget: (address) =>
          sql`DELETE FROM mail_quotas WHERE recipient = ${digest(address)}`.pipe(Effect.asVoid, Effect.orDie)
      })
    })
  )
}
