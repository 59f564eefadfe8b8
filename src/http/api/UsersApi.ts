import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, Forbidden, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import { MAX_ZONES, PrivacyZones, ZONE_RADIUS } from "../../schema/PrivacyZone.ts"
import {
  Handle,
  NewPassword,
  PASSWORD,
  PASSWORD_RULE,
  PasswordAttempt,
  Profile,
  ProfilePatch,
  PublicProfile,
  USER_PATHS
} from "../../schema/User.ts"
import {
  AddressLimit,
  CallerAuthentication,
  OpenWhenOver,
  OpenWhilePending,
  RequiredScope,
  SessionAuthentication,
  StaleCookie,
  Tier
} from "./Access.ts"
import { described, titled } from "./Described.ts"
import { ConfirmHeader, JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"

const aboutMe = "The caller's account, with statistics: `totalDistance` is in metres, over live routes. "
  + `\`usage\` has what the account stores and may store; what is deleted counts until it is purged after ${
    inWords(GRACE_PERIOD)
  }.`

export class UsersApi extends HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("me", `/${USER_PATHS.me}`, { success: Profile })
      .annotate(RequiredScope, "read")
      .annotate(OpenWhilePending, true)
      .annotateMerge(described("Read own account", aboutMe)),
    HttpApiEndpoint.get("profile", `/${USER_PATHS.profile}`, { success: Profile })
      .annotate(RequiredScope, "read")
      .annotate(OpenWhilePending, true)
      .annotateMerge(described("Read own account, by its other name", "Another name of `GET /users/me`.")),
    HttpApiEndpoint.patch("update", `/${USER_PATHS.me}`, { payload: ProfilePatch, success: Profile, error: Conflict })
      .annotateMerge(described(
        "Change own account",
        "Changes the members that the body names. `preferences` is merged member by member; `null` clears a member, and `avatar`. A "
          + "changed handle frees the old one at once."
      )),
    HttpApiEndpoint.get("privacyZones", `/${USER_PATHS.me}/privacy-zones`, { success: PrivacyZones })
      .annotate(RequiredScope, "read")
      .annotateMerge(described("Read own privacy zones", "Only the owner sees them; no other response has a zone.")),
    HttpApiEndpoint.put("setPrivacyZones", `/${USER_PATHS.me}/privacy-zones`, {
      headers: ConfirmHeader,
      payload: PrivacyZones,
      success: PrivacyZones,
      error: PreconditionRequired
    })
      .annotateMerge(described(
        "Replace own privacy zones",
        `At most ${MAX_ZONES} circles around a \`center\` (\`[lng, lat]\`) of ${ZONE_RADIUS.minimum} to `
          + `${ZONE_RADIUS.maximum} metres, in place of the previous ones; an empty list removes them. From the next read on, others `
          + "see of each route only what is outside of them: in every form of the line, in files, lists and searches, and of "
          + "waypoints and addresses. The longest part of the line outside is shown; a route that has none is shown without a "
          + "line. `distance` and `elevationGain` are those of what is shown, `duration` is its share of the whole, and lists "
          + "compare these. The cut is a larger circle around another centre, which stays the same, so that the ends of many "
          + "routes do not show the `center`. A personal access token must confirm what hides less: a zone that is removed, "
          + "smaller or elsewhere."
      ))
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.get("publicProfile", "/:handle", {
      params: { handle: Handle },
      success: PublicProfile,
      error: NotFound
    })
      .middleware(NoParameters)
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(described(
        "Read a public profile",
        "What anyone sees of a user. The segment is a handle, also one of digits only, and never an id. An old handle is "
          + "not found."
      ))
  )
  .add(
    HttpApiEndpoint.post("changePassword", `/${USER_PATHS.me}/password`, {
      payload: Schema.Struct({
        currentPassword: Schema.optionalKey(
          Schema.NullOr(Schema.RedactedFromValue(
            PasswordAttempt.annotate({ description: "The current password, where there is one" })
          ))
        ),
        newPassword: Schema.RedactedFromValue(
          NewPassword.annotate({ description: `The new password: ${PASSWORD_RULE}` })
        )
      }).annotate({
        identifier: "PasswordChange",
        description: "The current password, where there is one, and the new one."
      }).pipe(Schema.annotateEncoded({
        examples: [{ currentPassword: PASSWORD, newPassword: "another long password" }]
      })),
      success: Success,
      error: Forbidden
    })
      .middleware(NoParameters)
      .middleware(JsonBody)
      .middleware(SessionAuthentication)
      .annotate(Tier, "strict")
      .annotateMerge(described(
        "Set or change the password",
        "Sets or changes the password. The current one is needed where there is one. The caller's other sessions end."
      ))
  )
  .add(
    HttpApiEndpoint.delete("requestDeletion", `/${USER_PATHS.me}`, { success: Success })
      .middleware(NoParameters)
      .middleware(SessionAuthentication)
      .annotate(Tier, "strict")
      .annotateMerge(described(
        "Delete own account",
        `Deletes the account: it and everything in it is hidden at once, and erased after ${inWords(GRACE_PERIOD)}. `
          + "Every session ends, and the owner is mailed; until then signing in again and cancelling brings everything back."
      )),
    HttpApiEndpoint.post("cancelDeletion", `/${USER_PATHS.me}/cancel-deletion`, { success: Success, error: Conflict })
      .middleware(NoParameters)
      .middleware(SessionAuthentication)
      .annotate(OpenWhilePending, true)
      .annotate(OpenWhenOver, true)
      .annotateMerge(described(
        "Cancel the deletion",
        `Cancels a deletion within the grace period of ${
          inWords(GRACE_PERIOD)
        }, and shows again all that it hid. Refused (409) after `
          + "that, when every other request of the session gets 401."
      ))
  )
  .prefix("/users")
  .annotateMerge(titled("Users", "Accounts as their owners see them, and as others do."))
{}
