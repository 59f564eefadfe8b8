import { assert, layer } from "@effect/vitest"
import {
  Clock,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  Layer,
  Logger,
  Metric,
  Option,
  Redacted,
  Ref,
  type Tracer
} from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { databaseLive } from "../../src/layers/Database.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { MAILS_A_DAY, MAILS_AN_HOUR } from "../../src/schema/Limits.ts"
import { Draining } from "../../src/services/admission/Health.ts"
import { outboxDeliveryLayer } from "../../src/services/mail/Delivery.ts"
import { AccountMails, type Mail, Mailer, MailNotSent } from "../../src/services/mail/Mailers.ts"
import { MailQuota, Outbox } from "../../src/services/mail/Outbox.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { Spans } from "../support/Spans.ts"
import { SECRETS } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const logged: Array<string> = []

/** This mail provider can be taken down. */
class Provider extends Context.Service<Provider, {
  readonly isDown: Ref.Ref<boolean>
  readonly taken: Ref.Ref<ReadonlyArray<Mail>>
  readonly tries: Ref.Ref<number>
  readonly keys: Ref.Ref<ReadonlyArray<string>>
}>()("test/Provider") {
  static readonly layer = Layer.effectContext(Effect.gen(function*() {
    const provider = {
      isDown: yield* Ref.make(false),
      taken: yield* Ref.make<ReadonlyArray<Mail>>([]),
      tries: yield* Ref.make(0),
      keys: yield* Ref.make<ReadonlyArray<string>>([])
    }
    const mailer = Mailer.of({
      send: Effect.fnUntraced(function*(mail, key) {
        yield* Ref.update(provider.keys, (keys) => [...keys, key])
        yield* Ref.update(provider.tries, (tries) => tries + 1)
        if (yield* Ref.get(provider.isDown)) return yield* new MailNotSent({ reason: "TransportError" })
        if (mail.to === "unknown@example.com") return yield* new MailNotSent({ reason: "SMTP 550", isFinal: true })
        yield* Ref.update(provider.taken, (taken) => [...taken, mail])
      })
    })
    return Context.make(Provider, provider).pipe(Context.add(Mailer, mailer))
  }))
}

const MAIL: Mail = {
  to: "rider@example.com",
  subject: "Verify",
  text: "Open this link:",
  link: Redacted.make("https://app.example.com/verify-email?token=canary-token")
}

/** Its mails are composed when the lease of the claim is nearly over. */
const LATE = "late@example.com"
/** Its mails are composed when the lease is over, and another process has claimed them. */
const TAKEN_OVER = "taken-over@example.com"

/** Composing its mails takes a moment. */
const SLOW = "slow@example.com"

const composing = { now: 0, most: 0 }

/** The mails to this address are composed in these spans. */
const TRACED = "traced@example.com"
const composedIn: Array<Pick<Tracer.AnySpan, "sampled" | "traceId">> = []

const slowly = Effect.acquireUseRelease(
  Effect.sync(() => composing.most = Math.max(composing.most, ++composing.now)),
  () => Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20))),
  () => Effect.sync(() => composing.now--)
)

/** Anyone who asks for a reset gets the mail; of sign-ups nothing is known. */
const accountMails = Layer.effect(
  AccountMails,
  Effect.map(SqlClient.SqlClient, (sql) =>
    AccountMails.of({
      compose: Effect.fnUntraced(function*(request) {
        if (request.kind !== "reset-password") return Option.none()
        if (request.email === SLOW) yield* slowly
        if (request.email === TRACED) composedIn.push(yield* Effect.orDie(Effect.currentParentSpan))
        if (request.email === LATE) yield* TestClock.adjust("11 seconds")
        if (request.email === TAKEN_OVER) {
          yield* TestClock.adjust("16 seconds")
          yield* Effect.orDie(sql`
            UPDATE outbox SET attempts = attempts + 1, next_attempt_at = next_attempt_at + interval '15 seconds'`)
        }
        return Option.some({ userId: undefined, mail: { ...MAIL, to: request.email } })
      }),
      withhold: () => Effect.void
    }))
)

const outboxLayer = Layer.unwrap(Effect.map(clonedDatabase, (url) =>
  outboxDeliveryLayer.pipe(
    Layer.provide(accountMails),
    Layer.provideMerge(MailQuota.layer),
    Layer.provideMerge(Layer.merge(Draining.layer, Outbox.layer)),
    Layer.provideMerge(Provider.layer),
    Layer.provideMerge(Spans.layer),
    Layer.provideMerge(databaseLive),
    Layer.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => logged.push(line))])),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ ...SECRETS, DATABASE_URL: url })))
  )))

/** Returns the user who gets the mails. */
const somebody = SqlClient.SqlClient.use((sql) =>
  sql<{ id: number }>`
    INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
    VALUES ('rider@example.com', 'rider@example.com', now(), 'Rider', 'rider', now(), now())
    ON CONFLICT (email_key) DO UPDATE SET name = 'Rider' RETURNING id`
).pipe(Effect.map((rows) => UserId.make(Number(rows[0]?.id))))

const waiting = SqlClient.SqlClient.use((sql) => sql<{ payload: string }>`SELECT payload FROM outbox`)

const noticeTo = (to: string): Mail => ({ to, subject: "Your password was changed", text: "It was.", link: undefined })

layer(outboxLayer)("the quota of an address", (it) => {
  it.effect("is exact for any number of mails at once, in whatever spelling of the address", () =>
    Effect.gen(function*() {
      const quota = yield* MailQuota
      const taken = yield* Effect.all(
        Array.from({ length: 64 }, (_, n) => quota.take(n % 2 === 0 ? "a@example.com" : " A@EXAMPLE.com")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(taken.filter((isTaken) => isTaken).length, MAILS_AN_HOUR)
      assert.isTrue(yield* quota.take("b@example.com"))
    }))

  it.effect("is of the last hour and the last day, to the millisecond", () =>
    Effect.gen(function*() {
      const { take } = yield* MailQuota
      const taken = (count: number) => Effect.replicateEffect(take("hourly@example.com"), count)
      const hourly = Array.from({ length: 6 }, (_, n) => n < 5)
      assert.deepStrictEqual(yield* taken(6), hourly)
      yield* TestClock.adjust(Duration.subtract(Duration.hours(1), Duration.millis(1)))
      assert.deepStrictEqual(yield* taken(1), [false])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(yield* taken(6), hourly)
      yield* TestClock.adjust(Duration.subtract(Duration.hours(23), Duration.millis(1)))
      assert.deepStrictEqual(yield* taken(1), [false])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(yield* taken(6), hourly)
    }))

  it.effect("is 30 mails a day for all networks together, beside which notices have their own", () =>
    Effect.gen(function*() {
      const { isUsedUp, take } = yield* MailQuota
      const address = "asked-by-many@example.com"
      const fromAll = (from: number, to: number) =>
        Effect.forEach(Array.from({ length: to - from }, (_, n) => from + n), (n) => take(address, `198.51.${n}.0/24`))
      assert.isTrue((yield* fromAll(0, 29)).every((isTaken) => isTaken))
      assert.isFalse(yield* isUsedUp(address))
      assert.deepStrictEqual(yield* fromAll(29, 31), [true, false])
      assert.isTrue(yield* isUsedUp(address))
      assert.isFalse(yield* isUsedUp("nobody@example.com"))
      assert.isTrue(yield* take(address))
      yield* TestClock.adjust(Duration.subtract(Duration.days(1), Duration.millis(1)))
      assert.isTrue(yield* isUsedUp(address))
      yield* TestClock.adjust("1 milli")
      assert.isFalse(yield* isUsedUp(address))
      assert.deepStrictEqual(yield* fromAll(50, 51), [true])
    }))

  it.effect("drops requested mails above the quota, and delays notices by ten minutes", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { taken } = yield* Provider
      const userId = yield* somebody
      const sentTo = (to: string) =>
        Effect.map(Ref.get(taken), (mails) => mails.filter((mail) => mail.to === to).length)
      for (let n = 0; n < MAILS_AN_HOUR + 2; n++) {
        yield* outbox.request({ kind: "reset-password", email: "asked@example.com" })
        yield* outbox.put(userId, noticeTo("told@example.com"))
      }
      // A look that fails on a busy machine is followed by the next one after some seconds of this clock.
      const left = outbox.wake.pipe(
        Effect.andThen(TestClock.adjust("1 second")),
        Effect.andThen(waiting),
        Effect.map((rows) => rows.length)
      )
      yield* until(Effect.map(left, (count) => count === 2))
      assert.strictEqual(yield* sentTo("asked@example.com"), MAILS_AN_HOUR)
      assert.strictEqual(yield* sentTo("told@example.com"), MAILS_AN_HOUR)
      const sql = yield* SqlClient.SqlClient
      const now = new Date(yield* Clock.currentTimeMillis)
      const delays = yield* sql<{ seconds: number }>`
        SELECT extract(epoch FROM next_attempt_at - ${now})::float8 AS seconds FROM outbox`
      for (const { seconds } of delays) assert.closeTo(seconds, 570, 30)
      yield* TestClock.adjust("1 hour")
      yield* until(Effect.map(left, (count) => count === 0))
      assert.strictEqual(yield* sentTo("asked@example.com"), MAILS_AN_HOUR)
      assert.strictEqual(yield* sentTo("told@example.com"), MAILS_AN_HOUR + 2)
    }))

  it.effect("prepares two mails at once, so that many to one address leave connections to requests", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { taken } = yield* Provider
      yield* Effect.replicateEffect(outbox.request({ kind: "reset-password", email: SLOW }), MAILS_AN_HOUR)
      yield* until(
        Effect.map(Ref.get(taken), (mails) => mails.filter(({ to }) => to === SLOW).length === MAILS_AN_HOUR)
      )
      assert.deepStrictEqual(composing, { now: 0, most: 2 })
    }))

  it.effect("counts a mail once, however often it is tried", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const quota = yield* MailQuota
      const { isDown, tries } = yield* Provider
      const before = yield* Ref.get(tries)
      yield* Ref.set(isDown, true)
      yield* outbox.put(yield* somebody, noticeTo("often@example.com"))
      yield* until(Effect.gen(function*() {
        yield* outbox.wake
        yield* TestClock.adjust("5 minutes")
        return (yield* Ref.get(tries)) >= before + 4
      }))
      yield* Ref.set(isDown, false)
      yield* until(Effect.gen(function*() {
        yield* outbox.wake
        yield* TestClock.adjust("5 minutes")
        return (yield* waiting).length === 0
      }))
      const rest = yield* Effect.forEach(Array.from({ length: MAILS_A_DAY }), () =>
        Effect.andThen(TestClock.adjust("1 hour"), quota.take("often@example.com")))
      assert.lengthOf(rest.filter(Boolean), MAILS_A_DAY - 1)
    }))
})

layer(outboxLayer)("the outbox", (it) => {
  it.effect("sends a mail after it was written, and forgets it", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { taken } = yield* Provider
      yield* outbox.put(yield* somebody, MAIL)
      yield* until(Effect.map(Ref.get(taken), (mails) => mails.length === 1))
      const [mail] = yield* Ref.get(taken)
      assert.strictEqual(
        Redacted.value(mail?.link ?? Redacted.make("")),
        Redacted.value(MAIL.link ?? Redacted.make(""))
      )
      yield* until(Effect.map(waiting, (rows) => rows.length === 0))
    }))

  it.effect("composes a mail in the trace of its request, and adds no spans to it", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const span = yield* Effect.currentSpan
      yield* outbox.request({ kind: "reset-password", email: TRACED })
      yield* until(Effect.sync(() => composedIn.length === 1))
      assert.deepStrictEqual(composedIn.map(({ sampled, traceId }) => ({ sampled, traceId })), [
        { sampled: false, traceId: span.traceId }
      ])
      yield* until(Effect.map(waiting, (rows) => rows.length === 0))
    }).pipe(Effect.withSpan("request")))

  it.effect("sends nothing of a transaction that failed", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const { tries } = yield* Provider
      const before = yield* Ref.get(tries)
      yield* outbox.put(yield* somebody, MAIL).pipe(
        Effect.andThen(Effect.fail("no")),
        sql.withTransaction,
        Effect.ignore
      )
      yield* outbox.wake
      assert.deepStrictEqual(yield* waiting, [])
      assert.strictEqual(yield* Ref.get(tries), before)
    }))

  it.effect("keeps a mail while the provider is down, encrypted and out of the log, and sends it when it is back", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { isDown, taken, tries } = yield* Provider
      const before = yield* Ref.get(tries)
      yield* Ref.set(isDown, true)
      yield* outbox.put(yield* somebody, MAIL)
      yield* until(Effect.map(Ref.get(tries), (count) => count > before))
      const rows = yield* waiting
      assert.strictEqual(rows.length, 1)
      assert.notInclude(JSON.stringify(rows), "canary")
      assert.notInclude(JSON.stringify(rows), "rider@example.com")
      yield* until(Effect.sync(() => logged.some((line) => line.includes("mail not sent"))))
      assert.isFalse(logged.some((line) => line.includes("canary") || line.includes("rider@example.com")))

      yield* Ref.set(isDown, false)
      const count = (yield* Ref.get(taken)).length
      yield* until(Effect.gen(function*() {
        yield* TestClock.adjust("10 minutes")
        yield* outbox.wake
        return (yield* Ref.get(taken)).length === count + 1
      }))
    }))

  it.effect("drops after a day what could not be sent, and logs it", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { isDown } = yield* Provider
      yield* Ref.set(isDown, true)
      yield* outbox.put(yield* somebody, MAIL)
      yield* TestClock.adjust("24 hours")
      yield* until(Effect.map(Effect.andThen(outbox.wake, waiting), ({ length }) => length === 0))
      yield* until(Effect.sync(() => logged.some((line) => line.includes("mails not sent in time, dropped"))))
    }))
})

layer(outboxLayer)("the figures of an outbox", (it) => {
  const figure = (name: string, result?: string) =>
    Effect.map(Metric.snapshot, (metrics) => {
      const metric = metrics.find(({ attributes, id }) => id === name && attributes?.["result"] === result)
      if (metric?.type === "Counter") return Number(metric.state.count)
      return metric?.type === "Gauge" ? Number(metric.state.value) : 0
    })
  const counts = Effect.all(
    ["sent", "failed", "dropped"].map((result) => figure("outbox_mails_total", result))
  )

  it.effect("are how many wait, since when, and what became of each", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { isDown } = yield* Provider
      const sql = yield* SqlClient.SqlClient
      const [sent = 0, failed = 0, dropped = 0] = yield* counts
      const becomes = (expected: ReadonlyArray<number>) =>
        until(Effect.map(Effect.andThen(outbox.wake, counts), (found) => found.join() === expected.join()))
      const looksLike = (pending: number, age: number) =>
        until(Effect.gen(function*() {
          yield* outbox.wake
          const found = [yield* figure("outbox_pending_mails"), yield* figure("outbox_oldest_mail_age_seconds")]
          return found.join() === [pending, age].join()
        }))
      yield* Ref.set(isDown, true)
      yield* outbox.put(yield* somebody, MAIL)
      yield* becomes([sent, failed + 1, dropped])
      yield* TestClock.adjust("2 seconds")
      yield* outbox.put(yield* somebody, MAIL)
      yield* becomes([sent, failed + 2, dropped])
      yield* looksLike(2, 2)
      yield* Ref.set(isDown, false)
      yield* TestClock.adjust("5 seconds")
      yield* becomes([sent + 2, failed + 2, dropped])
      yield* looksLike(0, 0)

      const now = new Date(yield* Clock.currentTimeMillis)
      yield* sql`
        INSERT INTO outbox (payload, created_at, next_attempt_at, expires_at) VALUES
          ('unreadable', ${now}, ${now}, ${new Date(now.getTime() + 1000)}), ('', ${now}, ${now}, ${now})`
      yield* becomes([sent + 2, failed + 2, dropped + 2])
      yield* outbox.put(yield* somebody, { ...MAIL, to: "unknown@example.com" })
      yield* becomes([sent + 2, failed + 2, dropped + 3])
    }))
})

layer(outboxLayer)("a mail that the provider does not take", (it) => {
  it.effect("is tried after 5 seconds, twice as long each time, and each hour in the end, with one key", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const { isDown, keys } = yield* Provider
      yield* Ref.set(isDown, true)
      yield* outbox.put(yield* somebody, MAIL)
      const delay = Effect.gen(function*() {
        const [row] = yield* sql<{ next_attempt_at: string }>`SELECT next_attempt_at FROM outbox`
        return (Date.parse(row?.next_attempt_at ?? "") - (yield* Clock.currentTimeMillis)) / 1000
      })
      for (const seconds of [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]) {
        yield* outbox.wake
        yield* until(Effect.map(delay, (found) => found === seconds))
        yield* TestClock.adjust(Duration.seconds(seconds))
      }
      assert.lengthOf([...new Set(yield* Ref.get(keys))], 1)
    }))
})

layer(outboxLayer)("a mail that took long to compose", (it) => {
  it.effect("is not sent when another process has claimed it, and under a renewed lease otherwise", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { count } = yield* Spans
      const { tries } = yield* Provider
      yield* outbox.request({ kind: "reset-password", email: TAKEN_OVER })
      // A look begins when the one before it is over.
      for (const number of [1, 2, 3]) {
        yield* until(Effect.map(count("Outbox.deliver"), (looks) => looks === number))
        yield* outbox.wake
      }
      assert.lengthOf(yield* waiting, 1)
      assert.strictEqual(yield* Ref.get(tries), 0)
      yield* outbox.request({ kind: "reset-password", email: LATE })
      yield* until(Effect.map(waiting, (rows) => rows.length === 1))
      assert.strictEqual(yield* Ref.get(tries), 1)
      // The other process has ended, and its lease is over.
      yield* TestClock.adjust("15 seconds")
      yield* outbox.wake
      yield* until(Effect.map(waiting, (rows) => rows.length === 0))
      assert.strictEqual(yield* Ref.get(tries), 2)
    }))
})

layer(outboxLayer)("an outbox in which there is nothing", (it) => {
  it.effect("is looked at less and less often, and still every five minutes", () =>
    Effect.gen(function*() {
      const { count } = yield* Spans
      const before = yield* count("Outbox.deliver")
      // Each minute is long enough for a look; the queries beside it let the look end.
      yield* TestClock.adjust("1 minute").pipe(
        Effect.andThen(Effect.repeat(waiting, { times: 4 })),
        Effect.repeat({ times: 59 })
      )
      const looks = (yield* count("Outbox.deliver")) - before
      assert.isAtLeast(looks, 1)
      assert.isAtMost(looks, 20)

      // Another process has written the mail, and has ended.
      const sql = yield* SqlClient.SqlClient
      const now = new Date(yield* Clock.currentTimeMillis)
      yield* sql`
        INSERT INTO outbox (payload, created_at, next_attempt_at, expires_at)
        VALUES ('unreadable', ${now}, ${now}, ${new Date(now.getTime() + 86_400_000)})`
      yield* until(Effect.andThen(TestClock.adjust("5 minutes"), Effect.map(waiting, (rows) => rows.length === 0)))
    }))
})
