import { Effect, Layer, Result } from "effect"
import type { ServiceError } from "../../schema/Errors.ts"
import { PasswordChanges } from "../../services/accounts/PasswordChanges.ts"
import type { LinkState } from "../../services/DomainErrors.ts"
import { html } from "../../services/operations/Html.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { Api } from "../api/Api.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, PAGES } from "../request/RouteTemplates.ts"
import { publicError } from "../response/PublicErrors.ts"
import { alert, type Page } from "./layout/Layout.ts"
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
import { type Fields, pageLayer } from "./layout/PageRoutes.ts"

const unusable = (texts: Texts) => (error: ServiceError, state: LinkState): Page => ({
  title: texts.reset.title,
  body: html`${unusableAlert(texts, state)}
<p>${
    state === "used"
      ? texts.reset.used(ACCOUNT_PAGES.signIn.slice(1))
      : texts.reset.again(ACCOUNT_PAGES.forgotPassword.slice(1))
  }</p>
${state === "unknown" ? html`<p>${texts.link.copied}</p>` : undefined}`,
  error
})

const formWith = (texts: Texts) => (link: Link, _fields: Fields, error?: ServiceError): Page => ({
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

/** Serves reset and invitation links. Opening a link does not consume its token. */
export const resetPasswordPageLayer = Layer.unwrap(Effect.gen(function*() {
  const limiter = yield* Limiter
  const passwordChanges = yield* PasswordChanges
  const { texts } = yield* configuredSite
  const pages = { addressOf: passwordChanges.addressOf, form: formWith(texts), unusable: unusable(texts) }
  return pageLayer({
    path: PAGES.resetPassword,
    show: shownLink(pages),
    submit: {
      run: Effect.fnUntraced(
        function*(fields) {
          yield* limiter.countAddress(Api.groups.auth.endpoints.resetPassword)
          const token = yield* Effect.result(tokenOf(fields))
          if (Result.isFailure(token)) return pages.unusable(token.failure, "unknown")
          const password = yield* newPasswordOf(fields["password"])
          return changed(texts, yield* passwordChanges.reset(token.success, password))
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
