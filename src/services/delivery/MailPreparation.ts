import { Clock, DateTime, Duration, Effect, Metric, Option, Schema, Semaphore, Struct, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import type { Mail } from "../mail/Mail.ts"
import { mailCipher, type StoredRequest } from "../mail/MailCipher.ts"
import { MailQuota } from "../mail/MailQuota.ts"
import { AccountMails, type MailRequest } from "../mail/MailRequests.ts"
import { outbox, OutboxRecord } from "../mail/Outbox.ts"

/** Mails to one address wait for each other in the database, with a connection each. */
const AT_ONCE = 2

const QUOTA_RETRY = Duration.toMillis(Duration.minutes(10))

export const ClaimedColumns = OutboxRecord.select.mapFields(
  Struct.pick(["id", "payload", "attempts", "idempotencyKey"])
)

export const ClaimedMail = Schema.Struct({ ...ClaimedColumns.fields, isCounted: Schema.Boolean })
export type ClaimedMail = typeof ClaimedMail.Type

class OverQuota extends Schema.TaggedError<OverQuota>()("OverQuota", { address: Schema.String }) {}

/** An administrator invites: strangers cannot use up these mails. */
const isExempt = ({ kind }: MailRequest) => kind === "invitation"

const UNKNOWN_NETWORK = "unknown"

/** None of a notice. */
const networkOf = (request: MailRequest | undefined) => {
  if (request === undefined) return undefined
  return "network" in request ? request.network : UNKNOWN_NETWORK
}

/** So that audit entries have the trace of the request. */
const inTraceOf = ({ trace }: StoredRequest) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  trace === undefined ? work : Effect.withParentSpan(work, Tracer.externalSpan({ ...trace, sampled: false }))

/**
 * Composes requests and stores them as mails, so that a crash neither loses nor repeats one and the quota counts it
 * once. Over the quota a requested mail is dropped, since its link can be requested again; a notice is retried later.
 */
export const mailPreparation = Effect.fnUntraced(function*(limited: Metric.Counter<number>) {
  const sql = yield* SqlClient.SqlClient
  const accountMails = yield* AccountMails
  const quota = yield* MailQuota
  const { encrypt } = yield* mailCipher
  const turns = yield* Semaphore.make(AT_ONCE)

  const forget = (id: number) => Effect.asVoid(sql`DELETE FROM outbox WHERE id = ${id}`)

  const takeQuota = Effect.fnUntraced(function*(id: number, { to }: Mail, request?: MailRequest) {
    const isFree = request !== undefined && isExempt(request)
    if (!isFree && !(yield* quota.take(to, networkOf(request)))) return yield* new OverQuota({ address: to })
    yield* sql`UPDATE outbox SET ${outbox.set(sql, { countedAt: yield* DateTime.nowAsDate })} WHERE id = ${id}`
  })

  const compose = Effect.fnUntraced(function*({ id }: ClaimedMail, stored: StoredRequest) {
    const composed = yield* inTraceOf(stored)(accountMails.compose(stored.request))
    if (Option.isNone(composed)) {
      yield* forget(id)
      return Option.none<Mail>()
    }
    const { mail, userId } = composed.value
    yield* takeQuota(id, mail, stored.request)
    const changes = { payload: yield* encrypt(mail), userId: userId ?? null }
    yield* sql`UPDATE outbox SET ${outbox.set(sql, changes)} WHERE id = ${id}`
    return Option.some(mail)
  }, sql.withTransaction)

  const drop = Effect.fnUntraced(function*({ id }: ClaimedMail, { request }: StoredRequest, { address }: OverQuota) {
    yield* Effect.logWarning("mail over the quota of its address, dropped")
    yield* Metric.update(limited, 1)
    if (yield* quota.isUsedUp(address)) yield* accountMails.withhold(request)
    yield* forget(id)
    return Option.none<Mail>()
  }, sql.withTransaction)

  const putOff = Effect.fnUntraced(function*({ id }: ClaimedMail) {
    yield* Effect.logWarning("mail over the quota of its address, to be tried again")
    const next = new Date((yield* Clock.currentTimeMillis) + QUOTA_RETRY)
    yield* sql`UPDATE outbox SET ${outbox.set(sql, { nextAttemptAt: next })} WHERE id = ${id}`
    return Option.none<Mail>()
  })

  return {
    composed: (claimed: ClaimedMail, stored: StoredRequest) =>
      compose(claimed, stored).pipe(
        turns.withPermit,
        Effect.catchTag("OverQuota", (over) => drop(claimed, stored, over))
      ),
    counted: (claimed: ClaimedMail, mail: Mail) =>
      claimed.isCounted ? Effect.succeedSome(mail) : takeQuota(claimed.id, mail).pipe(
        sql.withTransaction,
        turns.withPermit,
        Effect.as(Option.some(mail)),
        Effect.catchTag("OverQuota", () => putOff(claimed))
      )
  }
})
