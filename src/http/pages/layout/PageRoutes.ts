import { Cause, Effect, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { type ServiceError, UnsupportedMediaType } from "../../../schema/Errors.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../../schema/MediaTypes.ts"
import { DatabaseReadOnly } from "../../../services/db/DatabaseErrors.ts"
import { html } from "../../../services/operations/Html.ts"
import { RequestNotes } from "../../../services/operations/RequestNotes.ts"
import { configuredSite, type Site } from "../../../services/texts/Site.ts"
import { ResponseWithin } from "../../api/Requests.ts"
import { Authenticator } from "../../auth/Authenticator.ts"
import { CrossSite } from "../../middleware/CrossSite.ts"
import { within } from "../../middleware/Deadline.ts"
import { serviceErrorOf, undoubted } from "../../middleware/ErrorShape.ts"
import { type Endpoint, Limiter } from "../../middleware/RateLimit.ts"
import { decodeUtf8, RequestBodies } from "../../request/RequestBodies.ts"
import { isFault } from "../../response/ErrorResponse.ts"
import { readAsset } from "./Assets.ts"
import { alert, type Page, pageResponse, plainWords, type Reader, readerOf, rootFrom } from "./Layout.ts"

export type Fields = Readonly<Record<string, string | undefined>>

export type PageResult = Page | { readonly seeOther: string }

export interface PageRoute<E, R, E2, R2> {
  readonly path: HttpRouter.PathInput
  readonly show: (query: URLSearchParams) => Effect.Effect<PageResult, E, R>
  readonly submit?: {
    readonly run: (
      fields: Fields,
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<PageResult, E2, R2>
    readonly refused: (error: ServiceError, fields: Fields) => Page
  } | undefined
}

/** A token and the longest password fit with 12 bytes for each character. */
const FORM_LIMIT_BYTES = 32 * 1024

const checkType = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  mediaTypeOf(headers["content-type"]) === MEDIA_TYPES.form
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: `Send the form as ${MEDIA_TYPES.form}` }))

export const queryOf = ({ url }: HttpServerRequest.HttpServerRequest) => new URL(url, "http://localhost").searchParams

export const makeReader = Effect.map(
  Authenticator,
  (authenticator) => (endpoint: Endpoint) =>
    Effect.map(Effect.orElseSucceed(authenticator.readOptional(endpoint), () => Option.none()), readerOf)
)

const VISITOR = Effect.succeed<Reader>("visitor")

/** The page of an error of the service has the id by which an operator finds the request. */
export const failureAt = <R = never>(
  site: Site,
  path: string,
  reader?: Effect.Effect<Reader, never, R>,
  common: Partial<Page> = {}
) =>
  Effect.fnUntraced(function*(error: ServiceError) {
    const { id } = yield* RequestNotes
    const { errors } = site.texts
    return pageResponse(site, path, {
      ...common,
      title: errors.title,
      // A service that refuses work does not look up its reader.
      reader: yield* isFault(error) || error.statusCode === 429 ? VISITOR : reader ?? VISITOR,
      body: html`${alert(plainWords(site.texts, error))}${
        isFault(error) ? html`<p class="hint">${errors.requestId(id)}</p>` : undefined
      }`,
      error
    })
  })

/** The script sends a form once, adds buttons that copy, and asks for a sign-in before files are sent in vain. */
export const FORM_SCRIPT = readAsset(import.meta.dirname, "forms", "js")

const withScript = (path: string, page: Page): Page => ({
  ...page,
  head: html`<script type="module" src="${rootFrom(path)}${FORM_SCRIPT.path.slice(1)}"></script>\n${page.head}`,
  policy: { "script-src": "'self'", ...page.policy }
})

export const responseTo = (site: Site, path: string, result: PageResult) =>
  "seeOther" in result
    ? HttpServerResponse.redirect(result.seeOther, { status: 303 })
    : pageResponse(site, path, withScript(path, result))

/** Responds to an error of `work` by `refused`, and leaves an interruption as it is. */
export const orElse = <A, E, R, B, E2, R2>(
  work: Effect.Effect<A, E, R>,
  refused: (error: ServiceError) => Effect.Effect<B, E2, R2>
) =>
  Effect.catchCause(
    work,
    (cause): Effect.Effect<B, E | E2, R2> =>
      Cause.hasInterrupts(cause) ? Effect.failCause(cause) : Effect.flatMap(serviceErrorOf(cause), refused)
  )

const DEADLINE = ResponseWithin.defaultValue()

/**
 * Reads the fields of a form of this site, the last one of each name; refuses forms of other sites. Browsers send CRLF
 * for a line break, which would change a text that a program stored with LF.
 */
export const makeReadFields = Effect.fnUntraced(function*(limitBytes: number) {
  const bodies = yield* RequestBodies
  const crossSite = yield* CrossSite
  return Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
    yield* crossSite.check(request)
    yield* checkType(request)
    const text = yield* decodeUtf8(yield* bodies.read(request, limitBytes))
    const fields: Fields = Object.fromEntries(
      Array.from(new URLSearchParams(text), ([name, value]) => [name, value.replaceAll("\r\n", "\n")])
    )
    return fields
  })
})

/** Serves a path outside of the contract within the deadline. `refused` responds to an error. */
export const pageRoute = <E, R, R2>(
  router: HttpRouter.HttpRouter,
  method: "GET" | "POST",
  path: HttpRouter.PathInput,
  work: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  refused: (error: ServiceError) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, R2>,
  deadline = DEADLINE
) =>
  Effect.flatMap(DatabaseReadOnly, (isReadOnly) =>
    router.add(
      method,
      path,
      Effect.flatMap(isReadOnly, (wasReadOnly) =>
        orElse(within(work, deadline), (error) => Effect.flatMap(undoubted(error, isReadOnly, wasReadOnly), refused)))
    ))

/** Limits GET requests by address and refuses cross-site forms. */
export const pageLayer = <E, R, E2 = never, R2 = never>({ path, show, submit }: PageRoute<E, R, E2, R2>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const limiter = yield* Limiter
    const readFields = yield* makeReadFields(FORM_LIMIT_BYTES)
    const endpoint = HttpApiEndpoint.get("page", path)
    const site = yield* configuredSite
    const failed = failureAt(site, path)

    const shown = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* limiter.countAddress(endpoint)
      return responseTo(site, path, yield* show(queryOf(request)))
    })

    yield* pageRoute(router, "GET", path, shown, failed)
    if (submit === undefined) return

    const submitted = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const fields = yield* readFields(request)
      const result = orElse(submit.run(fields, request), (error) => Effect.succeed(submit.refused(error, fields)))
      return responseTo(site, path, yield* result)
    })
    yield* pageRoute(router, "POST", path, Effect.scoped(submitted), failed)
  }))

/** Fails with `refused`, since schema issues are for programs. */
export const decodeField = <A, I>(schema: Schema.Codec<A, I>, value: string | undefined, refused: () => ServiceError) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(value), refused)
