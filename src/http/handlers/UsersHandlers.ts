import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AccountDeletion } from "../../services/accounts/AccountDeletion.ts"
import { Profiles } from "../../services/accounts/Profiles.ts"
import { PasswordChanges } from "../../services/credentials/PasswordChanges.ts"
import { Api } from "../api/Api.ts"
import { Caller, CurrentSession } from "../api/Authentication.ts"
import { success } from "../api/Success.ts"
import { answerSignedOut } from "../SessionCookie.ts"

export const UsersHandlers = HttpApiBuilder.group(
  Api,
  "users",
  Effect.fn(function*(handlers) {
    const deletion = yield* AccountDeletion
    const passwordChanges = yield* PasswordChanges
    const profiles = yield* Profiles

    const me = () => Effect.flatMap(Caller, ({ userId }) => profiles.profile(userId))

    return handlers.handleAll({
      me,
      profile: me,
      update: ({ payload }) => Effect.flatMap(Caller, ({ userId }) => profiles.update(userId, payload)),
      publicProfile: ({ params }) => profiles.publicProfile(params.handle),
      changePassword: Effect.fnUntraced(function*({ payload: { currentPassword, newPassword } }) {
        const session = yield* CurrentSession
        yield* passwordChanges.change(session, { currentPassword: currentPassword ?? undefined, newPassword })
        return success
      }),
      requestDeletion: Effect.fnUntraced(function*() {
        const { userId } = yield* CurrentSession
        yield* deletion.request(userId).pipe(Effect.orDie)
        yield* answerSignedOut
        return success
      }),
      cancelDeletion: () => Effect.flatMap(CurrentSession, ({ userId }) => Effect.as(deletion.cancel(userId), success))
    })
  })
)
