import { Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import type { ServiceError } from "../../../schema/Errors.ts"
import { DisplayName, Email, NewEmail, USER_PATHS } from "../../../schema/User.ts"
import { PasswordChanges } from "../../../services/accounts/PasswordChanges.ts"
import { Accounts } from "../../../services/accounts/SignIn.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { settings } from "../../../services/operations/SettingsRegistry.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { Authenticator } from "../../auth/Authenticator.ts"
import { signInResponses } from "../../auth/SignInResponses.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { clientNetwork } from "../../request/ClientAddress.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { alert, type Page, plainWords, readerOf } from "../layout/Layout.ts"
import { type Fields, pageLayer } from "../layout/PageRoutes.ts"
import {
  newPasswordInput,
  newPasswordOf,
  passwordWords,
  providerLinksFrom,
  signInByForm,
  signInForm
} from "../layout/SignInForm.ts"
import { decodeNamed, fieldsOf, hidden, orNull } from "./Forms.ts"

const { signIn: SIGN_IN, signOut: SIGN_OUT, signUp: SIGN_UP, forgotPassword: FORGOT } = ACCOUNT_PAGES

const relative = (path: string) => path.slice(1)

/** Matches only paths of this service that need a session: an address of another site has other characters. */
const OWN = new RegExp(String.raw`^(?:${USER_PATHS.me}|admin)(?:/[a-z0-9-]+)*(?:\?[\w=&%.+*()-]*)?$`)

const returnTo = (to: string | null | undefined): string => {
  const given = to ?? ""
  return OWN.test(given) ? given : relative(ACCOUNT_PAGES.routes)
}

/** Anyone may find the page. An audit for search engines reads robots.txt from within the page. */
const OPEN: Pick<Page, "isIndexable" | "policy"> = { isIndexable: true, policy: { "connect-src": "'self'" } }

interface Ways {
  readonly isOpen: boolean
  readonly providerLinks: (to: string) => Html
}

const signInPage = (texts: Texts, ways: Ways, to: string) => (email = "", error?: ServiceError): Page => {
  const { signIn } = texts
  return {
    ...OPEN,
    title: signIn.title,
    head: html`<meta name="description" content="${texts.signUp.lead}">`,
    body: html`${alert(error && plainWords(texts, error))}
${signInForm(texts, relative(SIGN_IN), email, error, hidden("to", to))}
${ways.providerLinks(to)}
<p><a href="${relative(FORGOT)}">${signIn.forgot}</a></p>
<p>${ways.isOpen ? signIn.signUp(relative(SIGN_UP)) : signIn.byInvitation}</p>`,
    error
  }
}

const emailInput = (texts: Texts, email: string | undefined, error: ServiceError | undefined) =>
  fieldsOf(texts, { email }, error).input("email", { type: "email", autocomplete: "username", required: true })

const signUpPage = (texts: Texts, given: Fields, error?: ServiceError): Page => {
  const { fields, signUp } = texts
  return {
    ...OPEN,
    title: signUp.title,
    head: html`<meta name="description" content="${signUp.lead}">`,
    body: html`${alert(error && passwordWords(texts, error))}
<p>${signUp.lead}</p>
<form method="post" action="${relative(SIGN_UP)}">
${fieldsOf(texts, given, error).input("name", { autocomplete: "name", hint: signUp.nameHint })}${
      emailInput(texts, given["email"], error)
    }${newPasswordInput(texts, "password", error, fields.password)}
<button type="submit">${signUp.button}</button>
</form>
<p>${signUp.signIn(relative(SIGN_IN))}</p>`,
    error
  }
}

const closedPage = ({ signUp }: Texts, error?: ServiceError): Page => ({
  title: signUp.title,
  body: html`<p>${signUp.closed}</p>
<p>${signUp.signIn(relative(SIGN_IN))}</p>`,
  error
})

const mailed = ({ signUp }: Texts, email: string): Page => ({
  title: signUp.mailedTitle,
  body: html`<p role="status">${signUp.mailed(html`<strong>${email}</strong>`)}</p>
<p>${signUp.mailedNext}</p>
<p>${signUp.noMail(relative(SIGN_IN))}</p>`
})

const forgotPage = (texts: Texts, email = "", error?: ServiceError): Page => ({
  title: texts.forgot.title,
  body: html`${alert(error && plainWords(texts, error))}
<p>${texts.forgot.lead}</p>
<form method="post" action="${relative(FORGOT)}">
${emailInput(texts, email, error)}
<button type="submit">${texts.forgot.button}</button>
</form>
<p><a href="${relative(SIGN_IN)}">${texts.forgot.back}</a></p>`,
  error
})

const resetMailed = ({ forgot, signUp }: Texts, email: string): Page => ({
  title: signUp.mailedTitle,
  body: html`<p role="status">${forgot.mailed(html`<strong>${email}</strong>`)}</p>
<p>${forgot.mailedNext}</p>`
})

const signOutPage = (texts: Texts, reader?: Page["reader"], error?: ServiceError): Page => ({
  title: texts.signOut.title,
  reader,
  body: html`${alert(error && plainWords(texts, error))}
<form method="post" action="${relative(SIGN_OUT)}"><button type="submit">${texts.signOut.button}</button></form>`,
  error
})

type Request = HttpServerRequest.HttpServerRequest

export const signInPagesLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const authenticator = yield* Authenticator
  const isOpen = yield* settings.SIGNUP_ENABLED
  const { texts } = yield* configuredSite
  const ways = { isOpen, providerLinks: yield* providerLinksFrom(SIGN_IN) }
  const limiter = yield* Limiter
  const passwordChanges = yield* PasswordChanges
  const signIn = yield* signInByForm
  const { limitEmail, signedOut } = yield* signInResponses
  const { requestPasswordReset, signUp } = Api.groups.auth.endpoints

  const signInLayer = pageLayer({
    path: SIGN_IN,
    show: Effect.fnUntraced(function*(query) {
      const to = returnTo(query.get("to"))
      const known = yield* authenticator.readOptional(HttpApiEndpoint.get("page", SIGN_IN))
      return Option.isSome(known) ? { seeOther: to } : signInPage(texts, ways, to)()
    }),
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* signIn(fields, request)
        return { seeOther: returnTo(fields["to"]) }
      }),
      refused: (error, { email, to }) => signInPage(texts, ways, returnTo(to))(email, error)
    }
  })

  const signUpBy = Effect.fnUntraced(function*(fields: Fields, request: Request) {
    yield* limiter.countAddress(signUp)
    const email = yield* decodeNamed(NewEmail, "email", fields["email"])
    const name = orNull(fields["name"])
    const given = name === null ? undefined : yield* decodeNamed(DisplayName, "name", name)
    const password = yield* newPasswordOf(fields["password"])
    yield* limitEmail(request, email, "signUp")
    yield* accounts.signUp({ email, name: given, password, network: clientNetwork(request) })
    return mailed(texts, email)
  })

  const signUpLayer = pageLayer({
    path: SIGN_UP,
    show: () => Effect.succeed(isOpen ? signUpPage(texts, {}) : closedPage(texts)),
    submit: {
      run: signUpBy,
      refused: (error, fields) => isOpen ? signUpPage(texts, fields, error) : closedPage(texts, error)
    }
  })

  const forgotLayer = pageLayer({
    path: FORGOT,
    show: () => Effect.succeed(forgotPage(texts)),
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* limiter.countAddress(requestPasswordReset)
        const email = yield* decodeNamed(Email, "email", fields["email"])
        yield* limitEmail(request, email, "requestPasswordReset")
        yield* passwordChanges.requestReset(email, clientNetwork(request))
        return resetMailed(texts, email)
      }),
      refused: (error, { email }) => forgotPage(texts, email, error)
    }
  })

  const signOutLayer = pageLayer({
    path: SIGN_OUT,
    show: () =>
      Effect.map(
        authenticator.readOptional(HttpApiEndpoint.get("page", SIGN_OUT)),
        (principal) => signOutPage(texts, readerOf(principal))
      ),
    submit: {
      run: Effect.fnUntraced(function*(_fields, request) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.logOut)
        yield* signedOut(request)
        return { seeOther: "./" }
      }),
      refused: (error) => signOutPage(texts, undefined, error)
    }
  })

  return Layer.mergeAll(signInLayer, signUpLayer, forgotLayer, signOutLayer)
}))
