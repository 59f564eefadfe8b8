import { Effect, Layer, Result } from "effect"
import type { ServiceError } from "../../../schema/Errors.ts"
import { INVITATION_LIFETIME, inWords } from "../../../schema/Limits.ts"
import { DisplayName } from "../../../schema/User.ts"
import { Accounts } from "../../../services/accounts/SignIn.ts"
import { html } from "../../../services/operations/Html.ts"
import { Api } from "../../api/Api.ts"
import { deviceOf, signInResponses } from "../../auth/SignInResponses.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, PAGES } from "../../request/RouteTemplates.ts"
import { publicErrorOf } from "../../response/PublicErrors.ts"
import { alert, type Page } from "../layout/Layout.ts"
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
} from "../layout/LinkForm.ts"
import { type Fields, pageLayer } from "../layout/PageRoutes.ts"
import { decodeForm, input, orNull } from "./Forms.ts"

const SIGN_IN = ACCOUNT_PAGES.signIn.slice(1)

const unusable = (error: ServiceError): Page => ({
  title: "Your invitation",
  body: html`${unusableAlert}
<p>Was it used already? Then your account is there: <a href="${SIGN_IN}">sign in</a>. An invitation expires after ${
    inWords(INVITATION_LIFETIME)
  }: ask the person who invited you for another one.</p>
<p>Copied from the mail? Check that the whole of it was copied.</p>`,
  error
})

const formWith = (link: Link, fields: Fields, error?: ServiceError): Page => ({
  title: "Welcome",
  body: html`${alert(error && passwordWords(error, ANOTHER))}
<p>You are invited to keep, plan and share your routes here. Choose a name and a password: that makes the account of
${addressOf(link)}, and signs you in on this device.</p>
<form method="post" action="invitation" novalidate>
${linkFields(link)}
${
    input({
      name: "name",
      label: "Name",
      value: fields["name"],
      autocomplete: "name",
      hint: "Others see it on what you share. Empty for a name made of the address."
    })
  }${newPasswordInput("password", error)}
<button type="submit">Make my account</button>
</form>
<p>You do not want an account? Close this page: without the button nothing happens.</p>`,
  error
})

/** Opening the link does not consume it, since mail scanners follow links. */
export const invitationPageLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const limiter = yield* Limiter
  const { signedIn } = yield* signInResponses
  const pages = { addressOf: accounts.invitedAddress, form: formWith, unusable }
  return pageLayer({
    path: PAGES.invitation,
    show: shownLink(pages),
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.resetPassword)
        const token = yield* Effect.result(tokenOf(fields))
        if (Result.isFailure(token)) return unusable(token.failure)
        // Before the password: nobody should choose one for a link that cannot be used.
        yield* accounts.invitedAddress(token.success)
        const given = orNull(fields["name"])
        const name = given === null ? undefined : yield* decodeForm(DisplayName, given)
        const password = yield* newPasswordOf(fields["password"])
        yield* signedIn(yield* accounts.acceptInvitation(token.success, { name, password }, deviceOf(request)))
        return { seeOther: `${ACCOUNT_PAGES.routes.slice(1)}?done=welcome` }
      }, Effect.catchTag("LinkUnusable", (error) => Effect.succeed(unusable(publicErrorOf(error))))),
      refused: refusedLink(pages)
    }
  })
}))
