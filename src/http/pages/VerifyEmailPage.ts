import { Effect, Layer, Result, Schema } from "effect"
import { type ServiceError, ValidationFailed } from "../../schema/Errors.ts"
import { PasswordAttempt } from "../../schema/User.ts"
import { Accounts } from "../../services/accounts/SignIn.ts"
import type { LinkState } from "../../services/DomainErrors.ts"
import { html } from "../../services/operations/Html.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { Api } from "../api/Api.ts"
import { deviceOf, signInResponses } from "../auth/SignInResponses.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, PAGES } from "../request/RouteTemplates.ts"
import { publicError } from "../response/PublicErrors.ts"
import { alert, ERROR_ID, type Page } from "./layout/Layout.ts"
import {
  addressOf,
  type Link,
  linkFields,
  newPasswordInput,
  newPasswordOf,
  passwordWords,
  refusedLink,
  shownLink,
  tokenOf,
  unusableAlert
} from "./layout/LinkForm.ts"
import { decodeField, type Fields, pageLayer } from "./layout/PageRoutes.ts"

const SIGN_IN = ACCOUNT_PAGES.signIn.slice(1)

const PasswordField = Schema.RedactedFromValue(PasswordAttempt)

const unusable = (texts: Texts) => (error: ServiceError, state: LinkState): Page => ({
  title: texts.verify.title,
  body: html`${unusableAlert(texts, state)}
<p>${texts.verify[state](SIGN_IN)}</p>
${state === "unknown" ? html`<p>${texts.link.copied}</p>` : undefined}`,
  error
})

const NEW_PASSWORD = "newPassword"

const noPassword = ({ verify }: Texts) => () => ValidationFailed.at("body", "password", verify.noPassword)

/** Anyone may sign up any address: only who holds the mailbox knows which sign-up is theirs. */
const formWith = (texts: Texts) => (link: Link, fields: Fields, error?: ServiceError): Page => {
  const { verify } = texts
  const isNew = fields[NEW_PASSWORD] !== undefined
  const state = error === undefined || isNew ? html`` : html`aria-describedby="${ERROR_ID}" aria-invalid="true"`
  return {
    title: verify.title,
    body: html`${alert(error && passwordWords(texts, error, isNew ? texts.link.another : undefined))}
<p>${verify.what(addressOf(link, texts))}</p>
<form method="post" action="verify-email" novalidate>
${linkFields(link)}
<label for="password">${verify.password}</label>
<input type="password" id="password" name="password" autocomplete="current-password" required ${state}>
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

/** Requires a confirmation, since mail scanners follow links. */
export const verifyEmailPageLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const limiter = yield* Limiter
  const { texts } = yield* configuredSite
  const { signedIn } = yield* signInResponses

  const chosenIn = Effect.fnUntraced(function*(fields: Fields) {
    const newPassword = fields[NEW_PASSWORD]
    return newPassword === undefined
      ? { password: yield* decodeField(PasswordField, fields["password"], noPassword(texts)) }
      : { newPassword: yield* newPasswordOf(newPassword) }
  })

  const pages = { addressOf: accounts.addressOf, form: formWith(texts), unusable: unusable(texts) }
  return pageLayer({
    path: PAGES.verifyEmail,
    show: shownLink(pages),
    submit: {
      run: Effect.fnUntraced(
        function*(fields, request) {
          yield* limiter.countAddress(Api.groups.auth.endpoints.verifyEmail)
          const token = yield* Effect.result(tokenOf(fields))
          if (Result.isFailure(token)) return pages.unusable(token.failure, "unknown")
          // Before the password: nobody should choose one for a link that cannot be used.
          yield* accounts.addressOf(token.success)
          const signIn = yield* accounts.verifyEmail(token.success, yield* chosenIn(fields), deviceOf(request))
          const { user } = yield* signedIn(signIn)
          return verified(texts, user.email)
        },
        Effect.catchTag(
          "LinkUnusable",
          (error) => Effect.map(publicError(error), (shown) => pages.unusable(shown, error.state))
        )
      ),
      refused: refusedLink(pages)
    }
  })
}))
