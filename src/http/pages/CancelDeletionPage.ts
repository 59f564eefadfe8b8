import { Effect, Layer, Option } from "effect"
import { Conflict, type ServiceError, Unauthorized } from "../../schema/Errors.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import type { User } from "../../schema/User.ts"
import { AccountDeletion } from "../../services/accounts/Deletion.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { erasureDueAt } from "../../services/db/Sweeps.ts"
import { type Html, html } from "../../services/operations/Html.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { Api } from "../api/Api.ts"
import { Authenticator } from "../auth/Authenticator.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { alert, type Page, plainWords } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"
import { otherSignIns, signInByForm, signInForm } from "./layout/SignInForm.ts"

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

const signInPage = (texts: Texts, others: Html) => (email: string, error?: ServiceError): Page => ({
  title: texts.keep.title,
  body: html`${alert(error && plainWords(texts, error))}
<p>${texts.keep.lead}</p>
${signInForm(texts, "cancel-deletion", email, error)}
${others}`,
  error
})

const pendingPage = ({ keep, wording }: Texts, { email }: User, until: Date): Page => ({
  title: keep.title,
  body: html`<p>${keep.pending(html`<strong>${email}</strong>`, html`<strong>${wording.date(until)}</strong>`)}</p>
<form method="post" action="cancel-deletion">
<button type="submit">${keep.button}</button>
</form>
<p>${keep.close}</p>`
})

const nothingPending = ({ keep }: Texts, { email }: User): Page => ({
  title: keep.title,
  body: html`<p>${keep.nothing(html`<strong>${email}</strong>`)}</p>`
})

const kept = ({ keep, link }: Texts): Page => ({
  title: keep.doneTitle,
  body: html`<p role="status">${keep.done}</p>
<h2>${link.next}</h2>
<p><a class="button" href="routes">${keep.routes}</a></p>
<p>${keep.apps}</p>`,
  reader: "user"
})

const notCancelled = (texts: Texts, error: ServiceError): Page => ({
  title: texts.keep.title,
  body: alert(plainWords(texts, error)),
  error
})

const tooLatePage = ({ keep }: Texts): Page => ({ title: keep.title, body: alert(keep.tooLate), error: tooLate() })

export const cancelDeletionPageLayer = Layer.unwrap(Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const deletion = yield* AccountDeletion
  const limiter = yield* Limiter
  const profiles = yield* Profiles
  const signIn = yield* signInByForm
  const { texts } = yield* configuredSite
  const signInWith = signInPage(texts, yield* otherSignIns(PAGES.cancelDeletion))
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
    return kept(texts)
  })

  const show = Effect.gen(function*() {
    const session = yield* currentSession
    if (Option.isNone(session)) return signInWith("")
    if (session.value.deletion === "over") return tooLatePage(texts)
    const user = yield* profiles.user(session.value.userId)
    return user.deletionRequestedAt === null
      ? nothingPending(texts, user)
      : pendingPage(texts, user, erasureDueAt(new Date(user.deletionRequestedAt)))
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
        email === undefined && error.statusCode !== 401 ? notCancelled(texts, error) : signInWith(email ?? "", error)
    }
  })
}))
