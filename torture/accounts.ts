import { Effect, Schema } from "effect"
import { type Credential, passwordHash, signedIn, tokenOf } from "../bench/seed.ts"
import { queryAt } from "./postgres.ts"

/** A client with a personal access token that may write. */
export interface Account {
  readonly id: number
  readonly email: string
  readonly token: string
}

const INSERTED = `
  INSERT INTO users (email, email_key, email_verified_at, name, handle, password_hash, created_at, updated_at)
  SELECT email, email, now(), 'Torture', split_part(email, '@', 1), $2, now(), now() FROM unnest($1::text[]) email
  RETURNING id::int, email`

const Rows = Schema.Array(Schema.Struct({ id: Schema.Int, email: Schema.String }))

const bearer = ({ authorization }: Credential) => authorization.replace("Bearer ", "")

/** Returns the token of a new session. */
export const sessionOf = (origin: string, email: string) => Effect.map(signedIn(origin, email), bearer)

/** Makes accounts with verified addresses, on the database at an address and the service at an origin. */
export const accounts = Effect.fnUntraced(function*(url: string, origin: string, prefix: string, count: number) {
  const emails = Array.from({ length: count }, (_, n) => `${prefix}-${n}@example.com`)
  const rows = yield* queryAt(url, INSERTED, [emails, yield* passwordHash])
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
