import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { createHash } from "node:crypto"
import { Missing } from "../../../schema/DomainErrors.ts"
import type { Visibility } from "../../../schema/Visibility.ts"
import type { Viewer } from "../../../services/visibility/Visibility.ts"
import { HEADERS } from "../../api/Headers.ts"
import { anyVisitor, makeAdmit } from "../../auth/Admission.ts"
import { within } from "../../middleware/Deadline.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { methodsRefusedAt } from "../../response/MethodNotAllowed.ts"
import { worded } from "../../response/PublicErrors.ts"
import { isKnown, storableFor } from "../../response/Versioned.ts"
import { type Page, pageResponse, pageText, policyHeaders, rootFrom } from "../layout/Layout.ts"
import { DEADLINE, failure, orPage, queryOf } from "../layout/PageRoutes.ts"

export interface SharedRequest {
  /** The rest of the path after its first segment. */
  readonly name: string
  readonly query: URLSearchParams
  readonly viewer: Viewer
  /** The relative path to the root of the service, so that a proxy may add a path prefix. */
  readonly root: string
}

export interface SharedPage extends Page {
  readonly visibility: Visibility
}

/** Robots that only send `HEAD` read the header. */
const ROBOTS = { "x-robots-tag": "noindex" }

const SHARED: Pick<Page, "isWide" | "policy"> = {
  isWide: true,
  policy: { "img-src": "'self' data:", "form-action": "'none'" }
}

export const missingPage = Effect.suspend(() => Effect.fail(new Missing({ kind: "page" })))

const tagOf = (text: string) => `W/"${createHash("sha256").update(text).digest("base64url").slice(0, TAG_LENGTH)}"`

const TAG_LENGTH = 22

const isShown = (page: Page | SharedPage): page is SharedPage => "visibility" in page

const respond = (path: string, page: Page | SharedPage, request: HttpServerRequest.HttpServerRequest) => {
  if (!isShown(page)) return pageResponse(path, page)
  const isIndexable = page.visibility === "public" && page.isFramed !== true
  const shown = { ...SHARED, isIndexable, ...page, policy: { ...SHARED.policy, ...page.policy } }
  const text = pageText(path, shown)
  const etag = tagOf(text)
  const headers = {
    [HEADERS.etag.key]: etag,
    ...(isIndexable ? {} : ROBOTS),
    ...storableFor(request, page.visibility)
  }
  // A browser takes the policies of a 304 for the page that it has (RFC 9111, 3.2), so they are those of the page.
  return isKnown(request.headers[HEADERS.ifNoneMatch.key], etag)
    ? HttpServerResponse.empty({ status: 304, headers: { ...policyHeaders(shown), ...headers } })
    : HttpServerResponse.setHeaders(pageResponse(path, shown, text), headers)
}

/** A page that shows what its viewer may see: the user of the session cookie, if there is one. */
export const sharedPageLayer = <E, R>(
  path: typeof SHARED_PAGES[keyof typeof SHARED_PAGES],
  show: (request: SharedRequest) => Effect.Effect<SharedPage, E, R>
) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const admit = (yield* makeAdmit)(anyVisitor)
    const endpoint = HttpApiEndpoint.get("page", path)
    const parameter = path.slice(path.indexOf(":") + 1)

    const shown = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const viewer = Option.map(yield* admit(endpoint), ({ userId }) => userId)
      const name = (yield* HttpRouter.params)[parameter] ?? ""
      return yield* worded(show({ name, query: queryOf(request), viewer, root: rootFrom(path) }))
    })

    yield* router.add(
      "GET",
      path,
      Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        return respond(path, yield* orPage(within(shown, DEADLINE), failure), request)
      })
    )
  })).pipe(Layer.merge(methodsRefusedAt(path)))
