import { Clock, Context, Effect, Layer } from "effect"
import { OAuth2Server } from "oauth2-mock-server"

export const CLIENT_ID = "our-client-id"

export interface Person {
  readonly sub: string
  readonly email: string
  readonly email_verified?: boolean
  readonly name?: string
  readonly picture?: string
}

/** This OpenID Connect provider on the loopback interface vouches for any person that a test wants. */
export class SignInProvider extends Context.Service<SignInProvider, {
  readonly issuer: string
  /** Returns a new ID token; no two are the same. */
  readonly idToken: (person: Person) => Effect.Effect<string>
  /** The next exchanged code stands for this person. */
  readonly expectCode: (person: Person) => Effect.Effect<void>
}>()("test/SignInProvider") {
  static readonly layer = Layer.effect(
    SignInProvider,
    Effect.gen(function*() {
      const server = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = new OAuth2Server()
          await server.issuer.keys.generate("RS256")
          await server.start(0, "127.0.0.1")
          return server
        }),
        (server) => Effect.promise(() => server.stop())
      )
      const issuer = server.issuer.url ?? ""
      const claimsOf = (person: Person, now: number) => ({
        email_verified: true,
        ...person,
        aud: CLIENT_ID,
        iss: issuer,
        iat: now,
        nbf: now,
        exp: now + 3600,
        jti: crypto.randomUUID()
      })
      const seconds = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))
      return SignInProvider.of({
        issuer,
        idToken: (person) =>
          Effect.flatMap(seconds, (now) =>
            Effect.promise(() =>
              server.issuer.buildToken({
                scopesOrTransform: (_header, payload) => void Object.assign(payload, claimsOf(person, now))
              })
            )),
        expectCode: (person) =>
          Effect.map(seconds, (now) => {
            server.service.on("beforeTokenSigning", (token: { payload: object }) => {
              Object.assign(token.payload, claimsOf(person, now))
            })
          })
      })
    })
  )
}
