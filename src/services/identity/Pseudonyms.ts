import { Context, Effect, Layer, Redacted } from "effect"
import { createHmac } from "node:crypto"
import type { UserId } from "../../schema/Ids.ts"
import { settings } from "../settings/Registry.ts"

/** Every route has its owner's pseudonym, and an HMAC is one of the slowest functions of a small read. */
const MAX_KNOWN = 10_000

/** Ids for product analytics: stable, and not reversible without `ANALYTICS_SALT`. */
export class Pseudonyms extends Context.Service<Pseudonyms, {
  /** The first 32 hex digits of HMAC-SHA-256 of the user id. */
  readonly idHash: (userId: UserId) => string
}>()("route-planning-service/Pseudonyms") {
  static readonly layer = Layer.effect(
    Pseudonyms,
    Effect.gen(function*() {
      const salt = Redacted.value(yield* settings.ANALYTICS_SALT)
      const known = new Map<UserId, string>()
      const remember = (userId: UserId) => {
        const hash = createHmac("sha256", salt).update(String(userId)).digest("hex").slice(0, 32)
        if (known.size === MAX_KNOWN) known.clear()
        known.set(userId, hash)
        return hash
      }
      return Pseudonyms.of({ idHash: (userId) => known.get(userId) ?? remember(userId) })
    })
  )
}
