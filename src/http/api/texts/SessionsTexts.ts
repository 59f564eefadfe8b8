import { described, titled } from "./Described.ts"

export const texts = {
  list: described(
    "List own sessions",
    "Where the caller is signed in, the newest sign-in first; `current` is the session of the request."
  ),
  revoke: described("End a session", "Signs one session out. Ending the current one clears its cookie."),
  logOutEverywhere: described("End every session", "Signs every session out, this one included."),
  group: titled("Sessions", "Where a user is signed in.")
}
