import { Array as Arr, Clock, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type SignUpId, UserId } from "../../schema/Ids.ts"
import { INVITATION_LIFETIME, LINK_LIFETIME, TOKEN_EXPIRY_MAILED } from "../../schema/Limits.ts"
import { inOneLine } from "../../schema/Text.ts"
import { earliestIn, runSweep, scheduled, sweepUntilShort } from "../db/Sweeps.ts"
import { TimestampColumn } from "../db/Tables.ts"
import { Audit } from "../identity/Audit.ts"
import { hasAddress } from "../identity/Users.ts"
import { AccountMails, type ComposedMail, type Mail, type MailRequest } from "../mail/Mailers.ts"
import { Outbox } from "../mail/Outbox.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { configuredSite } from "../texts/Site.ts"
import type { Texts } from "../texts/Texts.ts"
import { INVITATION, mailedLink, MailedTokens, type TokenOwner } from "./MailedLinks.ts"
import { SignUps } from "./SignUp.ts"

export const accountMailsLayer = Layer.effect(
  AccountMails,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    const mailedTokens = yield* MailedTokens
    const signUps = yield* SignUps
    const app = yield* settings.APP_URL
    const { name: siteName, texts } = yield* configuredSite
    const { mails } = texts
    const isOpen = yield* settings.SIGNUP_ENABLED
    // Another front end has a page for passwords, which takes the links of invitations too.
    const invitationPage = app.href === (yield* settings.BASE_URL).href ? "invitation" : INVITATION

    const findAccount = SqlSchema.findOneOption({
      Request: Schema.String,
      Result: Schema.Struct({ id: UserId, email: Schema.String }),
      execute: (email) => sql`SELECT id, email FROM users WHERE ${hasAddress(sql, email)}`
    })

    // A sign-up is extended even if an account has the address: its end, which its password reveals, must not differ.
    const keep = Effect.fnUntraced(function*(id: SignUpId, lifetime: Duration.Duration) {
      const now = yield* Clock.currentTimeMillis
      yield* signUps.keepUntil(id, new Date(now + Duration.toMillis(lifetime)))
    })

    const verification = Effect.fnUntraced(function*(id: SignUpId, email: string) {
      const token = yield* mailedTokens.issue("verify-email", { signUpId: id })
      return { to: email, ...mails.verification, link: mailedLink(app, "verify-email", token) }
    })

    const reset = Effect.fnUntraced(function*(email: string, owner: TokenOwner) {
      const token = yield* mailedTokens.issue("reset-password", owner)
      return Option.some<ComposedMail>({
        userId: "userId" in owner ? owner.userId : undefined,
        mail: { to: email, ...mails.reset, link: mailedLink(app, "reset-password", token) },
        lifetime: LINK_LIFETIME["reset-password"]
      })
    })

    const forSignUp = Effect.fnUntraced(function*(id: SignUpId) {
      const addressee = yield* signUps.addresseeOf(id)
      if (Option.isNone(addressee)) return Option.none()
      const { email, userId } = addressee.value
      yield* keep(id, LINK_LIFETIME["verify-email"])
      const mail = userId === undefined
        ? yield* verification(id, email)
        : { to: email, ...mails.known }
      return Option.some<ComposedMail>({ userId, mail })
    })

    const forInvitation = Effect.fnUntraced(function*(id: SignUpId) {
      const addressee = yield* signUps.addresseeOf(id)
      if (Option.isNone(addressee) || addressee.value.userId !== undefined) return Option.none()
      yield* keep(id, INVITATION_LIFETIME)
      const token = yield* mailedTokens.issue(INVITATION, { signUpId: id }, INVITATION_LIFETIME)
      const mail: Mail = {
        to: addressee.value.email,
        ...mails.invitation,
        text: mails.invitation.text(siteName, app.host),
        link: mailedLink(app, invitationPage, token)
      }
      return Option.some<ComposedMail>({ userId: undefined, mail })
    })

    const forReset = Effect.fnUntraced(function*(email: string) {
      const signUp = yield* signUps.findNewest(email)
      if (Option.isSome(signUp)) yield* keep(signUp.value.id, LINK_LIFETIME["reset-password"])
      // A sign-up that is being verified becomes an account while it is waited for.
      const account = yield* findAccount(email)
      if (Option.isSome(account)) {
        const { email, id } = account.value
        // The link locks the account first: the lock of an audit entry is weaker, and could not become this one.
        const composed = yield* reset(email, { userId: id })
        yield* audit.record("password.reset_requested", { userId: id })
        return composed
      }
      if (Option.isNone(signUp) || !(isOpen || (yield* signUps.isInvited(email)))) return Option.none()
      const { email: typed, id } = signUp.value
      return yield* reset(typed, { signUpId: id })
    }, Effect.orDie)

    const composeFor = (request: MailRequest) => {
      switch (request.kind) {
        case "verify-email":
          return Effect.map(forSignUp(request.signUpId), askedBy(texts, request))
        case "reset-password":
          return Effect.map(forReset(request.email), askedBy(texts, request))
        case "invitation":
          return forInvitation(request.signUpId)
      }
    }

    return AccountMails.of({
      compose: composeFor,
      withhold: Effect.fnUntraced(function*(request) {
        if (request.kind !== "verify-email") return
        yield* mailedTokens.revokeVerifications(yield* signUps.olderOfOtherNetworks(request.signUpId))
      })
    })
  })
)

/** Says when and from where the mail was requested, so that its recipient can recognise a stranger's request. */
const askedBy = ({ mails }: Texts, { askedAt, network }: { readonly askedAt?: Date; readonly network?: string }) =>
  Option.map((composed: ComposedMail): ComposedMail => {
    const { mail } = composed
    return askedAt === undefined
      ? composed
      : { ...composed, mail: { ...mail, text: `${mails.asked(askedAt, network)} ${mail.text}` } }
  })

const BATCH = 100

const BEFORE = Duration.toMillis(TOKEN_EXPIRY_MAILED)

const DAY = Duration.toMillis(Duration.days(1))

const dayOf = (millis: number) => Math.floor(millis / DAY) * DAY

const dueAt = (expiresAt: Date) => new Date(dayOf(expiresAt.getTime()) - BEFORE)

const ExpiringToken = Schema.Struct({
  name: Schema.String,
  hint: Schema.String,
  expiresAt: TimestampColumn,
  userId: UserId,
  email: Schema.String
})
type ExpiringToken = typeof ExpiringToken.Type

/**
 * The tokens of an owner that expire on one day of UTC cause one mail, in the transaction that records it: one for each
 * would exceed the quota of the address. A token with a shorter lifetime causes none.
 */
export const tokenExpiryMailsLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const { texts } = yield* configuredSite
  const lead = sql`make_interval(secs => ${BEFORE / 1000})`

  const isDue = sql`
    t.expiry_mailed_at IS NULL AND t.created_at < t.expires_at - ${lead} AND EXISTS (
      SELECT FROM users u WHERE u.id = t.user_id AND u.deletion_requested_at IS NULL)`

  const note = SqlSchema.findAll({
    Request: Schema.Struct({ now: Schema.Date, until: Schema.Date }),
    Result: ExpiringToken,
    execute: ({ now, until }) =>
      sql`
        UPDATE personal_access_tokens t SET expiry_mailed_at = ${now} FROM users u
        WHERE u.id = t.user_id AND t.id IN (
          SELECT t.id FROM personal_access_tokens t
          WHERE t.expires_at > ${now} AND t.expires_at < ${until} AND ${isDue}
          ORDER BY t.expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
        ) RETURNING t.name, t.hint, t.expires_at AS "expiresAt", u.id AS "userId", u.email`
  })

  const earliestAfter = (now: Date) =>
    earliestIn(sql`
      SELECT min(t.expires_at) AS earliest FROM personal_access_tokens t WHERE t.expires_at > ${now} AND ${isDue}`)

  const mailBatch = Effect.gen(function*() {
    const now = yield* DateTime.nowAsDate
    const tokens = yield* note({ now, until: new Date(dayOf(now.getTime() + BEFORE) + DAY) })
    const byOwner = Object.values(Arr.groupBy(tokens, ({ userId }) => String(userId)))
    yield* Effect.forEach(byOwner, (own) => outbox.put(own[0].userId, expiryMail(texts, own)), { discard: true })
    const lags = tokens.map(({ expiresAt }) => now.getTime() - dueAt(new Date(expiresAt)).getTime())
    return { rows: tokens.length, lagMillis: Math.max(0, ...lags) }
  }).pipe(sql.withTransaction, Effect.uninterruptible)

  yield* scheduled({
    longestSleep: settings.PURGE_SWEEP_INTERVAL,
    run: runSweep("token_expiry_mails", sweepUntilShort(mailBatch, BATCH)),
    earliestDue: Effect.map(Effect.flatMap(DateTime.nowAsDate, earliestAfter), Option.map(dueAt))
  })
}))

const expiryMail = ({ mails: { expiring } }: Texts, own: Arr.NonEmptyReadonlyArray<ExpiringToken>): Mail => ({
  to: own[0].email,
  subject: expiring.subject(own.length),
  text: expiring.text(
    own.map((token) => ({ ...token, name: inOneLine(token.name) }))
      .toSorted((one, other) => Date.parse(one.expiresAt) - Date.parse(other.expiresAt))
  ),
  ifNotYou: expiring.ifNotYou
})
