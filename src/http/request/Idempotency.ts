import { Context, Effect, Layer, type Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { UserId } from "../../schema/Ids.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { IdempotencyKeys, type StoredResponse } from "../../services/admission/IdempotencyKeys.ts"
import type { KeyInUse, KeyReused, Overloaded, QuotaExceeded } from "../../services/DomainErrors.ts"
import { HEADERS } from "../api/Headers.ts"
import type { IdempotencyHeader } from "../api/Requests.ts"
import { withJoinedBody } from "./BodyPieces.ts"

const KEPT_HEADERS = [HEADERS.etag.key, HEADERS.location.key]

const kept = (response: HttpServerResponse.HttpServerResponse): StoredResponse => {
  const { body, headers, status } = withJoinedBody(response)
  return {
    status,
    headers: Object.fromEntries(
      KEPT_HEADERS.flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]])
    ),
    body: body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  }
}

const given = ({ body, headers, status }: StoredResponse) =>
  HttpServerResponse.text(body, { status, headers, contentType: MEDIA_TYPES.json })

interface Call {
  readonly headers: Schema.Struct.Type<typeof IdempotencyHeader>
  readonly request: HttpServerRequest.HttpServerRequest
}

/** `Idempotency-Key`: repeats after a lost response have no second effect. */
export class Idempotency extends Context.Service<Idempotency, {
  /**
   * Runs the work once per key, then replays its response; without a key, runs it always. Fails like
   * `IdempotencyKeys.once`, for example if the digest differs.
   */
  readonly once: <E, R>(
    userId: UserId,
    call: Call,
    digest: () => string,
    work: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | KeyInUse | KeyReused | QuotaExceeded | Overloaded, R>
}>()("route-planning-service/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function*() {
      const keys = yield* IdempotencyKeys
      return Idempotency.of({
        once: Effect.fnUntraced(function*(userId, { headers, request }, digest, work) {
          const key = headers[HEADERS.idempotencyKey.key]
          if (key === undefined) return yield* work
          const endpoint = `${request.method} ${new URL(request.url, "http://localhost").pathname}`
          return given(yield* keys.once({ userId, endpoint, key, requestHash: digest() }, Effect.map(work, kept)))
        })
      })
    })
  )
}
