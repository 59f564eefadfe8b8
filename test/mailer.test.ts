import { NodeHttpClient } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Redacted } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { text } from "node:stream/consumers"
import { Mailer } from "../src/services/mail/Mailer.ts"
import { listening } from "./support/Listening.ts"

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A provider of the shape of Resend's API, which answers with these statuses in turn. */
class Provider extends Context.Service<Provider, {
  readonly url: string
  readonly received: ReadonlyArray<Received>
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
        return Provider.of({ url: `http://127.0.0.1:${yield* listening(server)}/emails`, received })
      })
    )
}

const send = Effect.gen(function*() {
  const { url } = yield* Provider
  const settings = { EMAIL_API_KEY: "canary-key", EMAIL_API_URL: url, EMAIL_FROM: "Routes <routes@example.com>" }
  yield* Mailer.use((mailer) =>
    mailer.send({
      to: "rider@example.com",
      subject: "Verify",
      text: "Open:",
      link: Redacted.make("https://x/?token=canary")
    })
  ).pipe(
    Effect.provide(Mailer.layerApi.pipe(
      Layer.provide(NodeHttpClient.layerUndici),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
    ))
  )
})

it.live("a mail is posted to the provider, with the key and the whole link", () =>
  Effect.gen(function*() {
    yield* send
    const { received } = yield* Provider
    assert.strictEqual(received.length, 1)
    assert.strictEqual(received[0]?.headers.authorization, "Bearer canary-key")
    assert.deepStrictEqual(JSON.parse(received[0]?.body ?? ""), {
      from: "Routes <routes@example.com>",
      to: ["rider@example.com"],
      subject: "Verify",
      text: "Open:\n\nhttps://x/?token=canary\n"
    })
  }).pipe(Effect.provide(Provider.layer(200))))

it.live("a provider that fails for a moment is asked again", () =>
  Effect.gen(function*() {
    yield* send
    assert.strictEqual((yield* Provider).received.length, 3)
  }).pipe(Effect.provide(Provider.layer(503, 500, 200))))

it.live("a refusal names its kind, and neither the link nor the key", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(send)
    assert.deepStrictEqual<unknown>({ ...error }, { _tag: "MailNotSent", reason: "HttpClientError" })
    assert.notInclude(JSON.stringify(error), "canary")
  }).pipe(Effect.provide(Provider.layer(422))))
