import { Config, Effect } from "effect"
import { Forbidden } from "../../schema/Errors.ts"

/** Whether anyone may sign up (`SIGNUP_ENABLED`), or only those who are invited. */
export const signUpEnabled = Config.Boolean("SIGNUP_ENABLED").pipe(Config.withDefault(true))

export const signUpClosed = () =>
  Effect.fail(
    new Forbidden({
      message: "Sign-up is closed here: ask an administrator for an invitation",
      details: { reason: "signup_disabled" }
    })
  )
