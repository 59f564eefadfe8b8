import { NodeHttpClient } from "@effect/platform-node"
import { it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { RequestListener } from "node:http"
import { IdentityProvider } from "../../src/services/accounts/Provider.ts"
import { CLIENT_ID, NOW, OpenIdProvider } from "./OpenIdProvider.ts"

export const CLIENT_SECRET = "client-secret-of-tests-32-characters"

export const SECONDS = NOW / 1000

export const identityLayer = (settings: Readonly<Record<string, string>>) =>
  IdentityProvider.layer.pipe(
    Layer.provide(NodeHttpClient.layerUndici),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
  )

export const trusting = (issuer: string) =>
  identityLayer({ GOOGLE_ISSUER: issuer, GOOGLE_CLIENT_ID: CLIENT_ID, GOOGLE_CLIENT_SECRET: CLIENT_SECRET })

const world = Layer.unwrap(Effect.map(OpenIdProvider, ({ url }) => trusting(url))).pipe(
  Layer.provideMerge(OpenIdProvider.layer)
)

/** Runs a test with its own provider and service, since both remember. */
export const fact = <E>(
  sentence: string,
  test: () => Effect.Effect<unknown, E, IdentityProvider | OpenIdProvider | Scope.Scope>
) => it.effect(sentence, () => TestClock.setTime(NOW).pipe(Effect.andThen(Effect.suspend(test)), Effect.provide(world)))

export const withCode = (code: string) =>
  IdentityProvider.use(({ identify }) => identify({ code: Redacted.make(code) }))

export const withToken = (token: string) =>
  IdentityProvider.use(({ identify }) => identify({ idToken: Redacted.make(token) }))

export const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "accepted" })

export const outcome = (token: string) => tagOf(withToken(token))

export const outcomeOf = Effect.fnUntraced(
  function*(claims: Readonly<Record<string, unknown>>, header: Readonly<Record<string, unknown>> = {}) {
    const provider = yield* OpenIdProvider
    return yield* outcome(yield* provider.token(claims, undefined, header))
  }
)

export const answering =
  (status: number, body: string | Uint8Array, headers: Record<string, string> = {}): RequestListener =>
  (
    _,
    response
  ) => {
    response.writeHead(status, headers).end(body)
  }

export const hangUp: RequestListener = ({ socket }) => {
  socket.destroy()
}
