import { Effect, Layer, Option } from "effect"
import type { PersonalAccessToken } from "../../schema/Credential.ts"
import { Forbidden, type ServiceError, Unauthorized } from "../../schema/Errors.ts"
import { inOneLine } from "../../schema/Text.ts"
import type { User } from "../../schema/User.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { PersonalAccessTokens } from "../../services/accounts/Tokens.ts"
import { type Html, html } from "../../services/operations/Html.ts"
import { Api } from "../api/Api.ts"
import { Authenticator } from "../auth/Authenticator.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { alert, type Page, plainWords } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"
import { otherSignIns, signInByForm, signInForm } from "./layout/SignInForm.ts"

const TITLE = "Revoke your access tokens"

const signedOut = () =>
  new Unauthorized({ message: "You are not signed in: sign in again", details: { reason: "not_signed_in" } })

const pending = () =>
  new Forbidden({
    message: "The account is pending deletion, and its tokens do not work: cancel the deletion first",
    details: { reason: "account_pending_deletion" }
  })

const signInPage = (others: Html) => (email: string, error?: ServiceError): Page => ({
  title: TITLE,
  body: html`${alert(error && plainWords(error))}
<p>Scripts and apps that you gave a personal access token go on after a new password. Sign in to see and revoke your
tokens.</p>
${signInForm("revoke-tokens", email, error)}
${others}`,
  error
})

const day = (instant: string) => instant.slice(0, 10)

const itemOf = ({ createdAt, hint, lastUsedAt, name, scope }: PersonalAccessToken) =>
  html`<li><strong>${inOneLine(name)}</strong> (${hint}), scope ${scope}, made on ${day(createdAt)}, ${
    lastUsedAt === null ? "never used" : `last used on ${day(lastUsedAt)}`
  }</li>\n`

const listPage = ({ email }: User, tokens: ReadonlyArray<PersonalAccessToken>): Page => ({
  title: TITLE,
  body: tokens.length === 0
    ? html`<p>The account <strong>${email}</strong> has no personal access token. There is nothing to do.</p>`
    : html`<p>These personal access tokens of the account <strong>${email}</strong> work:</p>
<ul>
${tokens.map(itemOf)}</ul>
<form method="post" action="revoke-tokens">
<button type="submit">Revoke all</button>
</form>
<p>Whatever uses one of them is refused from then on, and needs a new one.</p>`
})

const revoked: Page = {
  title: "Your tokens are revoked",
  body: html`<p role="status">No personal access token of your account works any more. This device is signed in.</p>
<h2>What is next</h2>
<p>Make new tokens for the scripts and apps that you use.</p>`
}

const notRevoked = (error: ServiceError): Page => ({ title: TITLE, body: alert(plainWords(error)), error })

/** People without an app need it: a password reset leaves tokens alive. */
export const revokeTokensPageLayer = Layer.unwrap(Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const limiter = yield* Limiter
  const profiles = yield* Profiles
  const tokens = yield* PersonalAccessTokens
  const signIn = yield* signInByForm
  const signInWith = signInPage(yield* otherSignIns(PAGES.revokeTokens))
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
    return listPage(yield* profiles.user(userId), yield* tokens.list(userId))
  })

  const revoke = Effect.gen(function*() {
    const session = yield* currentSession
    if (Option.isNone(session)) return yield* signedOut()
    const { userId } = session.value
    yield* limiter.count(`user:${userId}`, endpoint)
    yield* tokens.revokeAll(userId)
    return revoked
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
        email === undefined && error.statusCode !== 401 ? notRevoked(error) : signInWith(email ?? "", error)
    }
  })
}))
