import { Cause, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { type ServiceError, UnsupportedMediaType } from "../../../schema/Errors.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../../schema/MediaTypes.ts"
import { html } from "../../../services/html/Html.ts"
import { ResponseWithin } from "../../api/Requests.ts"
import { CrossSite } from "../../middleware/CrossSite.ts"
import { within } from "../../middleware/Deadline.ts"
import { serviceErrorOf } from "../../middleware/ErrorShape.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { decodeUtf8 } from "../../request/Body.ts"
import { RequestBodies } from "../../request/RequestBodies.ts"
import { methodsRefusedAt } from "../../response/MethodNotAllowed.ts"
import { type Page, pageResponse } from "./Layout.ts"
import { alert, plainWords } from "./Refusals.ts"

export type Fields = Readonly<Record<string, string | undefined>>

export type PageResult = Page | { readonly seeOther: string }

export interface PageRoute<E, R, E2, R2> {
  readonly path: HttpRouter.PathInput
  readonly show: (query: URLSearchParams) => Effect.Effect<PageResult, E, R>
  readonly submit?: {
    /** `refused` shows its errors. */
    readonly run: (
      fields: Fields,
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<PageResult, E2, R2>
    readonly refused: (error: ServiceError, fields: Fields) => Page
  } | undefined
}

/** Fits a token and the longest password with 12 bytes for each character. */
const FORM_LIMIT_BYTES = 32 * 1024

const checkType = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  mediaTypeOf(headers["content-type"]) === MEDIA_TYPES.form
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: `Send the form as ${MEDIA_TYPES.form}` }))

export const queryOf = ({ url }: HttpServerRequest.HttpServerRequest) => new URL(url, "http://localhost").searchParams

export const failure = (error: ServiceError): Page => ({
  title: "This did not work",
  body: html`${alert(plainWords(error))}`,
  error
})

const responseTo = (path: string, result: PageResult) =>
  "seeOther" in result ? HttpServerResponse.redirect(result.seeOther, { status: 303 }) : pageResponse(path, result)

export const orPage = <A extends PageResult, E, R>(
  work: Effect.Effect<A, E, R>,
  refused: (error: ServiceError) => Page
) =>
  Effect.catchCause(work, (cause) =>
    Cause.hasInterrupts(cause)
      ? Effect.failCause(cause)
      : Effect.map(serviceErrorOf(cause), (error): A | Page => refused(error)))

export const DEADLINE = ResponseWithin.defaultValue()

/** Limits GET requests by address and refuses cross-site forms. */
export const pageLayer = <E, R, E2 = never, R2 = never>({ path, show, submit }: PageRoute<E, R, E2, R2>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const bodies = yield* RequestBodies
    const crossSite = yield* CrossSite
    const limiter = yield* Limiter
    const endpoint = HttpApiEndpoint.get("page", path)

    const shown = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* limiter.countAddress(endpoint)
      return yield* show(queryOf(request))
    })

    const readFields = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      yield* crossSite.check(request)
      yield* checkType(request)
      const text = yield* decodeUtf8(yield* bodies.read(request, FORM_LIMIT_BYTES))
      const fields: Fields = Object.fromEntries(new URLSearchParams(text))
      return fields
    })

    yield* router.add(
      "GET",
      path,
      Effect.map(orPage(within(shown, DEADLINE), failure), (page) => responseTo(path, page))
    )
    if (submit === undefined) return

    const submitted = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const fields = yield* readFields(request)
      return yield* orPage(submit.run(fields, request), (error) => submit.refused(error, fields))
    })
    yield* router.add(
      "POST",
      path,
      Effect.map(orPage(Effect.scoped(within(submitted, DEADLINE)), failure), (page) => responseTo(path, page))
    )
  })).pipe(Layer.merge(methodsRefusedAt(path, submit === undefined ? ["GET"] : ["GET", "POST"])))

/** Fails with `refused`, since schema issues are for programs. */
export const decodeField = <A, I>(schema: Schema.Codec<A, I>, value: string | undefined, refused: () => ServiceError) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(value), refused)
