import { AUDIT_RETENTION, GRACE_PERIOD, INVITATION_LIFETIME, inWords } from "../../../schema/Limits.ts"
import { described, titled } from "./Described.ts"

export const texts = {
  overview: described("Count everything", "How many accounts, sessions, tokens, routes and collections there are."),
  users: described(
    "Find accounts",
    "Accounts, the newest first. `query` is a part of an email address, a name or a handle, case-insensitive. The total "
      + "distance of an account with privacy zones is that of what others see of its routes."
  ),
  user: described("Read an account", "One account. The audit entry names it."),
  deleteUser: described(
    "Delete an account",
    `Hides an account at once and erases it after ${inWords(GRACE_PERIOD)} unless its owner signs in and cancels. `
      + "Refused (409) for one's own."
  ),
  invite: described(
    "Invite a person",
    `Mails a link, which expires after ${
      inWords(INVITATION_LIFETIME)
    }, by which its reader chooses a password and gets an account, even `
      + `where sign-up is closed. Refused (409) for an address that has an account. It is mailed `
      + "however many mails the address got."
  ),
  deletions: described(
    "List pending deletions",
    "Accounts that are pending deletion, the next to be erased first."
  ),
  routes: described(
    "Find routes of all users",
    "Routes of every visibility, the newest first, without their lines. `query` is a part of the name, or of the "
      + "owner's email address, name or handle."
  ),
  deleteRoute: described(
    "Delete a user's route",
    `Deletes a route and makes it private: its owner can restore it within ${inWords(GRACE_PERIOD)}.`
  ),
  audit: described(
    "List audit entries",
    `What happened to accounts within ${
      inWords(AUDIT_RETENTION)
    }, the newest first: by or about the user \`userId\`, of the kind \`event\`.`
  ),
  system: described(
    "Read the state of the service",
    "The state of the service's parts, their versions, and the URLs of the dashboards."
  ),
  group: titled(
    "Administration",
    "For sessions of administrators, whose verified email address the operator lists. Each read and change of accounts, "
      + "routes and the audit makes an audit entry."
  )
}
