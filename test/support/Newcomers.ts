import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { NewAccounts } from "../../src/services/accounts/NewAccounts.ts"
import { SignUps } from "../../src/services/accounts/SignUps.ts"
import { Audit } from "../../src/services/audit/Audit.ts"
import { Devices } from "../../src/services/credentials/Devices.ts"
import { MailedTokens } from "../../src/services/credentials/MailedTokens.ts"
import { Passwords } from "../../src/services/credentials/Passwords.ts"
import { Sessions } from "../../src/services/credentials/Sessions.ts"
import { SessionTokens } from "../../src/services/credentials/SessionTokens.ts"
import { Handles } from "../../src/services/identity/Handles.ts"
import { Pseudonyms } from "../../src/services/identity/Pseudonyms.ts"
import { Roles } from "../../src/services/identity/Roles.ts"

export interface Newcomer {
  readonly id: number
  readonly password: string
  readonly token: string
}

const DEVICE = { userAgent: "node", ipAddress: "127.0.0.1" }

/** Accounts with a session as a sign-up leaves them, without its requests and its mail: a tenth of the processor time. */
export class Newcomers extends Context.Service<Newcomers, {
  readonly open: (person: { readonly email: string; readonly name: string | undefined }) => Effect.Effect<Newcomer>
}>()("test/Newcomers") {
  /** Shares the services of the application that is built with it. */
  static readonly layer = Layer.effect(
    Newcomers,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* NewAccounts
      const sessions = yield* Sessions
      const passwords = yield* Passwords
      const password = `correct horse ${randomUUID()}`
      const passwordHash = yield* Effect.cached(passwords.hash(Redacted.make(password)))
      return Newcomers.of({
        open: Effect.fnUntraced(
          function*(person) {
            const opened = yield* accounts.open({ ...person, passwordHash: yield* passwordHash })
            const id = yield* Effect.fromOption(opened)
            return { id, password, token: yield* sessions.start(id, DEVICE) }
          },
          sql.withTransaction,
          Effect.orDie
        )
      })
    })
  ).pipe(
    Layer.provide([NewAccounts.layer, Sessions.layer]),
    Layer.provide([
      Audit.layer,
      Devices.layer,
      Handles.layer,
      MailedTokens.layer,
      Passwords.layer,
      SessionTokens.layer,
      SignUps.layer
    ]),
    Layer.provide([Pseudonyms.layer, Roles.layer])
  )
}
