import { Effect, Schema } from "effect"
import { type Rider, withHeaders } from "./Actors.ts"

const Minted = Schema.Struct({ id: Schema.Int, token: Schema.String, hint: Schema.String })

/** A new personal access token of a rider. */
export const mint = Effect.fnUntraced(function*(rider: Rider, scope: "read" | "write", members: object = {}) {
  const { body } = yield* rider.post("/auth/tokens", { name: "a script", scope, ...members })
  return yield* Schema.decodeUnknownEffect(Minted)(body).pipe(Effect.orDie)
})

/** A script that calls with a personal access token. */
export const withToken = (token: string) => withHeaders({ authorization: `Bearer ${token}` })

export const scriptOf = (rider: Rider, scope: "read" | "write") =>
  Effect.flatMap(mint(rider, scope), ({ token }) => withToken(token))
