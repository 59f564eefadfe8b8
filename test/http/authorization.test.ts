import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SignJWT } from "jose"
import { join } from "node:path"
import { Api } from "../../src/http/api/Api.ts"
import { anonymous, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, scriptOf, withToken } from "../support/Tokens.ts"

const DOCUMENT = join(import.meta.dirname, "../../docs/authorization.md")

const endpoints = Object.values(Api.groups)
  .flatMap((group) => Object.values(group.endpoints))
  .map(({ method, path }) => ({ method, path: String(path) }))

const READING_ADMIN = "admin@example.com"

const admins = [READING_ADMIN, ...endpoints.map((_, n) => `admin-${n}@example.com`)]

const UNKNOWN_SESSION = "00000000-0000-4000-8000-000000000000"

/** Makes a path that is well-formed and names nothing. */
const pathOf = (path: string) =>
  path.replace("/sessions/:id", `/sessions/${UNKNOWN_SESSION}`).replace(/:(id|ref|userId)/g, "999999999").replace(
    ":handle",
    "nobody-at-all"
  )

const forged = Effect.promise(() =>
  new SignJWT({ sub: "1", sid: UNKNOWN_SESSION, role: "admin" })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuer("route-planning-service")
    .setAudience("route-planning-service/session")
    .setIssuedAt(0)
    .setExpirationTime(900)
    .sign(new TextEncoder().encode("another secret of 32 characters or more"))
)

const leavingSince = Effect.fnUntraced(function*(requestedAt: string) {
  const rider = yield* signedIn
  yield* SqlClient.SqlClient.use((sql) =>
    sql`UPDATE users SET deletion_requested_at = ${requestedAt} WHERE id = ${rider.id}`
  )
  return rider
})

const pending = leavingSince("1970-01-01T00:00:00Z")

const over = leavingSince("1969-12-02T00:00:00Z")

const expired = Effect.gen(function*() {
  const { id, token } = yield* mint(yield* signedIn, "write")
  yield* SqlClient.SqlClient.use((sql) =>
    sql`UPDATE personal_access_tokens SET expires_at = '1969-12-31T23:59:59Z' WHERE id = ${id}`
  )
  return yield* withToken(token)
})

const revoked = Effect.gen(function*() {
  const rider = yield* signedIn
  const { id, token } = yield* mint(rider, "write")
  yield* rider.delete(`/auth/tokens/${id}`)
  return yield* withToken(token)
})

/** The caller has the cookie alone of a session that was ended. */
const endedCookie = Effect.gen(function*() {
  const rider = yield* signedIn
  yield* rider.post("/auth/logout")
  return yield* withHeaders({ cookie: rider.cookie })
})

/** The script is of an account that is pending deletion. */
const pendingScript = Effect.gen(function*() {
  const rider = yield* signedIn
  const script = yield* scriptOf(rider, "write")
  yield* SqlClient.SqlClient.use((sql) => sql`UPDATE users SET deletion_requested_at = 'epoch' WHERE id = ${rider.id}`)
  return script
})

const both = Effect.gen(function*() {
  const rider = yield* signedIn
  const { token } = yield* mint(rider, "read")
  return yield* withHeaders({ authorization: `Bearer ${token}`, cookie: rider.cookie })
})

/** No endpoint can harm these callers, so they are made once. */
const lasting = Effect.gen(function*() {
  const rider = yield* signedIn
  return {
    session: yield* signedIn,
    pending: yield* pending,
    over: yield* over,
    admin: yield* signedInAs({ email: READING_ADMIN }),
    read: yield* scriptOf(rider, "read"),
    write: yield* scriptOf(rider, "write"),
    expired: yield* expired,
    revoked: yield* revoked,
    malformed: yield* withToken("service_pat_made_up"),
    forged: yield* Effect.flatMap(forged, withToken),
    both: yield* both,
    endedCookie: yield* endedCookie,
    pendingScript: yield* pendingScript
  }
})

const mayEndSessions = ({ method, path }: typeof endpoints[number]) =>
  method !== "GET" && /^\/(api\/v1\/)?(auth|users|me|admin)\b/.test(path)

/** Sessions are new for each endpoint that may end them. */
const sessionsFor = (n: number, made: Effect.Success<typeof lasting>) =>
  !endpoints.slice(n, n + 1).some(mayEndSessions)
    ? {
      session: Effect.succeed(made.session),
      pending: Effect.succeed(made.pending),
      over: Effect.succeed(made.over),
      admin: Effect.succeed(made.admin)
    }
    : { session: signedIn, pending, over, admin: signedInAs({ email: `admin-${n}@example.com` }) }

const callersFor = (n: number, made: Effect.Success<typeof lasting>) => ({
  "anonymous": anonymous,
  "session": sessionsFor(n, made).session,
  "session, account pending deletion": sessionsFor(n, made).pending,
  "session, 30 days of the deletion over": sessionsFor(n, made).over,
  "session as a bearer token, 30 days of the deletion over": Effect.flatMap(
    sessionsFor(n, made).over,
    ({ token }) => withToken(token)
  ),
  "session of an administrator": sessionsFor(n, made).admin,
  "token `read`": Effect.succeed(made.read),
  "token `write`": Effect.succeed(made.write),
  "token, expired": Effect.succeed(made.expired),
  "token, revoked": Effect.succeed(made.revoked),
  "token, malformed": Effect.succeed(made.malformed),
  "session signed with another secret": Effect.succeed(made.forged),
  "session's cookie and token `read`": Effect.succeed(made.both),
  "cookie of an ended session": Effect.succeed(made.endedCookie),
  "token `write`, account pending deletion": Effect.succeed(made.pendingScript)
})

const verdict = (status: number) => status === 401 || status === 403 ? String(status) : "yes"

const row = Effect.fnUntraced(function*(
  { method, path }: typeof endpoints[number],
  n: number,
  made: Effect.Success<typeof lasting>
) {
  const verdicts = yield* Effect.forEach(Object.values(callersFor(n, made)), (caller) =>
    Effect.gen(function*() {
      const actor = yield* caller
      const root = pathOf(path).replace(/^/, "/")
      const body = method === "GET" || method === "DELETE" ? {} : { body: {} }
      return verdict((yield* actor.call(method, root, body)).status)
    }))
  return `| \`${method} ${path.replace(/:(\w+)/g, "{$1}")}\` | ${verdicts.join(" | ")} |`
})

const HEADING = `# Who may do what

What each kind of caller gets from each endpoint: \`yes\` (the call goes on to its own checks), \`401\` or \`403\`. A test
walks the whole contract with every kind of caller and compares with this table, which \`npm run docs\` generates. Sessions are
sent as the cookie, unless the column says otherwise: where authentication is optional, a cookie that is no longer valid counts
as none, and a bearer token is refused.
`

layer(TestServer.layer({ ADMIN_EMAILS: admins.join(",") }))("authorization", (it) => {
  it.effect(
    "is what the documented table says, for every endpoint and every kind of caller",
    () =>
      Effect.gen(function*() {
        const made = yield* lasting
        const rows = yield* Effect.forEach(endpoints, (endpoint, n) => row(endpoint, n, made), {
          concurrency: 4
        })
        const callers = Object.keys(callersFor(0, made))
        const table = [
          `| | ${callers.join(" | ")} |`,
          `|---|${callers.map(() => "---").join("|")}|`,
          ...rows.toSorted()
        ]
        const text = `${HEADING}\n${table.join("\n")}\n`
        yield* Effect.promise(() =>
          expect(text, "run `npm run docs`, and read the new row").toMatchFileSnapshot(DOCUMENT)
        )
      })
  )
})
