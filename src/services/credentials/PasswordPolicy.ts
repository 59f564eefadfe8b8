import { Context, Effect, Layer, Redacted } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"

/** A password that an attacker guesses within a million tries is a common one or a pattern of such. */
const MIN_GUESSES_LOG10 = 6

/** The search for patterns grows with the square of the length; what begins and ends badly is bad. */
const EXAMINED_LENGTH = 40

/** "Al" in a password tells nobody anything. */
const MIN_PERSONAL_LENGTH = 4

/** Whose password it is, as far as an attacker would know. */
export interface PasswordOwner {
  readonly email: string
  readonly name: string | undefined
}

const spell = (text: string) => text.normalize("NFKC").toLowerCase().trim()

const personalOf = ({ email, name }: PasswordOwner) =>
  [
    { text: spell(email), what: "your email address" },
    { text: spell(email.slice(0, email.lastIndexOf("@"))), what: "your email address" },
    { text: spell(name ?? ""), what: "your name" }
  ].filter(({ text }) => text.length >= MIN_PERSONAL_LENGTH)

/** Dictionaries of some 30 MB, which a service need not have in memory before its first sign-up. */
const loadZxcvbn = Effect.promise(async () => {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common")
  ])
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
})

/** What a new password must not be, beside too short (NIST SP 800-63B, 5.1.1.2; OWASP ASVS 6.2.4 and 6.2.11). */
export class PasswordPolicy extends Context.Service<PasswordPolicy, {
  /** Fails, with the reason at `path`, for a common password and for one that holds its owner's email or name. */
  readonly check: (
    path: string,
    password: Redacted.Redacted,
    owner: PasswordOwner
  ) => Effect.Effect<void, ValidationFailed>
}>()("route-planning-service/PasswordPolicy") {
  static readonly layer = Layer.effect(
    PasswordPolicy,
    Effect.gen(function*() {
      const factory = yield* Effect.cached(loadZxcvbn)

      const isCommon = Effect.fnUntraced(function*(text: string) {
        const zxcvbn = yield* factory
        return [text.slice(0, EXAMINED_LENGTH), text.slice(-EXAMINED_LENGTH)]
          .every((part) => zxcvbn.check(part).guessesLog10 < MIN_GUESSES_LOG10)
      })

      return PasswordPolicy.of({
        check: Effect.fn("PasswordPolicy.check")(function*(path, password, owner) {
          const text = spell(Redacted.value(password))
          const personal = personalOf(owner).find((personal) => text.includes(personal.text))
          if (personal !== undefined) {
            return yield* ValidationFailed.at(path, `Expected a password that does not hold ${personal.what}`)
          }
          if (yield* isCommon(text)) {
            return yield* ValidationFailed.at(path, "Expected a password that is not a common one or easily guessed")
          }
        })
      })
    })
  )
}
