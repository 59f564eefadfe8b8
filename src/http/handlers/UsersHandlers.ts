import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Profiles } from "../../services/Profiles.ts"
import { Api } from "../api/Api.ts"
import { Caller } from "../api/Authentication.ts"

export const UsersHandlers = HttpApiBuilder.group(
  Api,
  "users",
  Effect.fn(function*(handlers) {
    const profiles = yield* Profiles
    const me = () => Effect.flatMap(Caller, ({ userId }) => profiles.profile(userId))
    return handlers.handleAll({ me, profile: me })
  })
)
