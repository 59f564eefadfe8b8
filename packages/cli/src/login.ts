import { Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import { hostname } from "node:os"
import { attempt } from "./Failure.ts"
import { variable } from "./Files.ts"
import { addressOf, clientAt, readLogins, saveLogin } from "./Logins.ts"
import { ask, print } from "./Root.ts"
import { note } from "./Terminal.ts"

const DAYS = 90

/** A script gives the token or the password in the environment, where no list of processes shows it. */
const passwordOf = Effect.gen(function*() {
  const given = variable("RPS_PASSWORD")
  if (given !== undefined) return Redacted.make(given)
  return yield* ask(Prompt.Password({ message: "Password" }), "no password: set RPS_PASSWORD, or RPS_TOKEN to a token")
})

/** Keeps a token that the service knows. */
const keep = async (origin: string, token: string) => {
  const credential = await clientAt(origin, token).credential.describe()
  await saveLogin(origin, token)
  return credential
}

const keepMinted = Effect.fnUntraced(function*(origin: string, given: Option.Option<string>, scope: "read" | "write") {
  const email = Option.isSome(given)
    ? given.value
    : yield* ask(Prompt.String({ message: "Email address" }), "no account: add --email, or set RPS_TOKEN to a token")
  const password = Redacted.value(yield* passwordOf)
  return yield* attempt(async () => {
    const session = clientAt(origin)
    // An address that is not that of the service fails here, before it has the password.
    await session.auth.providers()
    await session.auth.logIn({ payload: { email, password } })
    const name = `rps on ${hostname()}`.slice(0, 100)
    const { id, token } = await session.tokens.mint({ payload: { name, scope, expiresInDays: DAYS } })
    try {
      return await keep(origin, token)
    } catch (error) {
      await session.tokens.revoke({ params: { id } })
      throw error
    } finally {
      await session.auth.logOut()
    }
  })
})

export const login = Command.make(
  "login",
  {
    service: Argument.String("service").pipe(Argument.withDescription("Such as https://routes.example.com")),
    email: Flag.String("email").pipe(Flag.withDescription("The email address of the account"), Flag.optional),
    scope: Flag.Literals("scope", ["read", "write"]).pipe(
      Flag.withDescription("What the token may do"),
      Flag.withDefault("write")
    )
  },
  Effect.fnUntraced(function*({ email, scope, service }) {
    const origin = yield* attempt(async () => addressOf(service))
    const given = variable("RPS_TOKEN")
    // Nothing is asked or made where the login could not be kept.
    yield* attempt(readLogins)
    const { expiresAt, user } = yield* given === undefined
      ? keepMinted(origin, email, scope)
      : attempt(() => keep(origin, given))
    yield* print(
      { origin, user, expiresAt },
      `Signed in to ${origin} as ${user.handle}${expiresAt === null ? "" : `, until ${expiresAt}`}`
    )
    if (given === undefined) note("The token is in your settings: revoke it in the list of your tokens")
  })
).pipe(Command.withDescription(
  "Sign in: makes a token of 90 days and keeps it. RPS_TOKEN gives a token that you have, RPS_PASSWORD the password"
))
