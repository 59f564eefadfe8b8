import { Context, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { LRUCache } from "lru-cache"
import { createHmac } from "node:crypto"
import type { UserId } from "../../schema/Ids.ts"
import { Handle, isReservedHandle, localPartOf } from "../../schema/User.ts"
import { settings } from "../operations/SettingsRegistry.ts"

const MAX_LENGTH = 30
const SUFFIX_LENGTH = 5
const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
export const FALLBACK = "rider"

export const slugOf = (text: string, maxLength: number): string =>
  text.normalize("NFKD").toLowerCase().replace(/\p{M}+/gu, "").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "")
    .slice(0, maxLength).replace(/-+$/, "")

export class Handles extends Context.Service<Handles, {
  /** The first attempt has no random suffix. */
  readonly suggest: (
    person: { readonly name: string; readonly email: string },
    attempt: number
  ) => Effect.Effect<Handle>
}>()("route-planning-service/Handles") {
  static readonly layer = Layer.effect(
    Handles,
    Effect.gen(function*() {
      const random = yield* SecureRandom.SecureRandom

      const suffix = Effect.map(
        Effect.forEach(
          Array.from({ length: SUFFIX_LENGTH }),
          () => random.intBetween(0, ALPHABET.length, { halfOpen: true })
        ),
        (digits) => digits.map((digit) => ALPHABET.charAt(digit)).join("")
      )

      return Handles.of({
        suggest: Effect.fnUntraced(function*({ email, name }, attempt) {
          const candidates = [name, localPartOf(email)].map((text) => slugOf(text, MAX_LENGTH))
          const base = candidates.find((handle) => handle.length >= 3 && !isReservedHandle(handle)) ?? FALLBACK
          return Handle.make(
            attempt === 0 ? base : `${base.slice(0, MAX_LENGTH - SUFFIX_LENGTH - 1)}-${yield* suffix}`
          )
        })
      })
    })
  )
}

/** The ids are for product analytics: stable, and not reversible without `ANALYTICS_SALT`. */
export class Pseudonyms extends Context.Service<Pseudonyms, {
  /** Returns the first 32 hex digits of HMAC-SHA-256 of the user id. */
  readonly idHash: (userId: UserId) => string
}>()("route-planning-service/Pseudonyms") {
  static readonly layer = Layer.effect(
    Pseudonyms,
    Effect.gen(function*() {
      const salt = Redacted.value(yield* settings.ANALYTICS_SALT)
      // Every route has its owner's pseudonym, and an HMAC is one of the slowest functions of a small read.
      const known = new LRUCache<UserId, string>({
        max: 10_000,
        memoMethod: (userId) => createHmac("sha256", salt).update(String(userId)).digest("hex").slice(0, 32)
      })
      return Pseudonyms.of({ idHash: (userId) => known.memo(userId) })
    })
  )
}
