import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Conflict, Forbidden, NotFound } from "../../schema/Errors.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import {
  Handle,
  NewPassword,
  PasswordAttempt,
  Profile,
  ProfilePatch,
  PublicProfile,
  USER_PATHS
} from "../../schema/User.ts"
import { AddressLimit, OpenWhenOver, OpenWhilePending, RequiredScope, Tier } from "./Access.ts"
import { CallerAuthentication, SessionAuthentication, StaleCookie } from "./Authentication.ts"
import { JsonBody } from "./Requests.ts"
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
      .annotate(OpenApi.Summary, "Read own account").annotate(OpenApi.Description, aboutMe),
    HttpApiEndpoint.get("profile", `/${USER_PATHS.profile}`, { success: Profile })
      .annotate(RequiredScope, "read")
      .annotate(OpenWhilePending, true)
      .annotate(OpenApi.Summary, "Read own account, by its other name").annotate(
        OpenApi.Description,
        "Another name of `GET /users/me`."
      ),
    HttpApiEndpoint.patch("update", `/${USER_PATHS.me}`, { payload: ProfilePatch, success: Profile, error: Conflict })
      .annotate(
        OpenApi.Summary,
        "Change own account"
      ).annotate(
        OpenApi.Description,
        "Changes what the body names. `preferences` is merged member by member; `null` clears a member, and `avatar`. A "
          + "changed handle frees the old one at once."
      )
  )
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.get("publicProfile", "/:handle", {
      params: { handle: Handle },
      success: PublicProfile,
      error: NotFound
    })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotate(OpenApi.Summary, "Read a public profile").annotate(
        OpenApi.Description,
        "What anybody sees of a user. The segment is a handle, also one of digits only, and never an id. An old handle is "
          + "not found."
      )
  )
  .add(
    HttpApiEndpoint.post("changePassword", `/${USER_PATHS.me}/password`, {
      payload: Schema.Struct({
        currentPassword: Schema.optionalKey(Schema.NullOr(Schema.RedactedFromValue(PasswordAttempt))),
        newPassword: Schema.RedactedFromValue(NewPassword)
      }).annotate({ identifier: "PasswordChange" }),
      success: Success,
      error: Forbidden
    })
      .middleware(JsonBody)
      .middleware(SessionAuthentication)
      .annotate(Tier, "strict")
      .annotate(OpenApi.Summary, "Set or change the password").annotate(
        OpenApi.Description,
        "Sets or changes the password. The current one is needed where there is one. The caller's other sessions end."
      )
  )
  .add(
    HttpApiEndpoint.delete("requestDeletion", `/${USER_PATHS.me}`, { success: Success })
      .middleware(SessionAuthentication)
      .annotate(Tier, "strict")
      .annotate(OpenApi.Summary, "Delete own account").annotate(
        OpenApi.Description,
        `Asks for the account to be deleted: it and everything in it is hidden at once, and erased for good after ${
          inWords(GRACE_PERIOD)
        }. `
          + "Every session ends; until then signing in again and cancelling brings everything back."
      ),
    HttpApiEndpoint.post("cancelDeletion", `/${USER_PATHS.me}/cancel-deletion`, { success: Success, error: Conflict })
      .middleware(SessionAuthentication)
      .annotate(OpenWhilePending, true)
      .annotate(OpenWhenOver, true)
      .annotate(OpenApi.Summary, "Cancel the deletion").annotate(
        OpenApi.Description,
        `Takes a deletion back within its ${
          inWords(GRACE_PERIOD)
        }, and with it all that it hid. Refused (409) from their end on, when `
          + "every other request of a session that is left gets 401."
      )
  )
  .prefix("/users")
  .annotate(OpenApi.Title, "Users")
  .annotate(OpenApi.Description, "Accounts as their owners see them, and as others do.")
{}
