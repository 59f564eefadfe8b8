import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { randomnessLive } from "../../src/layers/Live.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { NewAccounts } from "../../src/services/accounts/NewAccounts.ts"
import { PasswordChanges } from "../../src/services/accounts/PasswordChanges.ts"
import { SignUps } from "../../src/services/accounts/SignUps.ts"
import { Audit } from "../../src/services/audit/Audit.ts"
import { MailedTokens } from "../../src/services/credentials/MailedTokens.ts"
import { PasswordPolicy } from "../../src/services/credentials/PasswordPolicy.ts"
import { Passwords } from "../../src/services/credentials/Passwords.ts"
import { PersonalAccessTokens } from "../../src/services/credentials/PersonalAccessTokens.ts"
import { Sessions } from "../../src/services/credentials/Sessions.ts"
import { SessionTokens } from "../../src/services/credentials/SessionTokens.ts"
import { Handles } from "../../src/services/identity/Handles.ts"
import { Roles } from "../../src/services/identity/Roles.ts"
import { Bulkheads } from "../../src/services/limits/Bulkheads.ts"
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
    Layer.provide([Handles.layer, Outbox.layer, PasswordPolicy.layer, Sessions.layer, passwords, Bulkheads.layer]),
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
      yield* reset((yield* mailedTokens.issue("reset-password", { signUpId })).token, password)
      const [account] = yield* sql<{ id: number; password_hash: string }>`SELECT id, password_hash FROM users`
      assert.strictEqual(account?.password_hash, "a digest")

      yield* sql`UPDATE users SET password_hash = 'old'`
      const userId = UserId.make(Number(account?.id))
      yield* reset((yield* mailedTokens.issue("reset-password", { userId })).token, password)
      const rows = yield* sql<{ password_hash: string }>`SELECT password_hash FROM users`
      assert.strictEqual(rows[0]?.password_hash, "a digest")

      assert.deepStrictEqual(yield* Ref.get(hashed), [false, false])
    }))
})
