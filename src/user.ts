import { Console, Effect, Layer, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { databaseLive } from "./layers/Database.ts"
import { invitationsLayer } from "./layers/Invitations.ts"
import { run } from "./layers/Run.ts"
import { commandSettingsLayer } from "./layers/Settings.ts"
import { inWords, LINK_LIFETIME } from "./schema/Limits.ts"
import { Email, NewEmail, UNAMBIGUOUS_EMAIL } from "./schema/User.ts"
import { Invitations } from "./services/accounts/SignUp.ts"

class NotCreated extends Schema.TaggedError<NotCreated>()("NotCreated", { message: Schema.String }) {}

const USAGE = "npm run user -- create <email>"

const failed = (message: string) => Effect.fail(new NotCreated({ message }))

const emailArgument = Effect.suspend(() => {
  const [, , command, email, ...more] = process.argv
  if (command !== undefined && command !== "create") return failed(`${command}: Unknown command, expected ${USAGE}`)
  return email === undefined || more.length > 0
    ? failed(`Expected the email address of the account: ${USAGE}`)
    : Schema.decodeUnknownEffect(Email)(email).pipe(
      Effect.mapError(() => "an email address"),
      Effect.flatMap((email) => Effect.mapError(Schema.decodeEffect(NewEmail)(email), () => UNAMBIGUOUS_EMAIL)),
      Effect.catch((expected) => failed(`${email}: Expected ${expected}: ${USAGE}`))
    )
})

/** Creates an account on the server, for the first administrator or while sign-up is off. */
const create = Effect.gen(function*() {
  const email = yield* emailArgument
  yield* Effect.gen(function*() {
    const link = yield* Effect.catchTag(
      (yield* Invitations).create(email),
      "AddressTaken",
      () => failed(`${email} has an account: POST /api/v1/auth/request-password-reset mails a link for a new password`)
    )
    yield* Console.log(
      `account of ${email}: choose its password within ${inWords(LINK_LIFETIME["reset-password"])} at ${
        Redacted.value(link)
      }`
    )
  }).pipe(Effect.provide(invitationsLayer.pipe(Layer.provide([databaseLive, SecureRandom.layerWebCrypto]))))
})

run(create, { format: "pretty", settings: commandSettingsLayer })
