import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { oidcProviders } from "../../services/accounts/OpenIdConnect.ts"
import { PasswordChanges } from "../../services/accounts/PasswordChanges.ts"
import type { ProviderCredential } from "../../services/accounts/Provider.ts"
import { ProviderSignIn } from "../../services/accounts/ProviderSignIn.ts"
import { Accounts } from "../../services/accounts/SignIn.ts"
import { Api } from "../api/Api.ts"
import { HEADERS } from "../api/Headers.ts"
import { success } from "../api/Success.ts"
import { deviceOf, signInResponses } from "../auth/SignInResponses.ts"
import { clientNetwork } from "../request/ClientAddress.ts"
import { providerPath } from "../request/RouteTemplates.ts"
import { checksumTag } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"
import { pageLinks } from "../response/ResourceJson.ts"
import { jsonResponse, withLocation } from "../response/Versioned.ts"

export const AuthHandlers = HttpApiBuilder.group(
  Api,
  "auth",
  Effect.fn(function*(handlers) {
    const accounts = yield* Accounts
    const passwordChanges = yield* PasswordChanges
    const providers = yield* ProviderSignIn
    const { root } = yield* pageLinks
    const redirects = JSON.stringify(
      (yield* oidcProviders).map(({ id, name }) => ({ id, name, startUrl: `${root}${providerPath("start", id)}` }))
    )
    const listed = jsonResponse(redirects, { headers: { [HEADERS.etag.key]: checksumTag([redirects]) } })
    const { limitEmail, limitLogIn, signedIn, signedOut } = yield* signInResponses

    return handlers.handleAll({
      providers: () => Effect.succeed(listed),
      google: Effect.fnUntraced(function*({ payload, request }) {
        return yield* signedIn(yield* providers.signIn(credentialIn(payload), deviceOf(request)))
      }, worded),
      signUp: Effect.fnUntraced(function*({ payload, request }) {
        yield* limitEmail(request, payload.email, "signUp")
        const signUp = accounts.signUp({ ...payload, name: payload.name ?? undefined, network: clientNetwork(request) })
        yield* withLocation(signUp, () => "/users/me")
        return success
      }, worded),
      verifyEmail: Effect.fnUntraced(function*({ payload, request }) {
        const { password, token } = payload
        return yield* signedIn(yield* accounts.verifyEmail(token, { password }, deviceOf(request)))
      }, worded),
      logIn: Effect.fnUntraced(function*({ payload, request }) {
        yield* limitLogIn(request, payload.email)
        return yield* signedIn(yield* accounts.logIn(payload, deviceOf(request)))
      }, worded),
      requestPasswordReset: Effect.fnUntraced(function*({ payload, request }) {
        yield* limitEmail(request, payload.email, "requestPasswordReset")
        yield* passwordChanges.requestReset(payload.email, clientNetwork(request))
        return success
      }),
      resetPassword: ({ payload }) =>
        Effect.as(worded(passwordChanges.reset(payload.token, payload.password)), success),
      logOut: Effect.fnUntraced(function*({ request }) {
        yield* signedOut(request)
        return success
      })
    })
  })
)

const credentialIn = ({ code, credential, idToken }: {
  readonly code?: Redacted.Redacted
  readonly idToken?: Redacted.Redacted
  readonly credential?: Redacted.Redacted
}): ProviderCredential => code === undefined ? { idToken: idToken ?? credential ?? NO_TOKEN } : { code }

const NO_TOKEN = Redacted.make("")
