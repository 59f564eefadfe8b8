import { Effect, Layer, Option } from "effect"
import { Conflict, type ServiceError, Unauthorized } from "../../schema/Errors.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import type { User } from "../../schema/User.ts"
import { AccountDeletion } from "../../services/accounts/Deletion.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { erasureDueAt } from "../../services/db/Sweeps.ts"
import { type Html, html } from "../../services/operations/Html.ts"
import { Api } from "../api/Api.ts"
import { Authenticator } from "../auth/Authenticator.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { alert, type Page, plainWords } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"
import { otherSignIns, signInByForm, signInForm } from "./layout/SignInForm.ts"

const TITLE = "Keep your account"

const tooLate = () =>
  new Conflict({
    message: `The ${inWords(GRACE_PERIOD)} are over: this account can no longer be kept`,
    details: { reason: "nothing_to_cancel" }
  })
const signedOut = () =>
  new Unauthorized({
    message: "You are no longer signed in: sign in again",
    details: { reason: "session_invalid" }
  })

const signInPage = (others: Html) => (email: string, error?: ServiceError): Page => ({
  title: TITLE,
  body: html`${alert(error && plainWords(error))}
<p>An account whose deletion was requested can be kept for ${
    inWords(GRACE_PERIOD)
  }. Sign in to see whether yours is one.</p>
${signInForm("cancel-deletion", email, error)}
${others}`,
  error
})

const dateOf = (instant: Date) => instant.toLocaleDateString("en", { dateStyle: "long", timeZone: "UTC" })

const pendingPage = ({ email }: User, until: Date): Page => ({
  title: TITLE,
  body: html`<p>The account <strong>${email}</strong>, with all its routes and collections, will be erased on
<strong>${dateOf(until)}</strong>.</p>
<form method="post" action="cancel-deletion">
<button type="submit">Keep the account</button>
</form>
<p>Want it erased? There is nothing to do: close this page.</p>`
})

const nothingPending = ({ email }: User): Page => ({
  title: TITLE,
  body: html`<p>The account <strong>${email}</strong> is not going to be deleted. There is nothing to do.</p>`
})

const kept: Page = {
  title: "Your account stays",
  body: html`<p role="status">The deletion is cancelled. Your routes and collections are there again, and this device is
signed in.</p>
<h2>What is next</h2>
<p><a class="button" href="routes">See my routes</a></p>
<p>Sign in again in your apps. You did not request the deletion? Then change your password, and revoke the personal
access tokens that you do not know.</p>`,
  reader: "user"
}

const notCancelled = (error: ServiceError): Page => ({ title: TITLE, body: alert(plainWords(error)), error })

export const cancelDeletionPageLayer = Layer.unwrap(Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const deletion = yield* AccountDeletion
  const limiter = yield* Limiter
  const profiles = yield* Profiles
  const signIn = yield* signInByForm
  const signInWith = signInPage(yield* otherSignIns(PAGES.cancelDeletion))
  const { cancelDeletion } = Api.groups.users.endpoints

  const currentSession = Effect.map(
    authenticator.readOptional(cancelDeletion),
    Option.flatMap((principal) => principal.kind === "session" ? Option.some(principal) : Option.none())
  )

  const cancel = Effect.gen(function*() {
    const session = yield* currentSession
    if (Option.isNone(session)) return yield* signedOut()
    yield* limiter.count(`user:${session.value.userId}`, cancelDeletion)
    yield* deletion.cancel(session.value.userId)
    return kept
  })

  const show = Effect.gen(function*() {
    const session = yield* currentSession
    if (Option.isNone(session)) return signInWith("")
    if (session.value.deletion === "over") return notCancelled(tooLate())
    const user = yield* profiles.user(session.value.userId)
    return user.deletionRequestedAt === null
      ? nothingPending(user)
      : pendingPage(user, erasureDueAt(new Date(user.deletionRequestedAt)))
  })

  return pageLayer({
    path: PAGES.cancelDeletion,
    show: () => show,
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        if (fields["email"] === undefined) return yield* cancel
        yield* signIn(fields, request)
        return { seeOther: "cancel-deletion" }
      }),
      refused: (error, { email }) =>
        email === undefined && error.statusCode !== 401 ? notCancelled(error) : signInWith(email ?? "", error)
    }
  })
}))
