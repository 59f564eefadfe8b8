import { Effect, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { Mailbox } from "./Mailbox.ts"
import { type Newcomer, Newcomers } from "./Newcomers.ts"
import { type Answer, type Call, TestServer } from "./TestServer.ts"

export interface Actor {
  readonly get: (path: string, call?: Call) => Effect.Effect<Answer>
  readonly post: (path: string, body?: unknown, call?: Call) => Effect.Effect<Answer>
  readonly patch: (path: string, body?: unknown, call?: Call) => Effect.Effect<Answer>
  readonly delete: (path: string, call?: Call) => Effect.Effect<Answer>
  readonly call: (method: string, path: string, call?: Call) => Effect.Effect<Answer>
}

export interface Rider extends Actor {
  readonly id: number
  readonly email: string
  readonly password: string
  readonly token: string
  readonly cookie: string
}

const actor = (server: TestServer["Service"], credential: Readonly<Record<string, string>>): Actor => {
  const send = (method: string, path: string, call: Call = {}) =>
    server.call(method, path, { ...call, headers: { ...credential, ...call.headers } })
  return {
    get: (path, call) => send("GET", path, call),
    post: (path, body, call) => send("POST", path, body === undefined ? call : { body, ...call }),
    patch: (path, body, call) => send("PATCH", path, body === undefined ? call : { body, ...call }),
    delete: (path, call) => send("DELETE", path, call),
    call: send
  }
}

/** The service knows nothing of this caller. */
export const anonymous = Effect.map(TestServer, (server) => actor(server, {}))

export const withHeaders = (headers: Readonly<Record<string, string>>) =>
  Effect.map(TestServer, (server) => actor(server, headers))

export const newEmail = () => `${randomUUID()}@example.com`

const SignedIn = Schema.Struct({ accessToken: Schema.String, user: Schema.Struct({ id: Schema.Finite }) })

interface Person {
  readonly email?: string
  readonly name?: string
}

const riderOf = (server: TestServer["Service"], email: string, { id, password, token }: Newcomer): Rider => {
  const cookie = `__Host-service_session=${token}`
  return { ...actor(server, { cookie }), id, email, password, token, cookie }
}

/** Signs up a new user, who proves the address by the mailed link and calls with the session cookie. */
export const signedUpAs = Effect.fnUntraced(function*({ email = newEmail(), name }: Person) {
  const server = yield* TestServer
  const visitor = actor(server, {})
  const password = `correct horse ${randomUUID()}`
  yield* visitor.post("/auth/signup-email", { email, password, ...(name === undefined ? {} : { name }) })
  const token = yield* (yield* Mailbox).tokenFor(email)
  const { body } = yield* visitor.post("/auth/verify-email", { token })
  const { accessToken, user } = yield* Schema.decodeUnknownEffect(SignedIn)(body).pipe(Effect.orDie)
  return riderOf(server, email, { id: user.id, password, token: accessToken })
})

export const signedUp = signedUpAs({})

/** Returns a new user of a server in this process, like `signedUpAs` but without a sign-up. */
export const signedInAs = Effect.fnUntraced(function*({ email = newEmail(), name }: Person) {
  const server = yield* TestServer
  return riderOf(server, email, yield* (yield* Newcomers).open({ email, name }))
})

export const signedIn = signedInAs({})
