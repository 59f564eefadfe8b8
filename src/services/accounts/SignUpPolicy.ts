import { Config } from "effect"

/** Whether anyone may sign up (`SIGNUP_ENABLED`), or only those who are invited. */
export const signUpEnabled = Config.Boolean("SIGNUP_ENABLED").pipe(Config.withDefault(true))
