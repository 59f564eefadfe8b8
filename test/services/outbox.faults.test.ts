import { NodeHttpClient } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Logger, Metric, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createServer, type RequestListener } from "node:http"
import type { Socket } from "node:net"
import { text } from "node:stream/consumers"
import { databaseLive } from "../../src/layers/Database.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { MAILS_AN_HOUR } from "../../src/schema/Limits.ts"
import { accountMailsLayer } from "../../src/services/accounts/AccountMails.ts"
import { MailedTokens } from "../../src/services/accounts/MailedLinks.ts"
import { SignUps } from "../../src/services/accounts/SignUp.ts"
import { Draining } from "../../src/services/admission/Health.ts"
import { Audit } from "../../src/services/identity/Audit.ts"
import { outboxDeliveryLayer } from "../../src/services/mail/Delivery.ts"
import { AccountMails, Mailer } from "../../src/services/mail/Mailers.ts"
import { MailQuota, Outbox } from "../../src/services/mail/Outbox.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { HTTP_FAULTS, type HttpFault } from "../support/HttpFaults.ts"
import { listening } from "../support/Listening.ts"
import { spansOf } from "../support/Spans.ts"
import { SECRETS } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const take: RequestListener = (_, response) => void response.end("{}")

/** The mail provider is on a socket, and does not have to behave. */
class Provider extends Context.Service<Provider, {
  readonly url: string
  /** They are the keys of what it was given, in order. */
  readonly keys: Array<string>
  readonly sockets: Array<Socket>
  readonly become: (listener: RequestListener) => Effect.Effect<void>
}>()("test/FaultyMailProvider") {
  static readonly layer = Layer.effect(
    Provider,
    Effect.gen(function*() {
      const keys: Array<string> = []
      const sockets: Array<Socket> = []
      const state = { listener: take }
      const server = createServer(async (request, response) => {
        await text(request)
        keys.push(String(request.headers["idempotency-key"]))
        state.listener(request, response)
      })
      server.on("connection", (socket) => sockets.push(socket))
      return Provider.of({
        url: `http://127.0.0.1:${yield* listening(server)}/emails`,
        keys,
        sockets,
        become: (listener) => Effect.sync(() => void (state.listener = listener))
      })
    })
  )
}

const accountMails = Layer.succeed(AccountMails, {
  compose: ({ kind, ...rest }) =>
    Effect.succeedSome({
      userId: undefined,
      mail: { to: "email" in rest ? rest.email : "", subject: kind, text: "Open this link:", link: undefined }
    }),
  withhold: () => Effect.void
})

const POOL = 1

/** These are the spans that failed rounds of the delivery were logged in. */
const failedIn: Array<string> = []

const outboxWith = <E, R>(accountMails: Layer.Layer<AccountMails, E, R>) =>
  Layer.unwrap(Effect.gen(function*() {
    const DATABASE_URL = yield* clonedDatabase
    const { url } = yield* Provider
    const settings = {
      ...SECRETS,
      DATABASE_URL,
      DATABASE_POOL_SIZE: String(POOL),
      EMAIL_API_URL: url
    }
    return outboxDeliveryLayer.pipe(
      Layer.provide([accountMails, Draining.layer, MailQuota.layer, Mailer.layerApi(Redacted.make("key"))]),
      Layer.provideMerge(Outbox.layer),
      Layer.provideMerge(databaseLive),
      Layer.provide([NodeHttpClient.layerUndici, Logger.layer([spansOf("outbox delivery failed", failedIn)])]),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
    )
  })).pipe(Layer.provideMerge(Provider.layer))

const outboxLayer = outboxWith(accountMails)

const realMailsLayer = accountMailsLayer.pipe(
  Layer.provide([Audit.layer, MailedTokens.layer, SignUps.layer]),
  Layer.provide(SecureRandom.layerWebCrypto)
)

const waiting = SqlClient.SqlClient.use((sql) => sql<{ attempts: number }>`SELECT attempts FROM outbox`)

const MAILS = 4

const write = (label: string) =>
  Effect.gen(function*() {
    const outbox = yield* Outbox
    for (let n = 0; n < MAILS; n++) {
      yield* outbox.request({ kind: "reset-password", email: `${label}-${n}@example.com` })
    }
  })

/**
 * A round of the delivery that found the database busy is followed by another one: the clock moves, but no lease ends.
 */
const untilDelivered = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  until(Effect.andThen(Outbox.use(({ wake }) => Effect.andThen(wake, TestClock.adjust("10 millis"))), condition))

layer(outboxLayer)("a mail provider", (it) => {
  for (const fault of ["hang", "refuse", "dripHeaders", "notHttp"] as const satisfies ReadonlyArray<HttpFault>) {
    it.effect(`that does ${fault} has no connection of the database, and each mail once when it is back`, () =>
      Effect.gen(function*() {
        const provider = yield* Provider
        const [keys, sockets] = [provider.keys.length, provider.sockets.length]
        yield* provider.become(HTTP_FAULTS[fault])
        yield* write(fault)
        yield* untilDelivered(Effect.sync(() => provider.keys.length >= keys + MAILS))
        // The pool has one connection, and the clock has moved too little to end the tries.
        assert.lengthOf(yield* waiting, MAILS)
        yield* TestClock.adjust("5 seconds")
        yield* until(Effect.sync(() => provider.sockets.slice(sockets).every(({ destroyed }) => destroyed)))

        const taken: Array<string> = []
        yield* provider.become((request, response) => {
          taken.push(String(request.headers["idempotency-key"]))
          take(request, response)
        })
        yield* until(Effect.andThen(TestClock.adjust("1 second"), Effect.map(waiting, (rows) => rows.length === 0)))
        // The provider knows by the key a mail that it has taken already.
        assert.deepStrictEqual(new Set(taken), new Set(provider.keys.slice(keys)))
        assert.strictEqual(new Set(taken).size, MAILS)
      }))
  }

  for (const fault of ["drip", "garbage", "endless"] as const satisfies ReadonlyArray<HttpFault>) {
    it.effect(`that takes mails with 200 and a body of ${fault} has each once, and is not read`, () =>
      Effect.gen(function*() {
        const provider = yield* Provider
        const keys = provider.keys.length
        yield* provider.become(HTTP_FAULTS[fault])
        yield* write(fault)
        yield* untilDelivered(Effect.map(waiting, (rows) => rows.length === 0))
        assert.lengthOf(new Set(provider.keys.slice(keys)), MAILS)
        assert.lengthOf(provider.keys.slice(keys), MAILS)
        if (fault !== "garbage") yield* until(Effect.sync(() => provider.sockets.every(({ destroyed }) => destroyed)))
      }))
  }
})

layer(outboxLayer)("the age of the oldest mail", (it) => {
  it.effect("leaves out those that wait for the quota of their address, and has those that a provider refuses", () =>
    Effect.gen(function*() {
      const provider = yield* Provider
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const [user] = yield* sql<{ id: number }>`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        VALUES ('a@example.com', 'a@example.com', now(), 'Rider', 'rider', now(), now()) RETURNING id`
      const put = (to: string) =>
        outbox.put(UserId.make(Number(user?.id)), { to, subject: "A token", text: "It was made.", link: undefined })
      const figures = Effect.map(
        Metric.snapshot,
        (metrics) =>
          ["outbox_pending_mails", "outbox_oldest_mail_age_seconds"].map((name) => {
            const metric = metrics.find(({ id }) => id === name)
            return metric?.type === "Gauge" ? Number(metric.state.value) : -1
          })
      )
      yield* provider.become(take)
      yield* Effect.replicateEffect(put("minted@example.com"), MAILS_AN_HOUR + 2)
      // The gauge may be of a time when only two had been put.
      yield* untilDelivered(Effect.map(waiting, (rows) => rows.length === 2))
      yield* TestClock.adjust("2 minutes")
      yield* provider.become((_, response) => void response.writeHead(401).end("{}"))
      yield* put("reset@example.com")
      yield* untilDelivered(Effect.map(figures, ([pending, age = -1]) => pending === 3 && age > 0 && age < 60))
      yield* sql`
        CREATE FUNCTION resist() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$`
      yield* sql`CREATE TRIGGER resist BEFORE UPDATE ON outbox EXECUTE FUNCTION resist()`
      yield* TestClock.adjust("5 minutes")
      yield* untilDelivered(Effect.map(figures, ([, age = -1]) => age > 300))
      assert.deepStrictEqual([...new Set(failedIn)], ["Outbox.deliver"])
    }))
})

layer(outboxWith(realMailsLayer))("a reset mail that the provider does not take", (it) => {
  it.effect("waits as long as its link is valid, and is dropped then", () =>
    Effect.gen(function*() {
      const provider = yield* Provider
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        VALUES ('a@example.com', 'a@example.com', now(), 'Rider', 'rider', now(), now())`
      yield* provider.become((_, response) => void response.writeHead(500).end())
      yield* outbox.request({ kind: "reset-password", email: "a@example.com" })
      yield* until(Effect.sync(() => provider.keys.length > 0))
      yield* TestClock.adjust("29 minutes")
      assert.lengthOf(yield* waiting, 1)
      yield* TestClock.adjust("1 minute")
      yield* untilDelivered(Effect.map(waiting, (rows) => rows.length === 0))
    }))
})
