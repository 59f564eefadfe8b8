import { NodeHttpClient } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Console, Context, Effect, Layer, Redacted, References } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { type Mail, Mailer } from "../../src/services/mail/Mailers.ts"
import { LogFormat } from "../../src/services/operations/SettingTypes.ts"
import { listening } from "../support/Listening.ts"
import { until } from "../support/Waiting.ts"

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** The provider has the shape of Resend's API, and responds with these statuses in turn. */
class Provider extends Context.Service<Provider, {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** It has an entry for each response that was not read to its end. */
  readonly hungUp: ReadonlyArray<true>
}>()("test/MailProvider") {
  static readonly layer = (...statuses: ReadonlyArray<number>) =>
    Layer.effect(
      Provider,
      Effect.gen(function*() {
        const received: Array<Received> = []
        const server = createServer(async (request, response) => {
          const body = await text(request)
          response.writeHead(statuses[Math.min(received.length, statuses.length - 1)] ?? 200).end("{}")
          received.push({ headers: request.headers, body })
        })
        return Provider.of({ url: `http://127.0.0.1:${yield* listening(server)}/emails`, received, hungUp: [] })
      })
    )

  /** Responds with 200 and a body without end. */
  static readonly endless = Layer.effect(
    Provider,
    Effect.gen(function*() {
      const received: Array<Received> = []
      const hungUp: Array<true> = []
      const server = createServer(async (request, response) => {
        received.push({ headers: request.headers, body: await text(request) })
        response.on("close", () => hungUp.push(true)).writeHead(200)
        Readable.from(chunksWithoutEnd()).pipe(response)
      })
      return Provider.of({ url: `http://127.0.0.1:${yield* listening(server)}/emails`, received, hungUp })
    })
  )
}

function* chunksWithoutEnd() {
  while (true) yield "garbage ".repeat(1000)
}

const MAIL: Mail = {
  to: "rider@example.com",
  subject: "Verify",
  text: "Open:",
  link: Redacted.make("https://x/?token=canary"),
  ifNotYou: "Ignore it if you're \"<not>\" Ada."
}

const FROM = { EMAIL_FROM: "Routes <routes@example.com>" }

const sendWith = Effect.fnUntraced(function*(more: Readonly<Record<string, string>>) {
  const { url } = yield* Provider
  const settings = { EMAIL_API_URL: url, ...more }
  yield* Mailer.use((mailer) => mailer.send(MAIL, "key-of-the-mail")).pipe(
    Effect.provide(
      Mailer.layerApi(Redacted.make("canary-key")).pipe(
        Layer.provide(NodeHttpClient.layerUndici),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
      )
    )
  )
})

const send = sendWith(FROM)

it.live("a mail is posted to the provider as text and HTML, with the key and the whole link", () =>
  Effect.gen(function*() {
    yield* send
    const { received } = yield* Provider
    assert.strictEqual(received.length, 1)
    assert.strictEqual(received[0]?.headers.authorization, "Bearer canary-key")
    const { html, ...mail } = JSON.parse(received[0]?.body ?? "")
    assert.deepStrictEqual(mail, {
      from: "Routes <routes@example.com>",
      to: ["rider@example.com"],
      subject: "Verify",
      text:
        "Open:\n\nhttps://x/?token=canary\n\nIgnore it if you're \"<not>\" Ada.\n\n-- \nRoute Planning Service\nhttp://localhost:3000/\n"
    })
    assert.include(html, "<a href=\"https://x/?token=canary\">https://x/?token=canary</a>")
    assert.include(html, "<p>Ignore it if you&#39;re &quot;&lt;not&gt;&quot; Ada.</p>")
  }).pipe(Effect.provide(Provider.layer(200))))

it.live("mails come from no-reply and the host of BASE_URL unless EMAIL_FROM is set", () =>
  Effect.gen(function*() {
    yield* sendWith({ BASE_URL: "https://routes.example.com:8443/app" })
    yield* sendWith({})
    const { received } = yield* Provider
    assert.deepStrictEqual(received.map(({ body }) => JSON.parse(body).from), [
      "no-reply@routes.example.com",
      "no-reply@localhost"
    ])
  }).pipe(Effect.provide(Provider.layer(200))))

/** Returns what is written for two mails, the second of which has no link. */
const written = Effect.fnUntraced(function*(format: "json" | "pretty") {
  const lines: Array<string> = []
  yield* Mailer.use((mailer) => Effect.andThen(mailer.send(MAIL, "1"), mailer.send({ ...MAIL, link: undefined }, "2")))
    .pipe(
      Effect.provide(Mailer.layerStandardOutput),
      Effect.provideService(LogFormat, format),
      Effect.provideService(Console.Console, { ...globalThis.console, log: (line) => void lines.push(String(line)) }),
      // Links are needed whatever is logged.
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  return lines
})

it.effect("without a provider mails are JSON objects where the log is JSON, with the ids of their trace", () =>
  Effect.gen(function*() {
    const lines = yield* written("json")
    const [first, second] = lines.map((line) => JSON.parse(line))
    assert.match(first.traceId, /^[0-9a-f]{32}$/)
    assert.match(first.spanId, /^[0-9a-f]{16}$/)
    const { spanId: _, ...mail } = first
    assert.deepStrictEqual(mail, {
      timestamp: "1970-01-01T00:00:00.000Z",
      level: "INFO",
      message: "mail",
      traceId: (yield* Effect.currentParentSpan).traceId,
      to: "rider@example.com",
      subject: "Verify",
      link: "https://x/?token=canary"
    })
    assert.deepInclude(second, { message: "mail", to: "rider@example.com", subject: "Verify" })
    assert.notProperty(second, "link")
  }).pipe(Effect.withSpan("test")))

it.effect("without a provider mails are lines with the address and the whole link where the log is pretty", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* written("pretty"), [
      "mail to rider@example.com: Verify https://x/?token=canary",
      "mail to rider@example.com: Verify"
    ])
  }))

it.live("a mail is given to the provider once a try, with its Idempotency-Key", () =>
  Effect.gen(function*() {
    yield* Effect.flip(send)
    yield* send
    const { received } = yield* Provider
    assert.deepStrictEqual(received.map(({ headers }) => headers["idempotency-key"]), Array(2).fill("key-of-the-mail"))
  }).pipe(Effect.provide(Provider.layer(503, 200))))

it.live("a provider that takes a mail and responds without end has it", () =>
  Effect.gen(function*() {
    yield* send
    const { hungUp, received } = yield* Provider
    assert.strictEqual(received.length, 1)
    yield* until(Effect.sync(() => hungUp.length === 1))
  }).pipe(Effect.provide(Provider.endless)))

it.live("a refusal names its kind and status, and neither the link nor the key", () =>
  Effect.gen(function*() {
    for (const reason of ["StatusCodeError 401", "StatusCodeError 503"]) {
      const error = yield* Effect.flip(send)
      assert.deepStrictEqual<unknown>({ ...error }, { _tag: "MailNotSent", reason })
      assert.notInclude(JSON.stringify(error), "canary")
    }
  }).pipe(Effect.provide(Provider.layer(401, 503))))

it.live("a provider that is away is named so, and neither the link nor the key", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(sendWith({ EMAIL_API_URL: "http://127.0.0.1:9/emails" }))
    assert.deepStrictEqual<unknown>({ ...error }, { _tag: "MailNotSent", reason: "TransportError" })
    assert.notInclude(JSON.stringify(error), "canary")
  }).pipe(Effect.provide(Provider.layer(200))))
