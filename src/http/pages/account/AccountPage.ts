import { Cause, type Duration, Effect, Exit, type Schema, type Scope } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { NotFound, type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../../schema/MediaTypes.ts"
import type { SessionPrincipal } from "../../../schema/Principal.ts"
import { html } from "../../../services/operations/Html.ts"
import { OpenWhilePending } from "../../api/Access.ts"
import { adminSession, anySession, makeAdmit } from "../../auth/Admission.ts"
import { CrossSite } from "../../middleware/CrossSite.ts"
import { serviceErrorOf } from "../../middleware/ErrorShape.ts"
import type { Endpoint } from "../../middleware/RateLimit.ts"
import { ACCOUNT_PAGES, PAGES } from "../../request/RouteTemplates.ts"
import { alert, type Page, plainWords, rootFrom } from "../layout/Layout.ts"
import {
  failureAt,
  type Fields,
  makeReadFields,
  type PageResult,
  pageRoute,
  queryOf,
  responseTo
} from "../layout/PageRoutes.ts"
import { ACTION, decodeForm, notice } from "./Forms.ts"

/** A request for a page of an account, with the session that it came with. */
export interface Visit {
  readonly session: SessionPrincipal
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: URLSearchParams
  /** What a form sent that was refused, else nothing. */
  readonly fields: Fields
  /** The relative path to the root of the service. */
  readonly root: string
}

type Services = HttpServerRequest.HttpServerRequest | Scope.Scope

/** Errors are worded where they are shown. */
type Result<A> = Effect.Effect<A, unknown, Services>

/** Counts as the endpoint of the API that does the same, and is admitted as it is. `seeOther` is relative to the root. */
export interface Action {
  readonly endpoint: Endpoint
  readonly run: (visit: Visit) => Result<PageResult>
}

export interface AccountPage {
  readonly path: typeof ACCOUNT_PAGES[keyof typeof ACCOUNT_PAGES]
  readonly isForAdmins?: boolean
  readonly show: (visit: Visit) => Result<Page>
  readonly actions?: Readonly<Record<string, Action>>
  /** Takes a form with files. */
  readonly receive?: {
    readonly endpoint: Endpoint
    readonly deadline?: Duration.Duration
    readonly run: (visit: Visit, request: HttpServerRequest.HttpServerRequest) => Result<PageResult>
  }
}

/** What a page says after an action, by `?done=` of its address. */
const DONE: Readonly<Record<string, string>> = {
  welcome: "Welcome! Your account is ready, and you are signed in.",
  saved: "Saved.",
  published: "Published: anyone can find and open it now.",
  made: "Done. It is in the list.",
  deleted: "Moved to the trash, from which it can be restored.",
  restored: "Restored.",
  erased: "Erased for good.",
  revoked: "Revoked. It no longer works.",
  replaced: "There is a new link. The one before opens nothing any more.",
  requested: "The account is hidden, and will be erased.",
  invited: "Invited. The mail is on its way.",
  withdrawn: "Withdrawn. The link that was mailed no longer works."
}

export const done = (path: string, word: string): PageResult => ({ seeOther: `${path.slice(1)}?done=${word}` })

const SECTIONS = [
  [ACCOUNT_PAGES.profile, "Profile"],
  [ACCOUNT_PAGES.zones, "Privacy zones"],
  [ACCOUNT_PAGES.tokens, "Tokens"],
  [ACCOUNT_PAGES.sessions, "Sessions"],
  [ACCOUNT_PAGES.password, "Password"],
  [ACCOUNT_PAGES.data, "Export and import"],
  [ACCOUNT_PAGES.deletion, "Delete account"]
] as const

const ADMIN_SECTIONS = [
  [ACCOUNT_PAGES.overview, "Overview"],
  [ACCOUNT_PAGES.users, "Users"],
  [ACCOUNT_PAGES.invitations, "Invitations"],
  [ACCOUNT_PAGES.audit, "Audit"]
] as const

const ROUTE_SECTIONS = [
  [ACCOUNT_PAGES.routes, "My routes"],
  [ACCOUNT_PAGES.collections, "Collections"],
  [ACCOUNT_PAGES.trash, "Trash"]
] as const

const groupOf = (path: string) =>
  [SECTIONS, ADMIN_SECTIONS].find((group) => group.some(([section]) => section === path)) ?? ROUTE_SECTIONS

const sections = (path: string, root: string) => {
  const group = groupOf(path)
  return html`<nav class="sections" aria-label="Section"><ul>${
    group.map(([section, text]) =>
      html`<li><a href="${root}${section.slice(1)}"${
        path === section ? html` aria-current="page"` : undefined
      }>${text}</a></li>`
    )
  }</ul>${
    group === SECTIONS
      ? html`<form method="post" action="${root}${
        ACCOUNT_PAGES.signOut.slice(1)
      }"><button class="quiet">Sign out</button></form>`
      : undefined
  }</nav>
`
}

const doneWords = (done: string) => Object.hasOwn(DONE, done) ? DONE[done] : undefined

const framed = (page: Page, path: string, { query, root, session }: Visit, error: ServiceError | undefined): Page => ({
  isWide: true,
  ...page,
  reader: session.role,
  policy: { "img-src": "'self' data:", ...page.policy },
  error: error ?? page.error,
  body: html`${sections(path, root)}${
    error === undefined ? notice(doneWords(query.get("done") ?? "")) : alert(plainWords(error))
  }${page.body}`
})

const isWithoutSession = ({ statusCode }: ServiceError) => statusCode === 401

const unknownAction = () => ValidationFailed.at("body", ACTION, "Expected an action of this page")

/** Decodes an id of the path. A malformed one is as unknown as any other. */
export const idOf = <A>(schema: Schema.Codec<A, string>, id: string | undefined) =>
  Effect.mapError(decodeForm(schema, id), () => new NotFound({ message: "No such page" }))

const isMultipart = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  mediaTypeOf(headers["content-type"]) === MEDIA_TYPES.multipart

/** A page that needs a session, and leads to the sign-in without one. */
export const accountPageLayer = ({ actions = {}, isForAdmins = false, path, receive, show }: AccountPage) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const crossSite = yield* CrossSite
    const readFields = yield* makeReadFields
    const admit = (yield* makeAdmit)(isForAdmins ? adminSession : anySession)
    const page = HttpApiEndpoint.get("page", path).annotate(OpenWhilePending, true)
    const root = rootFrom(path)
    const failed = failureAt(path)

    const visitFor = Effect.fnUntraced(function*(endpoint: Endpoint) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const session = yield* admit(endpoint)
      const visit: Visit = { session, params: yield* HttpRouter.params, query: queryOf(request), fields: {}, root }
      return visit
    })

    const toSignIn = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
      const to = new URL(url, "http://localhost").pathname.slice(1)
      return responseTo(path, { seeOther: `${root}${ACCOUNT_PAGES.signIn.slice(1)}?to=${encodeURIComponent(to)}` })
    })

    const refused = (error: ServiceError) => isWithoutSession(error) ? toSignIn : failed(error)

    const respond = (result: PageResult, visit: Visit, error?: ServiceError) =>
      responseTo(
        path,
        "seeOther" in result
          ? { seeOther: `${root}${result.seeOther}` }
          : framed(result, path, visit, error)
      )

    const shown = Effect.gen(function*() {
      const visit = yield* visitFor(page)
      if (visit.session.deletion !== "none") return respond({ seeOther: PAGES.cancelDeletion.slice(1) }, visit)
      return respond(yield* show(visit), visit)
    })

    const act = Effect.fnUntraced(function*(visit: Visit, work: Result<PageResult>) {
      const result = yield* Effect.exit(work)
      if (Exit.isSuccess(result)) return respond(result.value, visit)
      if (Cause.hasInterrupts(result.cause)) return yield* Effect.failCause(result.cause)
      const error = yield* serviceErrorOf(result.cause)
      return respond(yield* show(visit), visit, error)
    })

    const submitted = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (receive !== undefined && isMultipart(request)) {
        yield* crossSite.check(request)
        const visit = yield* visitFor(receive.endpoint)
        return yield* act(visit, receive.run(visit, request))
      }
      const fields = yield* readFields(request)
      const action = Object.hasOwn(actions, fields[ACTION] ?? "") ? actions[fields[ACTION] ?? ""] : undefined
      if (action === undefined) {
        yield* visitFor(page)
        return yield* unknownAction()
      }
      const visit = { ...yield* visitFor(action.endpoint), fields }
      return yield* act(visit, action.run(visit))
    })

    yield* pageRoute(router, "GET", path, Effect.scoped(shown), refused)
    yield* pageRoute(router, "POST", path, Effect.scoped(submitted), refused, receive?.deadline)
  }))
