import { Context, Effect, Layer, Redacted } from "effect"
import { Option } from "effect"
import { localPartOf } from "../../schema/User.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { settings } from "../settings/Registry.ts"
import { traced } from "../tracing/Traced.ts"

/** Accepts every password. */
const NO_STRENGTH = 0

/** Pattern search is quadratic in the length, so only the start and the end are checked. */
const EXAMINED_LENGTH = 40

/** A shorter part of a name, such as "Al", is no weakness. */
const MIN_PERSONAL_LENGTH = 4

export interface PasswordOwner {
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

/** 30 MB of dictionaries, loaded on first use. */
const loadZxcvbn = Effect.promise(async () => {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common")
  ])
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
})

/** Optional strength check of new passwords (NIST SP 800-63B, 5.1.1.2; OWASP ASVS 6.2.4 and 6.2.11). */
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
        check: traced("PasswordPolicy.check")(function*(path, password, owner) {
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
