import { argon2id, hash, needsRehash, verify } from "argon2"
import { Context, Duration, Effect, Layer, Metric, Redacted, Semaphore } from "effect"
import { SecureRandom } from "effect/crypto"
import { availableParallelism } from "node:os"
import { during } from "../metrics/Gauges.ts"

/** OWASP Password Storage Cheat Sheet, argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const SALT_BYTES = 16

/** One core stays free for everything else, so that a flood of sign-ins does not hold up those who are in. */
const MAX_HASHES = Math.max(1, availableParallelism() - 1)

const waiting = Metric.gauge("password_hashes_waiting", {
  description: "Passwords that wait for their turn to be hashed"
})

const running = Metric.gauge("password_hashes_running", { description: "Passwords that are being hashed" })

const duration = Metric.histogram("password_hash_duration_seconds", {
  description: "How long the hashing of a password took, once it had its turn",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
})

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

      const inTurn = <A>(work: () => Promise<A>) =>
        Effect.promise(work).pipe(
          Effect.timed,
          Effect.flatMap(([time, result]) => Effect.as(Metric.update(duration, Duration.toSeconds(time)), result)),
          during(waiting, -1),
          during(running),
          turns.withPermit,
          during(waiting)
        )

      const hashText = Effect.fnUntraced(function*(password: string) {
        const salt = Buffer.from(yield* random.randomBytes(SALT_BYTES))
        return yield* inTurn(() => hash(password, { ...PARAMETERS, salt }))
      })

      const nobodysDigest = yield* hashText(Buffer.from(yield* random.randomBytes(32)).toString("base64"))

      return Passwords.of({
        hash: Effect.fn("Passwords.hash")((password) => hashText(normalise(password))),
        verify: Effect.fn("Passwords.verify")((password, digest) =>
          Effect.map(
            inTurn(() => verify(digest ?? nobodysDigest, normalise(password))),
            (matches) => matches && digest !== undefined
          )
        ),
        isOutdated: (digest) => needsRehash(digest, PARAMETERS)
      })
    })
  )
}
