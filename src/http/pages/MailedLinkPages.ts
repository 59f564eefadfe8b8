import { Effect, Layer, Result, Schema } from "effect"
import type { HttpRouter, HttpServerRequest } from "effect/http"
import { type ServiceError, ValidationFailed } from "../../schema/Errors.ts"
import { DisplayName, MailedToken, PasswordAttempt } from "../../schema/User.ts"
import { PasswordChanges } from "../../services/accounts/PasswordChanges.ts"
import { Accounts } from "../../services/accounts/SignIn.ts"
import { type LinkState, LinkUnusable, type Overloaded } from "../../services/DomainErrors.ts"
import { type Html, html } from "../../services/operations/Html.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { Api } from "../api/Api.ts"
import { deviceOf, signInResponses } from "../auth/SignInResponses.ts"
import { type Endpoint, Limiter } from "../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, PAGES } from "../request/RouteTemplates.ts"
import { noteError } from "../response/ErrorResponse.ts"
import { publicError } from "../response/PublicErrors.ts"
import { decodeNamed, fieldsOf, orNull } from "./account/Forms.ts"
import { alert, type Page } from "./layout/Layout.ts"
import { decodeField, type Fields, pageLayer, type PageResult } from "./layout/PageRoutes.ts"
import { newPasswordInput, newPasswordOf, passwordWords } from "./layout/SignInForm.ts"

const SIGN_IN = ACCOUNT_PAGES.signIn.slice(1)

const Token = Schema.RedactedFromValue(MailedToken)

const noToken = () => ValidationFailed.at("body", "token", "Expected the token of a mailed link")

const tokenOf = (fields: Fields) => Effect.tapError(decodeField(Token, fields["token"], noToken), noteError)

/** The form of a mailed link sends these again. The email address is only shown, also after the form was refused. */
interface Link {
  readonly token: string
  readonly email: string | undefined
}

const linkFields = ({ email, token }: Link): Html =>
  html`<input type="hidden" name="token" value="${token}">
${email === undefined ? html`` : html`<input type="hidden" name="email" value="${email}">`}`

const addressOf = ({ email }: Link, { link }: Texts): Html =>
  email === undefined ? html`${link.yourAddress}` : html`<strong>${email}</strong>`

interface LinkPage<E, R> {
  readonly path: HttpRouter.PathInput
  readonly endpoint: Endpoint
  readonly addressOf: (token: typeof Token.Type) => Effect.Effect<string, LinkUnusable | Overloaded>
  readonly form: (link: Link, fields: Fields, error?: ServiceError) => Page
  readonly unusable: { readonly title: string; readonly words: (state: LinkState) => Html | string }
  readonly use: (
    token: typeof Token.Type,
    fields: Fields,
    request: HttpServerRequest.HttpServerRequest
  ) => Effect.Effect<PageResult, E | LinkUnusable, R>
}

const isUnusable = Schema.is(LinkUnusable)

/** Mail scanners follow links, so only the form uses one. It names the address, as the account may be a stranger's. */
const linkPageLayer = <E, R>(texts: Texts, { addressOf, endpoint, form, path, unusable, use }: LinkPage<E, R>) => {
  const unusablePage = (error: ServiceError, state: LinkState): Page => ({
    title: unusable.title,
    body: html`${alert(texts.link[state])}
<p>${unusable.words(state)}</p>
${state === "unknown" ? html`<p>${texts.link.copied}</p>` : undefined}`,
    error
  })
  const explained = (error: LinkUnusable) => Effect.map(publicError(error), (shown) => unusablePage(shown, error.state))
  return Layer.unwrap(Effect.map(Limiter, (limiter) =>
    pageLayer({
      path,
      show: Effect.fnUntraced(
        function*(query) {
          const token = query.get("token") ?? ""
          return form({ token, email: yield* addressOf(yield* tokenOf({ token })) }, {})
        },
        Effect.catchTags({
          LinkUnusable: explained,
          ValidationFailed: (error) => Effect.succeed(unusablePage(error, "unknown"))
        })
      ),
      submit: {
        run: Effect.fnUntraced(
          function*(fields, request) {
            yield* limiter.countAddress(endpoint)
            const token = yield* Effect.result(tokenOf(fields))
            if (Result.isFailure(token)) return unusablePage(token.failure, "unknown")
            return yield* use(token.success, fields, request)
          },
          Effect.catchIf(isUnusable, explained)
        ),
        refused: (error, fields) =>
          fields["token"] === undefined
            ? unusablePage(error, "unknown")
            : form({ token: fields["token"], email: fields["email"] }, fields, error)
      }
    })))
}

const resetForm = (texts: Texts) => (link: Link, _fields: Fields, error?: ServiceError): Page => ({
  title: texts.reset.title,
  body: html`${alert(error && passwordWords(texts, error, texts.link.another))}
<p>${texts.reset.what(addressOf(link, texts))}</p>
<form method="post" action="reset-password" novalidate>
${linkFields(link)}
${newPasswordInput(texts, "password", error)}
<button type="submit">${texts.reset.button}</button>
</form>
<p>${texts.reset.signsOut}</p>`,
  error
})

const changed = ({ link, reset }: Texts, liveTokens: number): Page => ({
  title: reset.doneTitle,
  body: html`<p role="status">${reset.done}</p>
<h2>${link.next}</h2>
<p><a class="button" href="sign-in">${reset.signIn}</a></p>
<p>${reset.apps}</p>
<p>${liveTokens === 0 ? reset.noTokens : reset.tokens(liveTokens, PAGES.revokeTokens.slice(1))}</p>
<p>${reset.keep(PAGES.cancelDeletion.slice(1))}</p>`
})

/** This page also serves links of invitations, which other front ends send to the endpoint of a reset. */
const resetPasswordLayer = Layer.unwrap(Effect.gen(function*() {
  const passwordChanges = yield* PasswordChanges
  const { texts } = yield* configuredSite
  const { again, title, used } = texts.reset
  return linkPageLayer(texts, {
    path: PAGES.resetPassword,
    endpoint: Api.groups.auth.endpoints.resetPassword,
    addressOf: passwordChanges.addressOf,
    form: resetForm(texts),
    unusable: {
      title,
      words: (state) => state === "used" ? used(SIGN_IN) : again(ACCOUNT_PAGES.forgotPassword.slice(1))
    },
    use: Effect.fnUntraced(function*(token, fields) {
      const password = yield* newPasswordOf(fields["password"])
      return changed(texts, yield* passwordChanges.reset(token, password))
    })
  })
}))

const PasswordField = Schema.RedactedFromValue(PasswordAttempt)

const NEW_PASSWORD = "newPassword"

const noPassword = ({ verify }: Texts) => () => ValidationFailed.at("body", "password", verify.noPassword)

/** Anyone may sign up any address: only the holder of the mailbox knows which sign-up is theirs. */
const verifyForm = (texts: Texts) => (link: Link, fields: Fields, error?: ServiceError): Page => {
  const { verify } = texts
  const isNew = fields[NEW_PASSWORD] !== undefined
  const { password } = fieldsOf(texts, {}, isNew ? undefined : error)
  return {
    title: verify.title,
    body: html`${alert(error && passwordWords(texts, error, isNew ? texts.link.another : undefined))}
<p>${verify.what(addressOf(link, texts))}</p>
<form method="post" action="verify-email" novalidate>
${linkFields(link)}
${password("password", { label: verify.password, autocomplete: "current-password", required: true })}
<button type="submit">${verify.button}</button>
</form>
<h2>${verify.orNew}</h2>
<p>${verify.orNewWords}</p>
<form method="post" action="verify-email" novalidate>
${linkFields(link)}
${newPasswordInput(texts, NEW_PASSWORD, isNew ? error : undefined)}
<button type="submit">${verify.newButton}</button>
</form>
<p>${verify.unwanted}</p>`,
    error
  }
}

const verified = ({ link, verify }: Texts, email: string): Page => ({
  title: verify.doneTitle,
  body: html`<p role="status">${verify.done(html`<strong>${email}</strong>`)}</p>
<h2>${link.next}</h2>
<p><a class="button" href="me/routes">${verify.routes}</a></p>
<p>${verify.app}</p>`,
  reader: "user"
})

const verifyEmailLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const { texts } = yield* configuredSite
  const { signedIn } = yield* signInResponses

  const chosenIn = Effect.fnUntraced(function*(fields: Fields) {
    const newPassword = fields[NEW_PASSWORD]
    return newPassword === undefined
      ? { password: yield* decodeField(PasswordField, fields["password"], noPassword(texts)) }
      : { newPassword: yield* newPasswordOf(newPassword) }
  })

  return linkPageLayer(texts, {
    path: PAGES.verifyEmail,
    endpoint: Api.groups.auth.endpoints.verifyEmail,
    addressOf: accounts.addressOf,
    form: verifyForm(texts),
    unusable: { title: texts.verify.title, words: (state) => texts.verify[state](SIGN_IN) },
    use: Effect.fnUntraced(function*(token, fields, request) {
      // The link is checked before the password: nobody should choose one for a link that cannot be used.
      yield* accounts.addressOf(token)
      const { user } = yield* signedIn(yield* accounts.verifyEmail(token, yield* chosenIn(fields), deviceOf(request)))
      return verified(texts, user.email)
    })
  })
}))

const invitationForm = (texts: Texts) => (link: Link, fields: Fields, error?: ServiceError): Page => ({
  title: texts.invitation.title,
  body: html`${alert(error && passwordWords(texts, error, texts.link.another))}
<p>${texts.invitation.what(addressOf(link, texts))}</p>
<form method="post" action="invitation" novalidate>
${linkFields(link)}
${fieldsOf(texts, fields, error).input("name", { autocomplete: "name", hint: texts.invitation.nameHint })}${
    newPasswordInput(texts, "password", error, texts.invitation.password)
  }
<button type="submit">${texts.invitation.button}</button>
</form>
<p>${texts.invitation.unwanted}</p>`,
  error
})

const invitationLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const { texts } = yield* configuredSite
  const { signedIn } = yield* signInResponses
  const { invitation } = texts
  return linkPageLayer(texts, {
    path: PAGES.invitation,
    endpoint: Api.groups.auth.endpoints.resetPassword,
    addressOf: accounts.invitedAddress,
    form: invitationForm(texts),
    unusable: {
      title: invitation.unusableTitle,
      words: (state) => state === "expired" ? invitation.expired : invitation[state](SIGN_IN)
    },
    use: Effect.fnUntraced(function*(token, fields, request) {
      yield* accounts.invitedAddress(token)
      const given = orNull(fields["name"])
      const name = given === null ? undefined : yield* decodeNamed(DisplayName, "name", given)
      const password = yield* newPasswordOf(fields["password"])
      yield* signedIn(yield* accounts.acceptInvitation(token, { name, password }, deviceOf(request)))
      return { seeOther: `${ACCOUNT_PAGES.routes.slice(1)}?done=welcome` }
    })
  })
}))

export const mailedLinkPagesLayer = Layer.mergeAll(resetPasswordLayer, verifyEmailLayer, invitationLayer)
