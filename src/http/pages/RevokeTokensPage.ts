import { Effect, Layer, Option } from "effect"
import type { PersonalAccessToken } from "../../schema/Credential.ts"
import { Forbidden, type ServiceError, Unauthorized } from "../../schema/Errors.ts"
import { inOneLine } from "../../schema/Text.ts"
import type { User } from "../../schema/User.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { PersonalAccessTokens } from "../../services/accounts/Tokens.ts"
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

const signedOut = () =>
  new Unauthorized({ message: "You are not signed in: sign in again", details: { reason: "not_signed_in" } })

const pending = () =>
  new Forbidden({
    message: "The account is pending deletion, and its tokens do not work: cancel the deletion first",
    details: { reason: "account_pending_deletion" }
  })

const signInPage = (texts: Texts, others: Html) => (email: string, error?: ServiceError): Page => ({
  title: texts.revoke.title,
  body: html`${alert(error && plainWords(texts, error))}
<p>${texts.revoke.lead}</p>
${signInForm(texts, "revoke-tokens", email, error)}
${others}`,
  error
})

const itemOf = (texts: Texts) => (token: PersonalAccessToken) =>
  html`<li><strong>${inOneLine(token.name)}</strong> (${token.hint}): ${texts.tokens.facts(token)}</li>\n`

const listPage = (texts: Texts, { email }: User, tokens: ReadonlyArray<PersonalAccessToken>): Page => {
  const { revoke } = texts
  const address = html`<strong>${email}</strong>`
  return {
    title: revoke.title,
    body: tokens.length === 0
      ? html`<p>${revoke.none(address)}</p>`
      : html`<p>${revoke.list(address)}</p>
<ul>
${tokens.map(itemOf(texts))}</ul>
<form method="post" action="revoke-tokens">
<button type="submit">${revoke.button}</button>
</form>
<p>${revoke.effect}</p>`
  }
}

const revoked = ({ link, revoke }: Texts): Page => ({
  title: revoke.doneTitle,
  body: html`<p role="status">${revoke.done}</p>
<h2>${link.next}</h2>
<p>${revoke.next}</p>`
})

const notRevoked = (texts: Texts, error: ServiceError): Page => ({
  title: texts.revoke.title,
  body: alert(plainWords(texts, error)),
  error
})

/** People without an app need it: a password reset leaves tokens alive. */
export const revokeTokensPageLayer = Layer.unwrap(Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const limiter = yield* Limiter
  const profiles = yield* Profiles
  const tokens = yield* PersonalAccessTokens
  const signIn = yield* signInByForm
  const { texts } = yield* configuredSite
  const signInWith = signInPage(texts, yield* otherSignIns(PAGES.revokeTokens))
  const endpoint = Api.groups.tokens.endpoints.revoke

  const currentSession = Effect.gen(function*() {
    const principal = yield* authenticator.readOptional(endpoint)
    const session = Option.filter(principal, ({ kind }) => kind === "session")
    const isPending = Option.exists(principal, (known) => known.kind === "session" && known.deletion !== "none")
    return isPending ? yield* pending() : session
  })

  const show = Effect.gen(function*() {
    const session = yield* currentSession
    if (Option.isNone(session)) return signInWith("")
    const { userId } = session.value
    return listPage(texts, yield* profiles.user(userId), yield* tokens.list(userId))
  })

  const revoke = Effect.gen(function*() {
    const session = yield* currentSession
    if (Option.isNone(session)) return yield* signedOut()
    const { userId } = session.value
    yield* limiter.count(`user:${userId}`, endpoint)
    yield* tokens.revokeAll(userId)
    return revoked(texts)
  })

  return pageLayer({
    path: PAGES.revokeTokens,
    show: () => show,
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        if (fields["email"] === undefined) return yield* revoke
        yield* signIn(fields, request)
        return { seeOther: "revoke-tokens" }
      }),
      refused: (error, { email }) =>
        email === undefined && error.statusCode !== 401 ? notRevoked(texts, error) : signInWith(email ?? "", error)
    }
  })
}))
