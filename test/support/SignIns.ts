import { Effect, Schema } from "effect"
import { anonymous, type Rider, withHeaders } from "./Actors.ts"

export const logIn = (email: string, password: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/login-email", { email, password }, { headers }))

export const signInAgain = Effect.fnUntraced(function*(rider: Rider, userAgent = "another browser") {
  const { body } = yield* logIn(rider.email, rider.password, { "user-agent": userAgent })
  const { accessToken } = Schema.decodeUnknownSync(Schema.Struct({ accessToken: Schema.String }))(body)
  return yield* withHeaders({ cookie: `__Host-service_session=${accessToken}` })
})
