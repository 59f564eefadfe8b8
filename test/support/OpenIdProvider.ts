import { Clock, Context, Effect, Layer } from "effect"
import { SignJWT } from "jose"
import { createServer, type RequestListener } from "node:http"
import {
  type JWK,
  type MutableResponse,
  type MutableToken,
  OAuth2Issuer,
  OAuth2Service,
  type TokenRequest,
  type TokenRequestIncomingMessage
} from "oauth2-mock-server"
import { closed, listening } from "./Listening.ts"

export const CLIENT_ID = "our-client.apps.example"

export const DISCOVERY = "/.well-known/openid-configuration"

/** Codes are exchanged at this time. */
export const NOW = Date.UTC(2026, 0, 1)

/** The provider states these claims of the one person that it knows. */
export const ada = {
  sub: "248289761001",
  email: "ada@example.com",
  email_verified: true,
  name: "Ada Lovelace",
  picture: "https://example.com/ada.png"
}

const claimsAt = (millis: number) => {
  const iat = Math.floor(millis / 1000)
  return { ...ada, iat, nbf: iat, exp: iat + 3600 }
}

/** This OpenID provider has a socket, and can misbehave. Every code but "spent" is good. */
export class OpenIdProvider extends Context.Service<OpenIdProvider, {
  readonly url: string
  /** Returns how often a path was requested. */
  readonly hits: (path: string) => number
  /** The token endpoint got these forms. */
  readonly forms: ReadonlyArray<TokenRequest>
  readonly misbehave: (path: string, listener: RequestListener) => Effect.Effect<void>
  readonly behave: (path: string) => Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  /** Returns a new key, which the provider publishes from now on. */
  readonly newKey: (alg: string) => Effect.Effect<JWK>
  /** The published keys have their private parts here, the newest last. */
  readonly keys: Effect.Effect<ReadonlyArray<JWK>>
  /** Returns an ID token for Ada. A claim that is undefined is left out. */
  readonly token: (
    claims?: Readonly<Record<string, unknown>>,
    key?: JWK,
    header?: Readonly<Record<string, unknown>>
  ) => Effect.Effect<string>
}>()("test/OpenIdProvider") {
  static readonly layer = Layer.effect(
    OpenIdProvider,
    Effect.gen(function*() {
      const issuer = new OAuth2Issuer()
      const service = new OAuth2Service(issuer)
      const requests: Array<string> = []
      const forms: Array<TokenRequest> = []
      const faults = new Map<string, RequestListener>()
      const server = createServer((request, response) => {
        const path = request.url ?? ""
        requests.push(path)
        const listener = faults.get(path) ?? service.requestHandler
        listener(request, response)
      })
      const url = `http://127.0.0.1:${yield* listening(server)}`
      issuer.url = url
      service.on("beforeTokenSigning", ({ payload }: MutableToken) => Object.assign(payload, claimsAt(NOW)))
      service.on("beforeResponse", (response: MutableResponse, { body }: TokenRequestIncomingMessage) => {
        forms.push(body)
        if (body.code !== "spent") return
        response.statusCode = 400
        response.body = { error: "invalid_grant", error_description: `The code ${body.code} is spent` }
      })
      const newKey = (alg: string) => Effect.promise(() => issuer.keys.generate(alg))
      yield* newKey("RS256")

      return OpenIdProvider.of({
        url,
        hits: (path) => requests.filter((request) => request === path).length,
        forms,
        misbehave: (path, listener) => Effect.sync(() => void faults.set(path, listener)),
        behave: (path) => Effect.sync(() => void faults.delete(path)),
        stop: closed(server),
        newKey,
        keys: Effect.sync(() => issuer.keys.toJSON(true)),
        token: Effect.fnUntraced(function*(claims = {}, key = issuer.keys.toJSON(true).at(-1), header = {}) {
          if (key === undefined) return yield* Effect.die("The provider has no key")
          const payload = { iss: url, aud: CLIENT_ID, ...claimsAt(yield* Clock.currentTimeMillis), ...claims }
          return yield* Effect.promise(() =>
            new SignJWT(payload).setProtectedHeader({ typ: "JWT", kid: key.kid, alg: key.alg, ...header }).sign(key, {
              crit: { ext: true }
            })
          )
        })
      })
    })
  )
}
