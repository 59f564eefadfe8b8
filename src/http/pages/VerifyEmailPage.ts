import { Effect, Layer, Result, Schema } from "effect"
import { type ServiceError, ValidationFailed } from "../../schema/Errors.ts"
import { inWords, LINK_LIFETIME } from "../../schema/Limits.ts"
import { PasswordAttempt } from "../../schema/User.ts"
import { Accounts } from "../../services/accounts/SignIn.ts"
import { html } from "../../services/operations/Html.ts"
import { Api } from "../api/Api.ts"
import { deviceOf, signInResponses } from "../auth/SignInResponses.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { publicErrorOf } from "../response/PublicErrors.ts"
import { alert, ERROR_ID, type Page } from "./layout/Layout.ts"
import {
  addressOf,
  ANOTHER,
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

const TITLE = "Verify your email address"

const PasswordField = Schema.RedactedFromValue(PasswordAttempt)

const unusable = (error: ServiceError): Page => ({
  title: TITLE,
  body: html`${unusableAlert}
<p>A link can be used once, within ${
    inWords(LINK_LIFETIME["verify-email"])
  }. Was it used already? Then your address is already verified:
<a href="sign-in">sign in</a> with your password. If not, sign in all the same, and you will get another link by mail.</p>
<p>Copied from the mail? Check that the whole of it was copied.</p>`,
  error
})

const NEW_PASSWORD = "newPassword"

const noPassword = () =>
  ValidationFailed.at("body", "password", "Enter the password that you chose when you signed up, or choose a new one")

/** Anyone may sign up any address: only who holds the mailbox knows which sign-up is theirs. */
const formWith = (link: Link, fields: Fields, error?: ServiceError): Page => {
  const isNew = fields[NEW_PASSWORD] !== undefined
  const state = error === undefined || isNew ? html`` : html`aria-describedby="${ERROR_ID}" aria-invalid="true"`
  return {
    title: TITLE,
    body: html`${alert(error && passwordWords(error, isNew ? ANOTHER : ""))}
<p>This makes the account of ${addressOf(link)}, and signs you in on this device.</p>
<form method="post" action="verify-email" novalidate>
${linkFields(link)}
<label for="password">Password that you chose when you signed up</label>
<input type="password" id="password" name="password" autocomplete="current-password" required ${state}>
<button type="submit">Verify and sign in</button>
</form>
<h2>Or choose a new one</h2>
<p>You do not know that password, or somebody else signed up with your address? With a new password theirs is void.</p>
<form method="post" action="verify-email" novalidate>
${linkFields(link)}
${newPasswordInput(NEW_PASSWORD, isNew ? error : undefined)}
<button type="submit">Set the password and sign in</button>
</form>
<p>You do not want an account? Close this page: without a button nothing happens.</p>`,
    error
  }
}

const verified = (email: string): Page => ({
  title: "Your address is verified",
  body: html`<p role="status">You are signed in as <strong>${email}</strong> on this device.</p>
<h2>What is next</h2>
<p><a class="button" href="me/routes">See my routes</a></p>
<p>You signed up in an app? Go back to it and sign in with your email address and password.</p>`,
  reader: "user"
})

/** Requires a confirmation, since mail scanners follow links. */
export const verifyEmailPageLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const limiter = yield* Limiter
  const { signedIn } = yield* signInResponses

  const chosenIn = Effect.fnUntraced(function*(fields: Fields) {
    const newPassword = fields[NEW_PASSWORD]
    return newPassword === undefined
      ? { password: yield* decodeField(PasswordField, fields["password"], noPassword) }
      : { newPassword: yield* newPasswordOf(newPassword) }
  })

  const pages = { addressOf: accounts.addressOf, form: formWith, unusable }
  return pageLayer({
    path: PAGES.verifyEmail,
    show: shownLink(pages),
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.verifyEmail)
        const token = yield* Effect.result(tokenOf(fields))
        if (Result.isFailure(token)) return unusable(token.failure)
        // Before the password: nobody should choose one for a link that cannot be used.
        yield* accounts.addressOf(token.success)
        const signIn = yield* accounts.verifyEmail(token.success, yield* chosenIn(fields), deviceOf(request))
        const { user } = yield* signedIn(signIn)
        return verified(user.email)
      }, Effect.catchTag("LinkUnusable", (error) => Effect.succeed(unusable(publicErrorOf(error))))),
      refused: refusedLink(pages)
    }
  })
}))
