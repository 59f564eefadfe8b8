import { Console, Effect, Layer, Redacted, Schema } from "effect"
import { invitationsLayer } from "./layers/Application.ts"
import { databaseLive } from "./layers/Database.ts"
import { randomnessLive } from "./layers/Live.ts"
import { run } from "./layers/process/Run.ts"
import { inWords, LINK_LIFETIME } from "./schema/Limits.ts"
import { Email } from "./schema/User.ts"
import { Invitations } from "./services/accounts/Invitations.ts"

class WrongArguments extends Schema.TaggedError<WrongArguments>()("WrongArguments", { message: Schema.String }) {}

const USAGE = "npm run user -- create <email>"

const usage = () => new WrongArguments({ message: `Expected the email address of the account: ${USAGE}` })

const noEmail = (argument: string) =>
  new WrongArguments({ message: `${argument}: Expected an email address: ${USAGE}` })

const emailArgument = Effect.suspend(() => {
  const [, , command, email, ...more] = process.argv
  return command === "create" && email !== undefined && more.length === 0
    ? Effect.mapError(Schema.decodeUnknownEffect(Email)(email), () => noEmail(email))
    : Effect.fail(usage())
})

/** Creates an account on the server, for the first administrator or where sign-up is off. */
const create = Effect.gen(function*() {
  const email = yield* emailArgument
  yield* Effect.gen(function*() {
    const link = yield* (yield* Invitations).create(email)
    yield* Console.log(
      `account of ${email}: choose its password within ${inWords(LINK_LIFETIME["reset-password"])} at ${
        Redacted.value(link)
      }`
    )
  }).pipe(Effect.provide(invitationsLayer.pipe(Layer.provide([databaseLive, randomnessLive]))))
})

run(create, "pretty")
