import { Effect, Schema } from "effect"
import { addAccounts, type Credential, signedIn, tokenOf } from "../bench/seed.ts"
import { queryAt } from "./postgres.ts"

/** A client with a personal access token that may write. */
export interface Account {
  readonly id: number
  readonly email: string
  readonly token: string
}

const Rows = Schema.Array(Schema.Struct({ id: Schema.Int, email: Schema.String }))

const bearer = ({ authorization }: Credential) => authorization.replace("Bearer ", "")

/** Returns the token of a new session. */
export const sessionOf = (origin: string, email: string) => Effect.map(signedIn(origin, email), bearer)

/** Makes accounts with verified addresses, on the database at an address and the service at an origin. */
export const accounts = Effect.fnUntraced(function*(url: string, origin: string, prefix: string, count: number) {
  yield* addAccounts(url, prefix, count)
  const rows = yield* queryAt(url, "SELECT id::int, email FROM users WHERE starts_with(email, $1)", [`${prefix}-`])
  return yield* Effect.forEach(
    Schema.decodeUnknownSync(Rows)(rows),
    Effect.fnUntraced(function*(row) {
      const session = yield* signedIn(origin, row.email)
      const account: Account = { ...row, token: bearer(yield* tokenOf(origin, session)) }
      return account
    }),
    { concurrency: 2 }
  )
})
