import { argon2id, hash, needsRehash, verify } from "argon2"
import { Context, Duration, Effect, Layer, Metric, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { localPartOf } from "../../schema/User.ts"
import { makeLane } from "../admission/Lane.ts"
import { LANES } from "../admission/Lanes.ts"
import { InvalidInput, type Overloaded } from "../DomainErrors.ts"
import { settings } from "../operations/SettingsRegistry.ts"

/** A minimum of 0 accepts every password. */
const NO_STRENGTH = 0

/** Pattern search is quadratic in the length, so only the start and the end are checked. */
const EXAMINED_LENGTH = 40

/** A shorter part of a name, such as "Al", is no weakness. */
const MIN_PERSONAL_LENGTH = 4

interface PasswordOwner {
  readonly email: string
  readonly name: string | undefined
}

const spell = (text: string) => text.normalize("NFKC").toLowerCase().trim()

const personalOf = ({ email, name }: PasswordOwner) =>
  [
    { text: spell(email), what: "your email address" },
    { text: spell(localPartOf(email)), what: "your email address" },
    { text: spell(name ?? ""), what: "your name" }
  ].filter(({ text }) => text.length >= MIN_PERSONAL_LENGTH)

/** The 30 MB of dictionaries are loaded on first use. */
const loadZxcvbn = Effect.promise(async () => {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common")
  ])
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
})

/** Checks the strength of new passwords, if that is set (NIST SP 800-63B, 5.1.1.2; OWASP ASVS 6.2.4 and 6.2.11). */
export class PasswordPolicy extends Context.Service<PasswordPolicy, {
  /** With `PASSWORD_MIN_STRENGTH` above 0, fails at `path` for a lower score, or the owner's address or name in it. */
  readonly check: (
    path: string,
    password: Redacted.Redacted,
    owner: PasswordOwner
  ) => Effect.Effect<void, InvalidInput>
}>()("route-planning-service/PasswordPolicy") {
  static readonly layer = Layer.effect(
    PasswordPolicy,
    Effect.gen(function*() {
      const strength = Option.getOrElse(yield* settings.PASSWORD_MIN_STRENGTH, () => NO_STRENGTH)
      if (strength === NO_STRENGTH) return PasswordPolicy.of({ check: () => Effect.void })

      const factory = yield* Effect.cached(loadZxcvbn)

      const isWeak = Effect.fnUntraced(function*(text: string) {
        const zxcvbn = yield* factory
        return [text.slice(0, EXAMINED_LENGTH), text.slice(-EXAMINED_LENGTH)]
          .every((part) => zxcvbn.check(part).score < strength)
      })

      return PasswordPolicy.of({
        check: Effect.fnUntraced(function*(path, password, owner) {
          const text = spell(Redacted.value(password))
          const personal = personalOf(owner).find((personal) => text.includes(personal.text))
          if (personal !== undefined) {
            return yield* InvalidInput.at(path, `Expected a password that does not contain ${personal.what}`)
          }
          if (yield* isWeak(text)) {
            return yield* InvalidInput.at(path, "Expected a password that is not a common one or easily guessed")
          }
        })
      })
    })
  )
}

const METHOD = { type: argon2id, parallelism: 1 } as const

/** The OWASP Password Storage Cheat Sheet has this cost for argon2id: 19 MiB, two passes. */
export const HashCost = Context.Reference("route-planning-service/HashCost", {
  defaultValue: () => ({ memoryCost: 19_456, timeCost: 2 })
})

const SALT_BYTES = 16

const waiting = Metric.gauge("password_hashes_waiting", {
  description: "Passwords that wait for their turn to be hashed"
})

const running = Metric.gauge("password_hashes_running", { description: "Passwords that are being hashed" })

const duration = Metric.histogram("password_hash_duration_seconds", {
  description: "How long the hashing of a password took, once it had its turn",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
})

/** NFKC is needed because keyboards differ in how they compose characters. */
const normalise = (password: Redacted.Redacted) => Redacted.value(password).normalize("NFKC")

/** Uninterruptible: the thread continues after a disconnect, so its permit must last as long. */
const timed = <A>(work: () => Promise<A>) =>
  Effect.promise(work).pipe(
    Effect.uninterruptible,
    Effect.timed,
    Effect.flatMap(([time, result]) => Effect.as(Metric.update(duration, Duration.toSeconds(time)), result))
  )

/** Runs argon2id once at a time for each core. Others are queued for a while and then fail with `Overloaded`. */
export class Passwords extends Context.Service<Passwords, {
  /** Returns a PHC string with a fresh salt. */
  readonly hash: (password: Redacted.Redacted) => Effect.Effect<string, Overloaded>
  /** Returns false without a digest, in equal time, to reveal no account (OWASP Authentication Cheat Sheet). */
  readonly verify: (password: Redacted.Redacted, digest: string | undefined) => Effect.Effect<boolean, Overloaded>
  readonly isOutdated: (digest: string) => boolean
}>()("route-planning-service/Passwords") {
  static readonly layer = Layer.effect(
    Passwords,
    Effect.gen(function*() {
      const random = yield* SecureRandom.SecureRandom
      // A metric that was read appears in the next scrape, at 0.
      yield* Metric.value(duration)
      const parameters = { ...METHOD, ...yield* HashCost }
      const inTurn = yield* makeLane("passwords", LANES.passwords, { gauges: { running, waiting } })

      const hashText = Effect.fnUntraced(function*(password: string) {
        const salt = Buffer.from(yield* random.randomBytes(SALT_BYTES))
        return yield* timed(() => hash(password, { ...parameters, salt }))
      })

      const unknownDigest = yield* hashText(Buffer.from(yield* random.randomBytes(32)).toString("base64"))

      return Passwords.of({
        hash: (password) => inTurn(hashText(normalise(password))),
        verify: (password, digest) =>
          Effect.map(
            inTurn(timed(() => verify(digest ?? unknownDigest, normalise(password)))),
            (matches) => matches && digest !== undefined
          ),
        isOutdated: (digest) => needsRehash(digest, parameters)
      })
    })
  )
}
