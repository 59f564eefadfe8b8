import { DEFAULT_TOKEN_DAYS, MAX_TOKENS } from "../../../schema/Limits.ts"
import { described, titled } from "./Described.ts"

export const texts = {
  list: described(
    "List own tokens",
    "The caller's live personal access tokens, newest first, without the tokens themselves."
  ),
  mint: described(
    "Make a token",
    `Makes a token; \`token\` is shown this once. Expires after ${DEFAULT_TOKEN_DAYS} days unless \`expiresInDays\` `
      + "says otherwise. With `null` it never expires, which needs `currentPassword`: 400 without it or where the account "
      + `has no password, 403 if it is wrong. Its owner gets a mail. A user has at most ${MAX_TOKENS}.`
  ),
  revoke: described("Revoke a token", "Revokes a token: no request that begins later passes."),
  group: titled("Tokens", "Personal access tokens, for scripts and apps.")
}
