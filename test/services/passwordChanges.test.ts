import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { randomnessLive } from "../../src/layers/Live.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { MailedTokens } from "../../src/services/accounts/MailedLinks.ts"
import { PasswordChanges } from "../../src/services/accounts/PasswordChanges.ts"
import { PasswordPolicy, Passwords } from "../../src/services/accounts/Passwords.ts"
import { Sessions, SessionTokens } from "../../src/services/accounts/Sessions.ts"
import { NewAccounts, SignUps } from "../../src/services/accounts/SignUp.ts"
import { PersonalAccessTokens } from "../../src/services/accounts/Tokens.ts"
import { Lanes } from "../../src/services/admission/Lanes.ts"
import { Audit } from "../../src/services/identity/Audit.ts"
import { Handles } from "../../src/services/identity/Names.ts"
import { Roles } from "../../src/services/identity/Users.ts"
import { Outbox } from "../../src/services/mail/Outbox.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

const inTransaction = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    Effect.serviceOption(sql.transactionService),
    Option.isSome
  )
)

/** Hashes nothing, and notes whether the caller has a transaction open. */
const passwords = Layer.effect(
  Passwords,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return Passwords.of({
      hash: () =>
        inTransaction.pipe(
          Effect.flatMap((isOpen) => Ref.update(hashed, (all) => [...all, isOpen])),
          Effect.as("a digest"),
          Effect.provideService(SqlClient.SqlClient, sql)
        ),
      verify: () => Effect.succeed(true),
      isOutdated: () => false
    })
  })
)

const hashed = Ref.makeUnsafe<ReadonlyArray<boolean>>([])

const changes = Layer.unwrap(Effect.map(clonedDatabase, (url) =>
  PasswordChanges.layer.pipe(
    Layer.provideMerge(NewAccounts.layer),
    Layer.provide(PersonalAccessTokens.layer),
    Layer.provide([Handles.layer, Outbox.layer, PasswordPolicy.layer, Sessions.layer, passwords, Lanes.layer]),
    Layer.provideMerge(Layer.mergeAll(MailedTokens.layer, SignUps.layer)),
    Layer.provide([Audit.layer, Roles.layer, SessionTokens.layer]),
    Layer.provideMerge(databaseLive),
    Layer.provide(randomnessLive),
    Layer.provide(configLayer(url, {}))
  )))

layer(changes)("a password that a mailed link sets", (it) => {
  it.effect("is hashed before the transaction begins, of an account as of a sign-up", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const mailedTokens = yield* MailedTokens
      const { reset } = yield* PasswordChanges
      const password = Redacted.make("a long enough password")

      const signUpId = yield* (yield* SignUps).add({ email: "a@example.com", name: "A", passwordHash: "old" })
      yield* reset(yield* mailedTokens.issue("reset-password", { signUpId }), password)
      const [account] = yield* sql<{ id: number; password_hash: string }>`SELECT id, password_hash FROM users`
      assert.strictEqual(account?.password_hash, "a digest")

      yield* sql`UPDATE users SET password_hash = 'old'`
      const userId = UserId.make(Number(account?.id))
      yield* reset(yield* mailedTokens.issue("reset-password", { userId }), password)
      const rows = yield* sql<{ password_hash: string }>`SELECT password_hash FROM users`
      assert.strictEqual(rows[0]?.password_hash, "a digest")

      assert.deepStrictEqual(yield* Ref.get(hashed), [false, false])
    }))
})
