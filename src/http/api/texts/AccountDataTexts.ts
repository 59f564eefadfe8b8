import { ARCHIVE_BODY_LIMIT, MAX_ARCHIVE_FILES, MAX_UNPACKED } from "../../../schema/Archive.ts"
import { BODY_ALLOWANCE, grouped, inWords } from "../../../schema/Limits.ts"
import { described, mebibytes, titled } from "./Described.ts"

export const texts = {
  export: described(
    "Export the account",
    "Everything in the account as a ZIP archive: `profile.json`, `routes.json` (one route a line), a GPX file for each "
      + "route, `collections.json`, `tokens.json` and `sessions.json` without secrets, and `manifest.json` with counts and "
      + "the SHA-256 of each file. Deleted routes and links are left out. It is made while it is read: an archive that is incomplete "
      + "has no directory and does not open."
  ),
  import: described(
    "Import an archive",
    "Imports an archive of `GET /users/me/export`, of this account or another one: its routes, its collections, and the "
      + "preferences that are not set here. The archive is checked as a whole before anything is stored; `details.issues` "
      + "names the file, and in it the line. What the account has already stays as it is, so the "
      + "same archive may be sent again; what is in the trash is restored. Ids and share tokens are new, places are "
      + "derived again. An archive that is over a quota of the account is refused as a whole (409). `routes.json` and what "
      + `else is read of it may unpack to ${mebibytes(MAX_UNPACKED)}. At most ${mebibytes(ARCHIVE_BODY_LIMIT)} and `
      + `${grouped(MAX_ARCHIVE_FILES)} files; it may fall ${inWords(BODY_ALLOWANCE.grace)} behind `
      + `${BODY_ALLOWANCE.bytesPerSecond / 1024} KiB a second; one at a time.`
  ),
  group: titled("Account data", "An account as a whole, to keep or to take elsewhere.")
}
