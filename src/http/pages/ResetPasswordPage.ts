import { Effect, Layer, Option, Schema } from "effect"
import { type ServiceError, ValidationFailed } from "../../schema/Errors.ts"
import { INVITATION_LIFETIME, inWords, LINK_LIFETIME } from "../../schema/Limits.ts"
import { NewPassword, PASSWORD_RULE } from "../../schema/User.ts"
import { PasswordChanges } from "../../services/accounts/PasswordChanges.ts"
import { html } from "../../services/html/Html.ts"
import { Api } from "../api/Api.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { publicErrorOf } from "../response/PublicErrors.ts"
import type { Page } from "./layout/Layout.ts"
import { decodeField, pageLayer } from "./layout/PageRoutes.ts"
import { alert, ERROR_ID, plainWords } from "./layout/Refusals.ts"
import { noToken, tokenOf, unusableAlert } from "./LinkToken.ts"

const TITLE = "Choose a new password"

const Password = Schema.RedactedFromValue(NewPassword)

const wrongLength = () => ValidationFailed.at("password", `Use ${PASSWORD_RULE}`)

const issuesOf = Schema.decodeUnknownOption(
  Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
)

const passwordIssue = ({ details }: ServiceError) =>
  Option.getOrUndefined(issuesOf(details))?.issues.find(({ path }) => path === "password")?.message

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

const formWith = (token: string, error?: ServiceError): Page => {
  const issue = error === undefined ? undefined : passwordIssue(error)
  const message = issue === undefined ? error && plainWords(error) : `Choose another password. ${issue}.`
  const state = issue === undefined
    ? html`aria-describedby="password-hint"`
    : html`aria-describedby="password-hint ${ERROR_ID}" aria-invalid="true" autofocus`
  return {
    title: TITLE,
    body: html`${alert(message)}
<form method="post" action="reset-password" novalidate>
<input type="hidden" name="token" value="${token}">
<label for="password">New password</label>
<p class="hint" id="password-hint">${PASSWORD_RULE}. A few words that do not belong together are long and easy to remember.</p>
<input type="password" id="password" name="password" autocomplete="new-password" required ${state}>
<button type="submit">Set the password</button>
</form>
<p>This signs you out on every device. You did not ask for it? Close this page: your password stays as it is.</p>`,
    error
  }
}

const changed: Page = {
  title: "Your password is set",
  body: html`<p role="status">The new password counts from now on, and you were signed out on every device.</p>
<h2>What is next</h2>
<p>Sign in with it in the app that you use. Scripts with a personal access token go on as before; revoke the tokens that
you do not know.</p>
<p>If you had asked for your account to be deleted, you can still <a href="me/cancel-deletion">keep it</a>.</p>`
}

/** For reset and invitation links. Opening a link does not consume its token. */
export const resetPasswordPageLayer = Layer.unwrap(Effect.gen(function*() {
  const limiter = yield* Limiter
  const passwordChanges = yield* PasswordChanges
  return pageLayer({
    path: PAGES.resetPassword,
    show: (query) => {
      const token = query.get("token")
      return Effect.succeed(token === null || token === "" ? unusable(noToken()) : formWith(token))
    },
    submit: {
      run: Effect.fnUntraced(function*(fields) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.resetPassword)
        const token = yield* Effect.option(tokenOf(fields))
        if (Option.isNone(token)) return unusable(noToken())
        yield* passwordChanges.reset(token.value, yield* decodeField(Password, fields["password"], wrongLength))
        return changed
      }, Effect.catchTag("LinkUnusable", (error) => Effect.succeed(unusable(publicErrorOf(error))))),
      refused: (error, { token }) => token === undefined ? unusable(error) : formWith(token, error)
    }
  })
}))
