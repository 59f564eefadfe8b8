import { Effect, Layer } from "effect"
import type { ServiceError } from "../../schema/Errors.ts"
import { inWords, LINK_LIFETIME } from "../../schema/Limits.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { html } from "../../services/html/Html.ts"
import { Api } from "../api/Api.ts"
import { deviceOf, signInResponses } from "../auth/SignInResponses.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import type { Page } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"
import { alert, plainWords } from "./layout/Refusals.ts"
import { noToken, tokenOf, unusableAlert } from "./LinkToken.ts"

const TITLE = "Verify your email address"

const unusable = (error: ServiceError): Page => ({
  title: TITLE,
  body: html`${unusableAlert}
<p>A link can be used once, within ${
    inWords(LINK_LIFETIME["verify-email"])
  }. Was it used already? Then your address is verified: sign in
with your password. If not, sign in all the same, and you will get another link by mail.</p>
<p>Copied from the mail? Check that the whole of it was copied.</p>`,
  error
})

const formWith = (token: string, error?: ServiceError): Page => ({
  title: TITLE,
  body: html`${alert(error === undefined ? undefined : plainWords(error))}
<p>This makes your account, and signs you in on this device.</p>
<form method="post" action="verify-email">
<input type="hidden" name="token" value="${token}">
<button type="submit">Verify and sign in</button>
</form>
<p>You did not sign up? Close this page: without the button nothing happens.</p>`,
  error
})

const verified = (email: string): Page => ({
  title: "Your address is verified",
  body: html`<p role="status">You are signed in as <strong>${email}</strong> on this device.</p>
<h2>What is next</h2>
<p>Go back to the app that you signed up in and sign in with your email address and password. Or
<a href="./">see what this service does</a>.</p>`
})

/** Requires a confirmation, since mail scanners follow links. */
export const verifyEmailPageLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const limiter = yield* Limiter
  const { signedIn } = yield* signInResponses
  return pageLayer({
    path: PAGES.verifyEmail,
    show: (query) => {
      const token = query.get("token")
      return Effect.succeed(token === null || token === "" ? unusable(noToken()) : formWith(token))
    },
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.verifyEmail)
        const token = yield* tokenOf(fields)
        const { user } = yield* signedIn(request, yield* accounts.verifyEmail(token, deviceOf(request)))
        return verified(user.email)
      }),
      refused: (error, { token }) =>
        error.statusCode === 400 || token === undefined ? unusable(error) : formWith(token, error)
    }
  })
}))
