import { Effect, Layer, Result } from "effect"
import type { ServiceError } from "../../schema/Errors.ts"
import { INVITATION_LIFETIME, inWords, LINK_LIFETIME } from "../../schema/Limits.ts"
import { PasswordChanges } from "../../services/accounts/PasswordChanges.ts"
import { html } from "../../services/operations/Html.ts"
import { Api } from "../api/Api.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { publicErrorOf } from "../response/PublicErrors.ts"
import { alert, type Page } from "./layout/Layout.ts"
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
import { type Fields, pageLayer } from "./layout/PageRoutes.ts"

const TITLE = "Choose a new password"

const unusable = (error: ServiceError): Page => ({
  title: TITLE,
  body: html`${unusableAlert}
<p>A link can be used once, and expires: ${inWords(LINK_LIFETIME["reset-password"])} after a reset was requested, ${
    inWords(INVITATION_LIFETIME)
  }
after an invitation. Your password is as it was. Ask for another link where you asked for this one.</p>
<p>Copied from the mail? Check that the whole of it was copied.</p>`,
  error
})

const formWith = (link: Link, _fields: Fields, error?: ServiceError): Page => ({
  title: TITLE,
  body: html`${alert(error && passwordWords(error, ANOTHER))}
<p>This sets the password of ${addressOf(link)}.</p>
<form method="post" action="reset-password" novalidate>
${linkFields(link)}
${newPasswordInput("password", error)}
<button type="submit">Set the password</button>
</form>
<p>This signs you out on every device. You did not ask for it? Close this page: your password stays as it is.</p>`,
  error
})

const tokensAlive = (count: number) =>
  count === 0
    ? html`<p>Your account has no personal access token, so nothing goes on without the new password.</p>`
    : html`<p>${count} personal access ${count === 1 ? "token" : "tokens"} of your account still ${
      count === 1 ? "works" : "work"
    }, for scripts and apps. If
you do not know what uses them, or think that somebody else had your password, <a href="me/revoke-tokens">revoke
them</a>.</p>`

const changed = (liveTokens: number): Page => ({
  title: "Your password is set",
  body: html`<p role="status">The new password counts from now on, and you were signed out on every device.</p>
<h2>What is next</h2>
<p><a class="button" href="sign-in">Sign in</a></p>
<p>Sign in again in the apps that you use, too.</p>
${tokensAlive(liveTokens)}
<p>If you had asked for your account to be deleted, you can still <a href="me/cancel-deletion">keep it</a>.</p>`
})

/** Serves reset and invitation links. Opening a link does not consume its token. */
export const resetPasswordPageLayer = Layer.unwrap(Effect.gen(function*() {
  const limiter = yield* Limiter
  const passwordChanges = yield* PasswordChanges
  const pages = { addressOf: passwordChanges.addressOf, form: formWith, unusable }
  return pageLayer({
    path: PAGES.resetPassword,
    show: shownLink(pages),
    submit: {
      run: Effect.fnUntraced(function*(fields) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.resetPassword)
        const token = yield* Effect.result(tokenOf(fields))
        if (Result.isFailure(token)) return unusable(token.failure)
        return changed(yield* passwordChanges.reset(token.success, yield* newPasswordOf(fields["password"])))
      }, Effect.catchTag("LinkUnusable", (error) => Effect.succeed(unusable(publicErrorOf(error))))),
      refused: refusedLink(pages)
    }
  })
}))
