import { Context, Effect, Layer, type Redacted } from "effect"
import {
  type BadGateway,
  type Forbidden,
  type GatewayTimeout,
  type Unauthorized,
  Unavailable
} from "../schema/Errors.ts"

export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string | undefined
  readonly picture: string | undefined
  readonly tokenHash: string
  readonly expiresAt: Date
}
export type ProviderCredential = { readonly code: Redacted.Redacted } | { readonly idToken: Redacted.Redacted }
export class IdentityProvider extends Context.Service<IdentityProvider, {
  readonly identify: (
    credential: ProviderCredential
  ) => Effect.Effect<Identity, Unauthorized | Forbidden | BadGateway | Unavailable | GatewayTimeout>
}>()("route-planning-service/IdentityProvider") {
  static readonly layer = Layer.succeed(IdentityProvider, {
    identify: () => Effect.fail(new Unavailable({ message: "x" }))
  })
}
