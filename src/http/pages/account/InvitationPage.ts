import { Effect, Layer, Result } from "effect"
import type { ServiceError } from "../../../schema/Errors.ts"
import { DisplayName } from "../../../schema/User.ts"
import { Accounts } from "../../../services/accounts/SignIn.ts"
import type { LinkState } from "../../../services/DomainErrors.ts"
import { html } from "../../../services/operations/Html.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { deviceOf, signInResponses } from "../../auth/SignInResponses.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, PAGES } from "../../request/RouteTemplates.ts"
import { publicError } from "../../response/PublicErrors.ts"
import { alert, type Page } from "../layout/Layout.ts"
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
} from "../layout/LinkForm.ts"
import { type Fields, pageLayer } from "../layout/PageRoutes.ts"
import { decodeNamed, input, orNull } from "./Forms.ts"

const SIGN_IN = ACCOUNT_PAGES.signIn.slice(1)

const unusable = (texts: Texts) => (error: ServiceError, state: LinkState): Page => ({
  title: texts.invitation.unusableTitle,
  body: html`${unusableAlert(texts, state)}
<p>${state === "expired" ? texts.invitation.expired : texts.invitation[state](SIGN_IN)}</p>
${state === "unknown" ? html`<p>${texts.link.copied}</p>` : undefined}`,
  error
})

const formWith = (texts: Texts) => (link: Link, fields: Fields, error?: ServiceError): Page => ({
  title: texts.invitation.title,
  body: html`${alert(error && passwordWords(texts, error, texts.link.another))}
<p>${texts.invitation.what(addressOf(link, texts))}</p>
<form method="post" action="invitation" novalidate>
${linkFields(link)}
${
    input({
      name: "name",
      label: texts.fields.name,
      value: fields["name"],
      autocomplete: "name",
      hint: texts.invitation.nameHint
    })
  }${newPasswordInput(texts, "password", error, texts.invitation.password)}
<button type="submit">${texts.invitation.button}</button>
</form>
<p>${texts.invitation.unwanted}</p>`,
  error
})

/** Opening the link does not consume it, since mail scanners follow links. */
export const invitationPageLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const limiter = yield* Limiter
  const { texts } = yield* configuredSite
  const { signedIn } = yield* signInResponses
  const pages = { addressOf: accounts.invitedAddress, form: formWith(texts), unusable: unusable(texts) }
  return pageLayer({
    path: PAGES.invitation,
    show: shownLink(pages),
    submit: {
      run: Effect.fnUntraced(
        function*(fields, request) {
          yield* limiter.countAddress(Api.groups.auth.endpoints.resetPassword)
          const token = yield* Effect.result(tokenOf(fields))
          if (Result.isFailure(token)) return pages.unusable(token.failure, "unknown")
          // Before the password: nobody should choose one for a link that cannot be used.
          yield* accounts.invitedAddress(token.success)
          const given = orNull(fields["name"])
          const name = given === null ? undefined : yield* decodeNamed(DisplayName, "name", given)
          const password = yield* newPasswordOf(fields["password"])
          yield* signedIn(yield* accounts.acceptInvitation(token.success, { name, password }, deviceOf(request)))
          return { seeOther: `${ACCOUNT_PAGES.routes.slice(1)}?done=welcome` }
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
