import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, Forbidden, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { PrivacyZones } from "../../schema/PrivacyZone.ts"
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
import { ConfirmHeader, JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/UsersTexts.ts"

export class UsersApi extends HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("me", `/${USER_PATHS.me}`, { success: Profile })
      .annotate(RequiredScope, "read")
      .annotate(OpenWhilePending, true)
      .annotateMerge(texts.me),
    HttpApiEndpoint.get("profile", `/${USER_PATHS.profile}`, { success: Profile })
      .annotate(RequiredScope, "read")
      .annotate(OpenWhilePending, true)
      .annotateMerge(texts.profile),
    HttpApiEndpoint.patch("update", `/${USER_PATHS.me}`, { payload: ProfilePatch, success: Profile, error: Conflict })
      .annotateMerge(texts.update),
    HttpApiEndpoint.get("privacyZones", `/${USER_PATHS.me}/privacy-zones`, { success: PrivacyZones })
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.privacyZones),
    HttpApiEndpoint.put("setPrivacyZones", `/${USER_PATHS.me}/privacy-zones`, {
      headers: ConfirmHeader,
      payload: PrivacyZones,
      success: PrivacyZones,
      error: PreconditionRequired
    })
      .annotateMerge(texts.setPrivacyZones)
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
      .annotateMerge(texts.publicProfile)
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
      .middleware(NoParameters)
      .middleware(JsonBody)
      .middleware(SessionAuthentication)
      .annotate(Tier, "strict")
      .annotateMerge(texts.changePassword)
  )
  .add(
    HttpApiEndpoint.delete("requestDeletion", `/${USER_PATHS.me}`, { success: Success })
      .middleware(NoParameters)
      .middleware(SessionAuthentication)
      .annotate(Tier, "strict")
      .annotateMerge(texts.requestDeletion),
    HttpApiEndpoint.post("cancelDeletion", `/${USER_PATHS.me}/cancel-deletion`, { success: Success, error: Conflict })
      .middleware(NoParameters)
      .middleware(SessionAuthentication)
      .annotate(OpenWhilePending, true)
      .annotate(OpenWhenOver, true)
      .annotateMerge(texts.cancelDeletion)
  )
  .prefix("/users")
  .annotateMerge(texts.group)
{}
