import { Config, Context, Effect, Layer, Redacted } from "effect"
import { createHmac } from "node:crypto"
import type { UserId } from "../../schema/Ids.ts"

/** Ids for product analytics: stable, and not reversible without `ANALYTICS_SALT`. */
export class Pseudonyms extends Context.Service<Pseudonyms, {
  /** The first 32 hex digits of HMAC-SHA-256 of the user id. */
  readonly idHash: (userId: UserId) => string
}>()("route-planning-service/Pseudonyms") {
  static readonly layer = Layer.effect(
    Pseudonyms,
    Effect.gen(function*() {
      const salt = Redacted.value(yield* Config.Redacted("ANALYTICS_SALT"))
      return Pseudonyms.of({
        idHash: (userId) => createHmac("sha256", salt).update(String(userId)).digest("hex").slice(0, 32)
      })
    })
  )
}
