import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import { Email, NewPassword, PASSWORD_RULE, PasswordAttempt } from "../../../schema/User.ts"
import { oidcProviders } from "../../../services/accounts/OpenIdConnect.ts"
import { Accounts } from "../../../services/accounts/SignIn.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { deviceOf, signInResponses } from "../../auth/SignInResponses.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, providerPath } from "../../request/RouteTemplates.ts"
import { wrongCredentials } from "../../response/PublicErrors.ts"
import { pageLinks } from "../../response/ResourceJson.ts"
import { ERROR_ID, issuesIn, plainWords, rootFrom } from "./Layout.ts"
import { decodeField, type Fields } from "./PageRoutes.ts"

const PasswordField = Schema.RedactedFromValue(PasswordAttempt)

/** `action` is relative to the page; `more` has the fields that the action needs. */
export const signInForm = (
  { fields, signIn }: Texts,
  action: string,
  email: string,
  error?: ServiceError,
  more?: Html
): Html => {
  const isWrong = error?.details?.reason === "wrong_credentials"
  const state = isWrong ? html`aria-describedby="${ERROR_ID}" aria-invalid="true"` : html``
  return html`<form method="post" action="${action}" novalidate>
${more}<label for="email">${fields.email}</label>
<input type="email" id="email" name="email" autocomplete="username" required value="${email}" ${state}>
<label for="password">${fields.password}</label>
<input type="password" id="password" name="password" autocomplete="current-password" required ${state}>
<button type="submit">${signIn.button}</button>
</form>`
}

/** Leads to the providers, each with the page to return to. Returns nothing without a provider. */
export const providerLinksFrom = Effect.fnUntraced(function*(page: `/${string}`) {
  const { root } = yield* pageLinks
  const providers = yield* oidcProviders
  const { texts: { signIn } } = yield* configuredSite
  return (to: string): Html => {
    if (providers.length === 0) return html``
    const { pathname } = new URL(to, root)
    const links = providers.map(({ id, name }) => {
      const start = `${rootFrom(page)}${providerPath("start", id)}?${new URLSearchParams({ return: pathname })}`
      return html`<li><a href="${start}">${signIn.byProvider(name)}</a></li>
`
    })
    return html`<p>${signIn.withoutPassword}</p>
<ul>
${links}</ul>`
  }
})

/** People without a password sign in to a page in this way. */
export const otherSignIns = Effect.fnUntraced(function*(page: `/${string}`) {
  const providers = yield* oidcProviders
  const { texts: { signIn } } = yield* configuredSite
  return providers.length === 0
    ? html`<p><a href="${rootFrom(page)}${ACCOUNT_PAGES.forgotPassword.slice(1)}">${signIn.forgot}</a></p>`
    : (yield* providerLinksFrom(page))(page.slice(1))
})

/** Signs in by the fields of `signInForm`, with the limits of the endpoint. */
export const signInByForm = Effect.gen(function*() {
  const accounts = yield* Accounts
  const limiter = yield* Limiter
  const { limitLogIn, signedIn } = yield* signInResponses
  return Effect.fnUntraced(function*(fields: Fields, request: HttpServerRequest.HttpServerRequest) {
    yield* limiter.countAddress(Api.groups.auth.endpoints.logIn)
    const email = yield* decodeField(Email, fields["email"], wrongCredentials)
    const password = yield* decodeField(PasswordField, fields["password"], wrongCredentials)
    yield* limitLogIn(request, email)
    return yield* signedIn(yield* accounts.logIn({ email, password }, deviceOf(request)))
  })
})

const Password = Schema.RedactedFromValue(NewPassword)

export const newPasswordOf = (value: string | undefined, name = "password") =>
  decodeField(Password, value, () => ValidationFailed.at("body", name, `Use ${PASSWORD_RULE}`))

const passwordIssue = (error: ServiceError) =>
  issuesIn(error).find(({ path }) => path === "body.password" || path === "body.newPassword")?.message

/** Says what is wrong with the password, after some advice, or else with the request. */
export const passwordWords = (texts: Texts, error: ServiceError, advice?: string): string => {
  const issue = passwordIssue(error)
  if (issue === undefined) return plainWords(texts, error)
  return [advice, texts.errors.password(issue)].filter((part) => part !== undefined).join(" ")
}

export const newPasswordInput = (
  { link }: Texts,
  name: string,
  error?: ServiceError,
  label = link.newPassword
): Html => {
  const state = error === undefined || passwordIssue(error) === undefined
    ? html`aria-describedby="${name}-hint"`
    : html`aria-describedby="${name}-hint ${ERROR_ID}" aria-invalid="true"`
  return html`<label for="${name}">${label}</label>
<p class="hint" id="${name}-hint">${link.newPasswordHint}</p>
<input type="password" id="${name}" name="${name}" autocomplete="new-password" required ${state}>`
}
