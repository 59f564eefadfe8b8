import { Context, Effect, Layer } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Conflict, ValidationFailed } from "../../schema/Errors.ts"
import type { UserId } from "../../schema/Ids.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { IdempotencyKeys, type KeptAnswer } from "../../services/idempotency/IdempotencyKeys.ts"

const KEY = /^[\x21-\x7e]{1,255}$/

const KEPT_HEADERS = ["etag", "location"]

const kept = ({ body, headers, status }: HttpServerResponse.HttpServerResponse): KeptAnswer => ({
  status,
  headers: Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]])
  ),
  body: body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
})

const given = ({ body, headers, status }: KeptAnswer) =>
  HttpServerResponse.text(body, { status, headers, contentType: MEDIA_TYPES.json })

/** The header `Idempotency-Key`, by which a client whose answer was lost asks again without asking for a second one. */
export class Idempotency extends Context.Service<Idempotency, {
  /**
   * Without the header the work is done; with it once in 24 hours. Requests are the same if their bodies have the same
   * digest: one that is written in another way is another request.
   */
  readonly once: <E, R>(
    userId: UserId,
    request: HttpServerRequest.HttpServerRequest,
    body: { readonly digest?: string },
    work: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | Conflict | ValidationFailed, R>
}>()("route-planning-service/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.map(IdempotencyKeys, (keys) =>
      Idempotency.of({
        once: Effect.fnUntraced(function*(userId, request, { digest = "" }, work) {
          const key = request.headers["idempotency-key"]
          if (key === undefined) return yield* work
          if (!KEY.test(key)) {
            return yield* ValidationFailed.at("Idempotency-Key", "Expected 1 to 255 visible ASCII characters")
          }
          const endpoint = `${request.method} ${new URL(request.url, "http://localhost").pathname}`
          return given(yield* keys.once({ userId, endpoint, key, requestHash: digest }, Effect.map(work, kept)))
        })
      }))
  )
}
