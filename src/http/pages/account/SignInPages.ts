import { Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import type { ServiceError } from "../../../schema/Errors.ts"
import { inWords, LINK_LIFETIME } from "../../../schema/Limits.ts"
import { DisplayName, Email, NewEmail, USER_PATHS } from "../../../schema/User.ts"
import { PasswordChanges } from "../../../services/accounts/PasswordChanges.ts"
import { Accounts } from "../../../services/accounts/SignIn.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { settings } from "../../../services/settings/Registry.ts"
import { Api } from "../../api/Api.ts"
import { Authenticator } from "../../auth/Authenticator.ts"
import { signInResponses } from "../../auth/SignInResponses.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { clientNetwork } from "../../request/ClientAddress.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { alert, type Page, plainWords } from "../layout/Layout.ts"
import { newPasswordInput, newPasswordOf, passwordWords } from "../layout/LinkForm.ts"
import { type Fields, pageLayer } from "../layout/PageRoutes.ts"
import { providerLinksFrom, signInByForm, signInForm } from "../layout/SignInForm.ts"
import { decodeForm, hidden, input, orNull } from "./Forms.ts"

const { signIn: SIGN_IN, signOut: SIGN_OUT, signUp: SIGN_UP, forgotPassword: FORGOT } = ACCOUNT_PAGES

const relative = (path: string) => path.slice(1)

/** Only paths of this service that need a session: an address of another site has other characters. */
const OWN = new RegExp(String.raw`^(?:${USER_PATHS.me}|admin)(?:/[a-z0-9-]+)*$`)

const returnTo = (to: string | null | undefined): string =>
  to !== undefined && to !== null && OWN.test(to) ? to : relative(ACCOUNT_PAGES.routes)

interface Ways {
  readonly isOpen: boolean
  readonly providerLinks: (to: string) => Html
}

const signInPage = (to: string, { isOpen, providerLinks }: Ways, email = "", error?: ServiceError): Page => ({
  title: "Sign in",
  body: html`${alert(error && plainWords(error))}
${signInForm(relative(SIGN_IN), email, error, hidden("to", to))}
${providerLinks(to)}
<p><a href="${relative(FORGOT)}">Forgot your password?</a></p>
${
    isOpen
      ? html`<p>No account yet? <a href="${relative(SIGN_UP)}">Sign up</a>.</p>`
      : html`<p>No account yet? Accounts are by invitation here: ask an administrator.</p>`
  }`,
  error
})

const signUpPage = (fields: Fields, error?: ServiceError): Page => ({
  title: "Sign up",
  body: html`${alert(error && passwordWords(error))}
<p>With an account you keep your routes, share them and take them along as files.</p>
<form method="post" action="${relative(SIGN_UP)}">
${
    input({
      name: "name",
      label: "Name",
      value: fields["name"],
      autocomplete: "name",
      hint: "Others see it on what you share."
    })
  }${
    input({
      name: "email",
      label: "Email address",
      type: "email",
      value: fields["email"],
      autocomplete: "username",
      required: true
    })
  }${newPasswordInput("password", error)}
<button type="submit">Sign up</button>
</form>
<p>You have an account? <a href="${relative(SIGN_IN)}">Sign in</a>.</p>`,
  error
})

const closedPage = (error?: ServiceError): Page => ({
  title: "Sign up",
  body: html`<p>Accounts are by invitation here: ask an administrator for one.</p>
<p>You have an account? <a href="${relative(SIGN_IN)}">Sign in</a>.</p>`,
  error
})

const mailed = (email: string): Page => ({
  title: "Check your mail",
  body: html`<p role="status">A mail is on its way to <strong>${email}</strong>.</p>
<p>Open its link within ${
    inWords(LINK_LIFETIME["verify-email"])
  } to verify the address: then your account is there, and you
are signed in.</p>
<p>No mail? Look among the unwanted ones, or <a href="${relative(SIGN_IN)}">sign in</a> to get another.</p>`
})

const forgotPage = (email = "", error?: ServiceError): Page => ({
  title: "Forgot your password?",
  body: html`${alert(error && plainWords(error))}
<p>You get a mail with a link, by which you choose a new one.</p>
<form method="post" action="${relative(FORGOT)}">
${
    input({
      name: "email",
      label: "Email address",
      type: "email",
      value: email,
      autocomplete: "username",
      required: true
    })
  }
<button type="submit">Send the link</button>
</form>
<p><a href="${relative(SIGN_IN)}">Back to the sign-in</a></p>`,
  error
})

const resetMailed = (email: string): Page => ({
  title: "Check your mail",
  body: html`<p role="status">If <strong>${email}</strong> has an account, a link is on its way to it.</p>
<p>Open it within ${inWords(LINK_LIFETIME["reset-password"])}.</p>`
})

const signOutPage = (error?: ServiceError): Page => ({
  title: "Sign out",
  body: html`${alert(error && plainWords(error))}
<form method="post" action="${relative(SIGN_OUT)}"><button type="submit">Sign out</button></form>`,
  error
})

type Request = HttpServerRequest.HttpServerRequest

export const signInPagesLayer = Layer.unwrap(Effect.gen(function*() {
  const accounts = yield* Accounts
  const authenticator = yield* Authenticator
  const isOpen = yield* settings.SIGNUP_ENABLED
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
      return Option.isSome(known) ? { seeOther: to } : signInPage(to, ways)
    }),
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* signIn(fields, request)
        return { seeOther: returnTo(fields["to"]) }
      }),
      refused: (error, { email, to }) => signInPage(returnTo(to), ways, email, error)
    }
  })

  const signUpBy = Effect.fnUntraced(function*(fields: Fields, request: Request) {
    yield* limiter.countAddress(signUp)
    const email = yield* decodeForm(NewEmail, fields["email"])
    const name = orNull(fields["name"])
    const given = name === null ? undefined : yield* decodeForm(DisplayName, name)
    const password = yield* newPasswordOf(fields["password"])
    yield* limitEmail(request, email, "signUp")
    yield* accounts.signUp({ email, name: given, password, network: clientNetwork(request) })
    return mailed(email)
  })

  const signUpLayer = pageLayer({
    path: SIGN_UP,
    show: () => Effect.succeed(isOpen ? signUpPage({}) : closedPage()),
    submit: { run: signUpBy, refused: (error, fields) => isOpen ? signUpPage(fields, error) : closedPage(error) }
  })

  const forgotLayer = pageLayer({
    path: FORGOT,
    show: () => Effect.succeed(forgotPage()),
    submit: {
      run: Effect.fnUntraced(function*(fields, request) {
        yield* limiter.countAddress(requestPasswordReset)
        const email = yield* decodeForm(Email, fields["email"])
        yield* limitEmail(request, email, "requestPasswordReset")
        yield* passwordChanges.requestReset(email, clientNetwork(request))
        return resetMailed(email)
      }),
      refused: (error, { email }) => forgotPage(email, error)
    }
  })

  const signOutLayer = pageLayer({
    path: SIGN_OUT,
    show: () => Effect.succeed(signOutPage()),
    submit: {
      run: Effect.fnUntraced(function*(_fields, request) {
        yield* limiter.countAddress(Api.groups.auth.endpoints.logOut)
        yield* signedOut(request)
        return { seeOther: "./" }
      }),
      refused: (error) => signOutPage(error)
    }
  })

  return Layer.mergeAll(signInLayer, signUpLayer, forgotLayer, signOutLayer)
}))
