import { NodeHttpClient } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createServer, type Socket } from "node:net"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { databaseLive } from "../../src/layers/Database.ts"
import { mailerLayerOr } from "../../src/layers/Live.ts"
import { Draining } from "../../src/services/admission/Health.ts"
import { outboxDeliveryLayer } from "../../src/services/mail/Delivery.ts"
import { AccountMails, type Mail, Mailer } from "../../src/services/mail/Mailers.ts"
import { MailQuota, Outbox } from "../../src/services/mail/Outbox.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { listening } from "../support/Listening.ts"
import { SECRETS } from "../support/TestServer.ts"
import { until, untilNone } from "../support/Waiting.ts"

const MAIL: Mail = {
  to: "rider@example.com",
  subject: "Verify",
  text: "Open:",
  link: Redacted.make("https://x/?token=canary"),
  ifNotYou: "Or not."
}

interface Received {
  readonly user: string | undefined
  readonly to: ReadonlyArray<string>
  readonly source: string
}

/** Starts a real SMTP server on a free port, and keeps what it has received. */
const smtpServer = Effect.fnUntraced(function*(options: SMTPServerOptions = {}) {
  const received: Array<Received> = []
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    authOptional: true,
    onAuth: ({ password, username }, _session, done) =>
      password === "p@ss" ? done(null, { user: username ?? "" }) : done(new Error("canary: wrong password")),
    onData: (stream, { envelope, user }, done) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => {
        const to = envelope.rcptTo.map(({ address }) => address)
        received.push({ user, to, source: Buffer.concat(chunks).toString() })
        done()
      })
    },
    ...options
  })
  // Clients that hang up are their own business.
  server.on("error", () => undefined)
  yield* Effect.addFinalizer(() => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve()))))
  const port = yield* Effect.promise(() =>
    new Promise<number>((resolve) => {
      const listener = server.listen(0, "127.0.0.1", () => {
        const address = listener.address()
        resolve(typeof address === "object" ? address?.port ?? 0 : 0)
      })
    })
  )
  return { port, received }
})

const sendBy = (url: string, more: Readonly<Record<string, string>> = {}) => {
  const settings = { SMTP_URL: url, BASE_URL: "https://routes.example.com", ...more }
  return Mailer.use((mailer) => mailer.send(MAIL, "key-of-the-mail")).pipe(
    Effect.provide(
      mailerLayerOr(Mailer.layerStandardOutput).pipe(
        Layer.provide([NodeHttpClient.layerUndici, ConfigProvider.layer(ConfigProvider.fromUnknown(settings))])
      )
    )
  )
}

it.live("a mail is handed to the SMTP server as text and HTML, under one Message-ID for all its tries", () =>
  Effect.gen(function*() {
    const { port, received } = yield* smtpServer()
    const url = `smtp://routes%40example.com:p%40ss@127.0.0.1:${port}`
    yield* sendBy(url, { EMAIL_FROM: "Routes <routes@example.com>", SITE_NAME: "Velo Club Vaduz" })
    yield* sendBy(url)
    const [first, second] = received
    assert.deepStrictEqual([first?.user, first?.to], ["routes@example.com", ["rider@example.com"]])
    for (
      const header of [
        "From: Routes <routes@example.com>",
        "To: rider@example.com",
        "Subject: Verify",
        "Message-ID: <key-of-the-mail@routes.example.com>",
        "Auto-Submitted: auto-generated",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Type: text/html; charset=utf-8"
      ]
    ) assert.include(first?.source ?? "", header)
    assert.match(first?.source ?? "", /Content-Type: multipart\/alternative;/)
    const [, text = "", html = ""] = first?.source.split(/Content-Type: text\//) ?? []
    for (const part of [text, html]) assert.include(part, "Velo Club Vaduz")
    assert.include(first?.source ?? "", "Open:\r\n\r\nhttps://x/?token=canary\r\n\r\nOr not.")
    assert.include(second?.source ?? "", "Message-ID: <key-of-the-mail@routes.example.com>")
    assert.include(second?.source ?? "", "From: no-reply@routes.example.com")
  }).pipe(Effect.scoped))

it.live("a refusal of the SMTP server has its status and neither link nor password", () =>
  Effect.gen(function*() {
    const { port } = yield* smtpServer({
      onRcptTo: (_address, { envelope: { mailFrom } }, done) => {
        const text = mailFrom === false ? "" : mailFrom.address.replace("@", " canary@")
        done(Object.assign(new Error(text), { responseCode: 550 }))
      }
    })
    const wrongPassword = yield* Effect.flip(sendBy(`smtp://ada:canary@127.0.0.1:${port}`))
    const refused = yield* Effect.flip(sendBy(`smtp://127.0.0.1:${port}`))
    const nobody = yield* Effect.flip(sendBy("smtp://127.0.0.1:9"))
    const full = yield* Effect.flip(sendBy(`smtp://127.0.0.1:${port}`, { EMAIL_FROM: "5.3.1@example.com" }))
    const blocked = yield* Effect.flip(sendBy(`smtp://127.0.0.1:${port}`, { EMAIL_FROM: "5.1.2.3@example.com" }))
    const reasons = [wrongPassword, refused, nobody, full, blocked].map((error) => JSON.stringify({ ...error }))
    assert.deepStrictEqual(reasons, [
      "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP EAUTH 535\"}",
      "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP EENVELOPE 550\"}",
      "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP ESOCKET\"}",
      "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP EENVELOPE 550 5.3.1\"}",
      "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP EENVELOPE 550\"}"
    ])
  }).pipe(Effect.scoped))

it.live("a mail to an address that the SMTP server does not know is refused for good, one that it does not relay is not", () =>
  Effect.gen(function*() {
    const isFinal = Effect.fnUntraced(function*(responseCode: number, text: string) {
      const { port } = yield* smtpServer({
        onRcptTo: (_address, _session, done) => done(Object.assign(new Error(text), { responseCode }))
      })
      const error = yield* Effect.flip(sendBy(`smtp://127.0.0.1:${port}`))
      return "isFinal" in error
    })
    assert.isTrue(yield* isFinal(550, "5.1.1 No such user"))
    assert.isFalse(yield* isFinal(554, "5.7.1 Relay access denied"))
    assert.isFalse(yield* isFinal(450, "4.1.1 Try later"))
  }).pipe(Effect.scoped))

it.live("credentials are not sent to a server on the network that has no TLS", () =>
  Effect.gen(function*() {
    const { port, received } = yield* smtpServer()
    // This machine has the address, which is not of the loopback interface.
    const error = yield* Effect.flip(sendBy(`smtp://ada:p%40ss@0.0.0.0:${port}`))
    assert.strictEqual(JSON.stringify({ ...error }), "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP ETLS 500\"}")
    assert.deepStrictEqual(received, [])
    yield* sendBy(`smtp://0.0.0.0:${port}`)
    assert.lengthOf(received, 1)
  }).pipe(Effect.scoped))

it.effect("a server that hangs is given up in time, in the middle of work that is not to be interrupted", () =>
  Effect.gen(function*() {
    const sockets = new Set<Socket>()
    const port = yield* listening(createServer((socket) => void sockets.add(socket.on("error", () => undefined))))
    const failing = yield* Effect.forkChild(Effect.flip(Effect.uninterruptible(sendBy(`smtp://127.0.0.1:${port}`))))
    yield* until(Effect.sync(() => sockets.size === 1))
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(
      JSON.stringify({ ...yield* Fiber.join(failing) }),
      "{\"_tag\":\"MailNotSent\",\"reason\":\"SMTP timeout\"}"
    )
    for (const socket of sockets) socket.destroy()
  }).pipe(Effect.scoped))

/** Accepts a mail to `held@example.com` only when the test lets it, as a filter of contents does. */
const holdingServer = Effect.gen(function*() {
  const held: Array<() => void> = []
  const taken: Array<string> = []
  const { port } = yield* smtpServer({
    onData: (stream, { envelope: { rcptTo: [to] } }, done) =>
      stream.resume().on("end", () => {
        if (to?.address === HELD) return void held.push(done)
        taken.push(to?.address ?? "")
        done()
      })
  })
  return { port, held, taken }
})

const HELD = "held@example.com"

const outboxOn = (port: number) =>
  Layer.unwrap(Effect.map(clonedDatabase, (DATABASE_URL) => {
    const settings = {
      ...SECRETS,
      DATABASE_URL,
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      BASE_URL: "https://routes.example.com"
    }
    const accountMails = Layer.mock(AccountMails, {
      compose: (request) =>
        Effect.succeedSome({ userId: undefined, mail: { ...MAIL, to: "email" in request ? request.email : "" } })
    })
    return outboxDeliveryLayer.pipe(
      Layer.provide([accountMails, MailQuota.layer, mailerLayerOr(Mailer.layerStandardOutput)]),
      Layer.provideMerge(Layer.merge(Outbox.layer, Draining.layer)),
      Layer.provideMerge(databaseLive),
      Layer.provide([NodeHttpClient.layerUndici, Logger.layer([])]),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
    )
  }))

const mailTo = (email: string) =>
  Outbox.use(({ request, wake }) => Effect.andThen(request({ kind: "reset-password", email }), wake))

const pending = SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM outbox`)

it.effect("a server that accepts a mail 6 seconds after its end gets it once", () =>
  Effect.gen(function*() {
    const { held, port } = yield* holdingServer
    yield* Effect.gen(function*() {
      yield* mailTo(HELD)
      yield* until(Effect.sync(() => held.length === 1))
      yield* TestClock.adjust("6 seconds")
      held[0]?.()
      yield* untilNone(pending)
    }).pipe(Effect.provide(outboxOn(port)))
    assert.lengthOf(held, 1)
  }).pipe(Effect.scoped))

it.effect("a server that is slow with the mail of one person delays none of another, and no shutdown", () =>
  Effect.gen(function*() {
    const { held, port, taken } = yield* holdingServer
    const scope = yield* Scope.make()
    yield* Effect.gen(function*() {
      yield* mailTo(HELD)
      yield* until(Effect.sync(() => held.length === 1))
      yield* TestClock.adjust("6 seconds")
      yield* mailTo("other@example.com")
      yield* until(Effect.sync(() => taken.join() === "other@example.com"))
      yield* (yield* Draining).begin
    }).pipe(Effect.provide(yield* Layer.buildWithScope(outboxOn(port), scope)))
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(closing)
    assert.lengthOf(held, 1)
    held[0]?.()
  }).pipe(Effect.scoped))

it.effect("a malformed SMTP_URL refuses the start and is not told", () =>
  Effect.gen(function*() {
    for (
      const url of [
        "canary",
        "http://canary.example.com",
        "smtp://",
        "smtp://canary/?tls.rejectUnauthorized=false",
        "smtp://ada:100%canary@127.0.0.1",
        "smtp://:canary@127.0.0.1"
      ]
    ) {
      const exit = yield* Effect.exit(sendBy(url))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), "SMTP_URL")
      assert.notInclude(String(exit), "canary")
    }
  }))
