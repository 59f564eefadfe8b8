import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { MailedTokens } from "../../src/services/accounts/MailedLinks.ts"
import { Passwords } from "../../src/services/accounts/Passwords.ts"
import { Devices, Sessions, SessionTokens } from "../../src/services/accounts/Sessions.ts"
import { NewAccounts, SignUps } from "../../src/services/accounts/SignUp.ts"
import { Audit } from "../../src/services/identity/Audit.ts"
import { Handles, Pseudonyms } from "../../src/services/identity/Names.ts"
import { Roles } from "../../src/services/identity/Users.ts"

export interface Newcomer {
  readonly id: number
  readonly password: string
  readonly token: string
}

const DEVICE = { userAgent: "node", ipAddress: "127.0.0.1" }

/** Makes accounts with a session as a sign-up does, without its requests and mail: a tenth of the processor time. */
export class Newcomers extends Context.Service<Newcomers, {
  readonly open: (person: { readonly email: string; readonly name: string | undefined }) => Effect.Effect<Newcomer>
}>()("test/Newcomers") {
  /** The layer shares the services of the application that is built with it. */
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
