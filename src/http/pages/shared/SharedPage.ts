import { Effect, Option, Schema } from "effect"
import { HttpPlatform, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { createHash } from "node:crypto"
import type { Visibility } from "../../../schema/Resource.ts"
import { Missing } from "../../../services/DomainErrors.ts"
import type { Viewer } from "../../../services/sharing/Visibility.ts"
import { configuredSite, type Site } from "../../../services/texts/Site.ts"
import { boundedCompression } from "../../../upstream/BoundedCompression.ts"
import { HEADERS } from "../../api/Headers.ts"
import { anyVisitor, makeAdmit } from "../../auth/Admission.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { worded } from "../../response/PublicErrors.ts"
import { isKnown, robotsFor, storableFor } from "../../response/Versioned.ts"
import { type Page, pageResponse, pageText, policyHeaders, readerOf, rootFrom } from "../layout/Layout.ts"
import { failureAt, makeReader, pageRoute, queryOf } from "../layout/PageRoutes.ts"
import { makeReaderUnits, type Units } from "./Units.ts"

interface SharedRequest<Ref> {
  readonly ref: Ref
  readonly query: URLSearchParams
  readonly viewer: Viewer
  readonly units: Units
  /** The path to the root of the service is relative, so that a proxy may add a path prefix. */
  readonly root: string
}

export interface SharedPage extends Page {
  readonly visibility: Visibility
}

const SHARED: Pick<Page, "isWide" | "policy"> = {
  isWide: true,
  policy: { "img-src": "'self' data:", "form-action": "'none'" }
}

const AUDITED = { "connect-src": "'self'" }

/** Decodes the ref of a path. A malformed one has no page, like one that does not exist. */
export const decodeRef = <Ref>(schema: Schema.Codec<Ref, string>, ref: string | undefined) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(ref), () => new Missing({ kind: "page" }))

const tagOf = (text: string) => `W/"${createHash("sha256").update(text).digest("base64url").slice(0, TAG_LENGTH)}"`

const TAG_LENGTH = 22

const respond = (site: Site, path: string, page: SharedPage, request: HttpServerRequest.HttpServerRequest) => {
  const isIndexable = page.visibility === "public" && page.isFramed !== true
  const policy = { ...SHARED.policy, ...(isIndexable ? AUDITED : {}), ...page.policy }
  const shown = { ...SHARED, isIndexable, ...page, policy }
  const text = pageText(site, path, shown)
  const etag = tagOf(text)
  const headers = {
    [HEADERS.etag.key]: etag,
    [HEADERS.vary.key]: "Accept-Language, Accept-Encoding",
    ...robotsFor(isIndexable ? "public" : "unlisted"),
    ...storableFor(request, page.visibility)
  }
  // A browser takes the policies of a 304 for the page that it has (RFC 9111, 3.2), so they are those of the page.
  return isKnown(request.headers[HEADERS.ifNoneMatch.key], etag)
    ? HttpServerResponse.empty({ status: 304, headers: { ...policyHeaders(site, shown), ...headers } })
    : HttpServerResponse.setHeaders(pageResponse(site, path, shown, text), headers)
}

/** Shows what its viewer may see: the user of the request, if there is one. */
export const sharedPageLayer = <Ref, E, R>(
  path: typeof SHARED_PAGES[keyof typeof SHARED_PAGES],
  schema: Schema.Codec<Ref, string>,
  show: (request: SharedRequest<Ref>) => Effect.Effect<SharedPage, E, R>,
  common: Partial<Page> = {}
) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const admit = (yield* makeAdmit)(anyVisitor)
    const readerUnits = yield* makeReaderUnits
    const endpoint = HttpApiEndpoint.get("page", path)
    const parameter = path.slice(path.indexOf(":") + 1)
    const platform = yield* HttpPlatform.HttpPlatform
    const site = yield* configuredSite

    const shown = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const principal = yield* admit(endpoint)
      const viewer = Option.map(principal, ({ userId }) => userId)
      const ref = yield* worded(decodeRef(schema, (yield* HttpRouter.params)[parameter]))
      const query = queryOf(request)
      const units = yield* readerUnits(query, request, principal)
      const page = yield* worded(show({ ref, query, units, viewer, root: rootFrom(path) }))
      return respond(site, path, { reader: readerOf(principal), ...common, ...page }, request)
    })

    // A shared page repeats nothing of its request, so that lengths reveal no secret (BREACH).
    const compressed = boundedCompression(shown).pipe(Effect.provideService(HttpPlatform.HttpPlatform, platform))

    yield* pageRoute(router, "GET", path, compressed, failureAt(site, path, (yield* makeReader)(endpoint), common))
  }))
