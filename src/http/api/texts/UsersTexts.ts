import { GRACE_PERIOD, inWords } from "../../../schema/Limits.ts"
import { MAX_ZONES, ZONE_RADIUS } from "../../../schema/PrivacyZone.ts"
import { described, titled } from "./Described.ts"

const aboutMe = "The caller's account, with statistics: `totalDistance` is in metres, over live routes. "
  + `\`usage\` has what the account stores and may store; what is deleted counts until it is purged after ${
    inWords(GRACE_PERIOD)
  }.`

export const texts = {
  me: described("Read own account", aboutMe),
  profile: described("Read own account, by its other name", "Another name of `GET /users/me`."),
  update: described(
    "Change own account",
    "Changes the members that the body names. `preferences` is merged member by member; `null` clears a member, and `avatar`. A "
      + "changed handle frees the old one at once."
  ),
  privacyZones: described("Read own privacy zones", "Only the owner sees them; no other response has a zone."),
  setPrivacyZones: described(
    "Replace own privacy zones",
    `At most ${MAX_ZONES} circles around a \`center\` (\`[lng, lat]\`) of ${ZONE_RADIUS.minimum} to `
      + `${ZONE_RADIUS.maximum} metres, in place of the previous ones; an empty list removes them. From the next read on, others `
      + "see of each route only what is outside of them: in every form of the line, in files, lists and searches, and of "
      + "waypoints and addresses. The longest part of the line outside is shown; a route that has none is shown without a "
      + "line. `distance` and `elevationGain` are those of what is shown, `duration` is its share of the whole, and lists "
      + "compare these. The cut is a larger circle around another centre, which stays the same, so that the ends of many "
      + "routes do not show the `center`. A personal access token must confirm what hides less: a zone that is removed, "
      + "smaller or elsewhere."
  ),
  publicProfile: described(
    "Read a public profile",
    "What anyone sees of a user. The segment is a handle, also one of digits only, and never an id. An old handle is "
      + "not found."
  ),
  changePassword: described(
    "Set or change the password",
    "Sets or changes the password. The current one is needed where there is one. The caller's other sessions end."
  ),
  requestDeletion: described(
    "Delete own account",
    `Deletes the account: it and everything in it is hidden at once, and erased after ${inWords(GRACE_PERIOD)}. `
      + "Every session ends; until then signing in again and cancelling brings everything back."
  ),
  cancelDeletion: described(
    "Cancel the deletion",
    `Cancels a deletion within the grace period of ${
      inWords(GRACE_PERIOD)
    }, and shows again all that it hid. Refused (409) after `
      + "that, when every other request of the session gets 401."
  ),
  group: titled("Users", "Accounts as their owners see them, and as others do.")
}
