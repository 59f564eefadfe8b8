import { Effect, Schema } from "effect"
import { type Rider, withHeaders } from "./Actors.ts"

const Minted = Schema.Struct({ id: Schema.Int, token: Schema.String, hint: Schema.String })

export const mint = Effect.fnUntraced(function*(rider: Rider, scope: "read" | "write", members: object = {}) {
  const { body } = yield* rider.post("/auth/tokens", { name: "a script", scope, ...members })
  return yield* Schema.decodeUnknownEffect(Minted)(body).pipe(Effect.orDie)
})

export const withToken = (token: string) => withHeaders({ authorization: `Bearer ${token}` })

const Refused = Schema.Struct({ statusCode: Schema.Literal(401), details: Schema.Struct({ reason: Schema.String }) })

export const refusalOf = Effect.fnUntraced(function*(token: string) {
  const { body } = yield* (yield* withToken(token)).get("/me/credential")
  const { details } = yield* Schema.decodeUnknownEffect(Refused)(body).pipe(Effect.orDie)
  return details.reason
})

export const scriptOf = (rider: Rider, scope: "read" | "write") =>
  Effect.flatMap(mint(rider, scope), ({ token }) => withToken(token))
