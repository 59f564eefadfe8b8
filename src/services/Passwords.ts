import { argon2id, hash, needsRehash, verify } from "argon2"
import { Context, Effect, Layer, Redacted, Semaphore } from "effect"
import { SecureRandom } from "effect/crypto"
import { availableParallelism } from "node:os"

/** OWASP Password Storage Cheat Sheet, argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const SALT_BYTES = 16

/** One core stays free for everything else, so that a flood of sign-ins does not hold up those who are in. */
const MAX_HASHES = Math.max(1, availableParallelism() - 1)

/** Passwords are compared after NFKC, so that what one keyboard composes another may decompose. */
const normalise = (password: Redacted.Redacted) => Redacted.value(password).normalize("NFKC")

/**
 * Hashing and verifying of passwords with argon2id. Hashing costs memory and a core by design, so fewer run at
 * once than there are cores; the rest wait their turn.
 */
export class Passwords extends Context.Service<Passwords, {
  /** A PHC string with a fresh salt. */
  readonly hash: (password: Redacted.Redacted) => Effect.Effect<string>
  /**
   * Whether the password is the one that was hashed. Without a hash it takes the same time and is false: an address
   * that has no account, or no password, is not to be told from a wrong password (OWASP Authentication Cheat Sheet).
   */
  readonly verify: (password: Redacted.Redacted, digest: string | undefined) => Effect.Effect<boolean>
  /** Whether a hash was made with other parameters than today's. */
  readonly isOutdated: (digest: string) => boolean
}>()("route-planning-service/Passwords") {
  static readonly layer = Layer.effect(
    Passwords,
    Effect.gen(function*() {
      const random = yield* SecureRandom.SecureRandom
      const turns = yield* Semaphore.make(MAX_HASHES)

      const hashText = Effect.fnUntraced(function*(password: string) {
        const salt = Buffer.from(yield* random.randomBytes(SALT_BYTES))
        return yield* turns.withPermit(Effect.promise(() => hash(password, { ...PARAMETERS, salt })))
      })

      const nobodysDigest = yield* hashText(Buffer.from(yield* random.randomBytes(32)).toString("base64"))

      return Passwords.of({
        hash: Effect.fn("Passwords.hash")((password) => hashText(normalise(password))),
        verify: Effect.fn("Passwords.verify")((password, digest) =>
          turns.withPermit(Effect.promise(() => verify(digest ?? nobodysDigest, normalise(password)))).pipe(
            Effect.map((matches) => matches && digest !== undefined)
          )
        ),
        isOutdated: (digest) => needsRehash(digest, PARAMETERS)
      })
    })
  )
}
