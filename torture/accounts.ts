import { argon2id, hash } from "argon2"
import { Effect, Schema } from "effect"
import { type Ask, decoded } from "./ask.ts"
import { queryAt } from "./postgres.ts"

/** A client with a personal access token that may write. */
export interface Account {
  readonly id: number
  readonly email: string
  readonly token: string
}

const PASSWORD = "a long enough password"

const sessionIn = decoded(
  Schema.Struct({ accessToken: Schema.String, user: Schema.Struct({ id: Schema.Int }) })
)

const tokenIn = decoded(Schema.Struct({ token: Schema.String }))

const inserted = Effect.fnUntraced(function*(url: string, emails: ReadonlyArray<string>) {
  const digest = yield* Effect.promise(() =>
    hash(PASSWORD, { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  )
  yield* queryAt(
    url,
    `INSERT INTO users (email, email_key, email_verified_at, name, handle, password_hash, created_at, updated_at)
     SELECT email, email, now(), 'Torture', split_part(email, '@', 1), $2, now(), now() FROM unnest($1::text[]) email`,
    [emails, digest]
  )
})

export const sessionOf = (ask: Ask, email: string) =>
  Effect.map(
    ask({ method: "POST", path: "/api/v1/auth/login-email", body: JSON.stringify({ email, password: PASSWORD }) }),
    sessionIn
  )

const signedIn = Effect.fnUntraced(function*(ask: Ask, email: string) {
  const { accessToken, user } = yield* sessionOf(ask, email)
  const minted = yield* ask({
    method: "POST",
    path: "/api/v1/auth/tokens",
    token: accessToken,
    body: JSON.stringify({ name: "torture", scope: "write", expiresInDays: null, currentPassword: PASSWORD })
  })
  const account: Account = { id: user.id, email, token: tokenIn(minted).token }
  return account
})

/** Makes accounts with verified addresses, on the database at an address and the service that is called. */
export const accounts = Effect.fnUntraced(function*(url: string, ask: Ask, prefix: string, count: number) {
  const emails = Array.from({ length: count }, (_, n) => `${prefix}-${n}@example.com`)
  yield* inserted(url, emails)
  return yield* Effect.forEach(emails, (email) => signedIn(ask, email), { concurrency: 2 })
})
