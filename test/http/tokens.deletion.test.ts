import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { makeClient } from "../../src/client.ts"
import { OptionalAuthentication } from "../../src/http/api/Access.ts"
import { Api } from "../../src/http/api/Api.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { areWaiting } from "../support/Copies.ts"
import { created, newRoute } from "../support/Routes.ts"
import { signInAgain } from "../support/SignIns.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint, refusalOf, withToken } from "../support/Tokens.ts"

const PENDING = "account_pending_deletion"

const Refused = Schema.Struct({
  statusCode: Schema.Literal(401),
  code: Schema.Literal("UNAUTHORIZED"),
  details: Schema.Struct({ reason: Schema.String })
})

const reasonIn = ({ body }: Answer) => Schema.decodeUnknownSync(Refused)(body).details.reason

const cursorIn = ({ body }: Answer) => Schema.decodeUnknownSync(Schema.Struct({ cursor: Schema.String }))(body).cursor

const openPaths = Object.values(Api.groups)
  .flatMap((group) => Object.values(group.endpoints))
  .filter(({ middlewares }) => [...middlewares].some(({ key }) => key === OptionalAuthentication.key))
  .map(({ path }) => path.replace("/api/v1", ""))

const cancel = Effect.fnUntraced(function*(rider: Rider) {
  const back = yield* signInAgain(rider)
  assert.strictEqual((yield* back.post("/users/me/cancel-deletion")).status, 200)
})

layer(TestServer.layer())("a token of an account in its grace period", (it) => {
  it.effect("is refused as pending wherever it is sent, and works again after the cancel", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const { token } = yield* mint(rider, "write")
      const script = yield* withToken(token)
      // From here on the digest is known.
      assert.strictEqual((yield* script.get("/users/me")).status, 200)
      yield* rider.delete("/users/me")

      const answers = yield* Effect.all([
        script.get("/users/me"),
        script.get("/me/credential"),
        script.get("/routes"),
        script.get("/sync"),
        script.post("/routes", newRoute({})),
        script.post("/routes/batch", { operations: [] }),
        script.patch(`/routes/${route.id}`, { name: "x" }),
        script.delete(`/routes/${route.id}`),
        script.get("/auth/tokens"),
        ...openPaths.map((path) => script.get(path.replace(":ref", String(route.id))))
      ])
      assert.deepStrictEqual(new Set(answers.map(reasonIn)), new Set([PENDING]))
      // Requests that begin together share a statement.
      const together = yield* Effect.replicateEffect(script.get("/me/credential"), 16, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(together.map(reasonIn)), new Set([PENDING]))

      yield* cancel(rider)
      assert.strictEqual((yield* script.get("/users/me")).status, 200)
      assert.strictEqual((yield* script.patch(`/routes/${route.id}`, { name: "x" })).status, 200)
    }))

  it.effect("is refused as pending where it waited for a change", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* withToken((yield* mint(rider, "read")).token)
      const request = yield* Effect.forkChild(
        script.get(`/sync?cursor=${cursorIn(yield* script.get("/sync"))}&wait=30`)
      )
      yield* areWaiting(1)
      yield* rider.delete("/users/me")
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(reasonIn(yield* Fiber.join(request)), PENDING)
    }))

  it.effect("stays in the typed client, which goes on after the cancel", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { origin } = yield* TestServer
      const token = Redacted.make((yield* mint(rider, "read")).token)
      const client = yield* makeClient({ baseUrl: origin, token }).pipe(Effect.provide(FetchHttpClient.layer))
      yield* rider.delete("/users/me")
      const refused = yield* Effect.flip(client.users.me())
      assert.strictEqual(refused._tag === "Unauthorized" ? refused.details?.reason : refused._tag, PENDING)
      yield* cancel(rider)
      assert.strictEqual((yield* client.users.me()).id, rider.id)
    }))

  it.effect("is refused as revoked once nobody can cancel, and as expired after its own end", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read")
      const short = yield* mint(rider, "read", { expiresInDays: 1 })
      yield* rider.delete("/users/me")
      yield* TestClock.adjust("29 days")
      assert.deepStrictEqual([yield* refusalOf(token), yield* refusalOf(short.token)], [PENDING, "token_expired"])
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* refusalOf(token), "token_revoked")
    }))
})
