import { AUDIT_RETENTION, GRACE_PERIOD, INVITATION_LIFETIME, inWords, MAIL_LIMIT } from "../../../schema/Limits.ts"
import { described, titled } from "./Described.ts"

export const texts = {
  overview: described("Count everything", "How many accounts, sessions, tokens, routes and collections there are."),
  users: described(
    "Find accounts",
    "Accounts, the newest first. `query` is a part of an email address, a name or a handle, case-insensitive."
  ),
  user: described("Look at an account", "One account. The entry that is left in the audit names it."),
  deleteUser: described(
    "Begin the deletion of an account",
    `Begins the ${
      inWords(GRACE_PERIOD)
    } of an account, as its owner could: hidden at once, erased at their end unless its owner signs `
      + "in and cancels. Refused (409) for one's own."
  ),
  invite: described(
    "Invite somebody",
    `Mails a link, which expires after ${
      inWords(INVITATION_LIFETIME)
    }, by which its reader chooses a password and has an account, also where `
      + `sign-up is closed. Refused (409) for an address that has an account. One address gets ${MAIL_LIMIT} at most.`
  ),
  deletions: described(
    "List pending deletions",
    "Accounts whose deletion was asked for, the one to be erased next first."
  ),
  routes: described(
    "Find routes of anybody",
    "Routes of every visibility, the newest first, without their lines. `query` is a part of the name, or of the "
      + "owner's email address, name or handle."
  ),
  deleteRoute: described(
    "Delete anybody's route",
    `Deletes anybody's route, and makes it private: its owner can restore it within ${
      inWords(GRACE_PERIOD)
    }, for themselves.`
  ),
  audit: described(
    "List audit entries",
    `What happened to accounts within ${
      inWords(AUDIT_RETENTION)
    }, the newest first: by or about the user \`userId\`, of the kind \`event\`.`
  ),
  system: described(
    "See how the service is",
    "How the service's parts are, their versions, and where the dashboards are."
  ),
  group: titled(
    "Administration",
    "For administrators: whose proven email address is listed by the operator, in a session. What they see or do of "
      + "accounts, routes and the audit leaves an audit entry."
  )
}
