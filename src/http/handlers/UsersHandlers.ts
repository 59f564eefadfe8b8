import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { UserId } from "../../schema/Ids.ts"
import { AccountDeletion } from "../../services/accounts/Deletion.ts"
import { PasswordChanges } from "../../services/accounts/PasswordChanges.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { Devices } from "../../services/accounts/Sessions.ts"
import { PrivacyZones } from "../../services/accounts/Zones.ts"
import { Caller, CurrentSession, DEVICE_COOKIE } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { setDeviceCookie, signResponseOut } from "../auth/Credentials.ts"
import { isConfirmed } from "../request/Confirmation.ts"
import { changeResponse } from "../request/ResponseChange.ts"
import { worded } from "../response/PublicErrors.ts"

export const UsersHandlers = HttpApiBuilder.group(
  Api,
  "users",
  Effect.fn(function*(handlers) {
    const deletion = yield* AccountDeletion
    const devices = yield* Devices
    const passwordChanges = yield* PasswordChanges
    const profiles = yield* Profiles
    const zones = yield* PrivacyZones

    const me = () => Effect.flatMap(Caller, ({ userId }) => profiles.profile(userId))

    // A new password removes all remembered devices, so the current one is stored again.
    const rememberDevice = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, userId: UserId) {
      if (request.cookies[DEVICE_COOKIE] === undefined) return
      const change = setDeviceCookie(yield* devices.remember(userId))
      yield* changeResponse(change)
    })

    return handlers.handleAll({
      me,
      profile: me,
      update: ({ payload }) => Effect.flatMap(Caller, ({ userId }) => worded(profiles.update(userId, payload))),
      privacyZones: () =>
        Effect.flatMap(Caller, ({ userId }) => Effect.map(zones.list(userId), (zones) => ({ zones }))),
      setPrivacyZones: Effect.fnUntraced(function*({ headers, payload }) {
        const caller = yield* Caller
        const mayShrink = isConfirmed(caller, headers)
        return { zones: yield* zones.replace(caller.userId, payload.zones, { mayShrink }) }
      }, worded),
      publicProfile: ({ params }) => worded(profiles.publicProfile(params.handle)),
      changePassword: Effect.fnUntraced(function*({ payload: { currentPassword, newPassword }, request }) {
        const session = yield* CurrentSession
        yield* passwordChanges.change(session, { currentPassword: currentPassword ?? undefined, newPassword })
        yield* rememberDevice(request, session.userId)
        return success
      }, worded),
      requestDeletion: Effect.fnUntraced(function*() {
        const { userId } = yield* CurrentSession
        yield* deletion.request(userId).pipe(Effect.orDie)
        yield* signResponseOut
        return success
      }),
      cancelDeletion: () =>
        Effect.flatMap(CurrentSession, ({ userId }) => Effect.as(worded(deletion.cancel(userId)), success))
    })
  })
)
