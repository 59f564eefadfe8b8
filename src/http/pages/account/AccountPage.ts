import { type Duration, Effect, Exit, Option, type Schema, type Scope, Struct } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { NotFound, type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../../schema/MediaTypes.ts"
import type { SessionPrincipal } from "../../../schema/Principal.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
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
  makeReader,
  makeReadFields,
  orElse,
  type PageResult,
  pageRoute,
  queryOf,
  responseTo
} from "../layout/PageRoutes.ts"
import { makeReaderUnits, type Units } from "../shared/Units.ts"
import { ACTION, checkAccount, decodeForm, hidden, MADE_FOR, notice } from "./Forms.ts"
import { keptForms } from "./KeptForm.ts"

export interface Visit {
  readonly session: SessionPrincipal
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: URLSearchParams
  /** The fields are those of a form that was refused, else empty. */
  readonly fields: Fields
  /** The error of that form. */
  readonly refusal?: ServiceError
  readonly root: string
  readonly texts: Texts
  readonly units: Result<Units>
}

type Services = HttpServerRequest.HttpServerRequest | Scope.Scope

/** Errors are worded where they are shown. */
type Result<A> = Effect.Effect<A, unknown, Services>

interface Action {
  readonly endpoint: Endpoint
  readonly run: (visit: Visit) => Result<PageResult>
}

/** An action is admitted and counted as the endpoint that does the same. `seeOther` is relative to the root. */
export const action = (
  endpoint: Endpoint,
  run: (visit: Visit) => Effect.fn.Return<PageResult, unknown, Services>
): Action => ({ endpoint, run: Effect.fnUntraced(run) })

interface AccountPage {
  readonly path: typeof ACCOUNT_PAGES[keyof typeof ACCOUNT_PAGES]
  readonly isForAdmins?: boolean
  readonly show: (visit: Visit) => Result<Page>
  readonly actions?: Readonly<Record<string, Action>>
  /** A form with files is read while it arrives. */
  readonly receive?: {
    readonly endpoint: Endpoint
    readonly deadline?: Duration.Duration
    readonly run: (visit: Visit, request: HttpServerRequest.HttpServerRequest) => Result<PageResult>
  }
}

export const done = (path: string, word: keyof Texts["done"], fragment = ""): PageResult => ({
  seeOther: `${path.slice(1)}?done=${word}${fragment}`
})

type Section = Exclude<keyof Texts["sections"], "label" | "signOut">

const ACCOUNT: ReadonlyArray<Section> = ["profile", "zones", "tokens", "sessions", "password", "data", "deletion"]

const ADMINISTRATION: ReadonlyArray<Section> = ["overview", "users", "invitations", "audit"]

const ROUTES: ReadonlyArray<Section> = ["routes", "collections", "trash"]

const groupOf = (path: string) =>
  [ACCOUNT, ADMINISTRATION].find((group) => group.some((section) => ACCOUNT_PAGES[section] === path)) ?? ROUTES

/** The page of a list's item belongs to the section of the list. */
const currentOf = (path: string, section: string) => {
  if (path === section) return html` aria-current="page"`
  return path === `${section}/:id` ? html` aria-current="true"` : undefined
}

const sections = (path: string, { root, texts }: Visit) => {
  const words = texts.sections
  const group = groupOf(path)
  return html`<nav class="sections" aria-label="${words.label}"><ul>${
    group.map((section) =>
      html`<li><a href="${root}${ACCOUNT_PAGES[section].slice(1)}"${currentOf(path, ACCOUNT_PAGES[section])}>${
        words[section]
      }</a></li>`
    )
  }${
    group === ACCOUNT
      ? html`<li><form method="post" action="${root}${
        ACCOUNT_PAGES.signOut.slice(1)
      }"><button class="quiet">${words.signOut}</button></form></li>`
      : undefined
  }</ul></nav>
`
}

export const doneNotice = ({ query, texts }: Pick<Visit, "query" | "texts">) => {
  const word = Struct.keys(texts.done).find((word) => word === query.get("done"))
  return notice(word === undefined ? undefined : texts.done[word])
}

const FORM = /<form method="post"[^>]*>/g

/** The browser may be signed in to another account once a form is sent. */
const madeFor = ({ userId }: SessionPrincipal, body: Html): Html => ({
  html: body.html.replace(FORM, (start) => `${start}${hidden(MADE_FOR, userId).html}`)
})

/** Robots have no session and get the sign-in. An audit for search engines sees the page. */
const framed = (page: Page, path: string, visit: Visit, error = page.error): Page => ({
  isWide: true,
  isIndexable: true,
  ...page,
  reader: visit.session.role,
  head: html`<meta name="description" content="${visit.texts.signUp.lead}">${page.head}`,
  policy: { "img-src": "'self' data:", "connect-src": "'self'", ...page.policy },
  error,
  body: madeFor(
    visit.session,
    html`${sections(path, visit)}${alert(error && (page.problem ?? plainWords(visit.texts, error)))}${page.body}`
  )
})

/** The longest description fits with 12 bytes for each character, also within the form of a sign-in. */
const FORM_LIMIT_BYTES = 256 * 1024

const isWithoutSession = ({ statusCode }: ServiceError) => statusCode === 401

const unknownAction = ({ common }: Texts) => ValidationFailed.at("body", ACTION, common.unknownAction)

/** Decodes an id of the path. A malformed id has no page, like one that does not exist. */
export const idOf = <A>(schema: Schema.Codec<A, string>, id: string | undefined) =>
  Effect.mapError(decodeForm(schema, id), () => new NotFound({ message: "No such page" }))

const isMultipart = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  mediaTypeOf(headers["content-type"]) === MEDIA_TYPES.multipart

/** Serves a page that needs a session. Without one it leads to the sign-in. */
export const accountPageLayer = ({ actions = {}, isForAdmins = false, path, receive, show }: AccountPage) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const crossSite = yield* CrossSite
    const readFields = yield* makeReadFields(FORM_LIMIT_BYTES)
    const admit = (yield* makeAdmit)(isForAdmins ? adminSession : anySession)
    const page = HttpApiEndpoint.get("page", path).annotate(OpenWhilePending, true)
    const root = rootFrom(path)
    const site = yield* configuredSite
    const { texts } = site
    const kept = yield* keptForms
    const failed = failureAt(site, path, (yield* makeReader)(page))
    const readerUnits = yield* makeReaderUnits

    const visitFor = Effect.fnUntraced(function*(endpoint: Endpoint) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const session = yield* admit(endpoint)
      const query = queryOf(request)
      const units = readerUnits(query, request, Option.some(session))
      return { session, params: yield* HttpRouter.params, query, fields: {}, root, texts, units }
    })

    const toSignIn = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
      const { pathname, search } = new URL(url, "http://localhost")
      const to = pathname.slice(1) + search
      return responseTo(site, path, {
        seeOther: `${root}${ACCOUNT_PAGES.signIn.slice(1)}?to=${encodeURIComponent(to)}`
      })
    })

    const refused = (error: ServiceError) => isWithoutSession(error) ? toSignIn : failed(error)

    const respond = (result: PageResult, visit: Visit, error?: ServiceError) =>
      responseTo(
        site,
        path,
        "seeOther" in result
          ? { seeOther: `${root}${result.seeOther}` }
          : framed(result, path, visit, error)
      )

    const shown = Effect.gen(function*() {
      const visit = yield* visitFor(page)
      if (visit.session.deletion !== "none") return respond({ seeOther: PAGES.cancelDeletion.slice(1) }, visit)
      const result = yield* show(visit)
      // A form is sent to the address of its page, whose notice is about the form before.
      return respond({ ...result, body: html`${doneNotice(visit)}${result.body}` }, visit)
    })

    const act = (visit: Visit, work: Result<PageResult>) =>
      orElse(
        Effect.map(work, (result) => respond(result, visit)),
        (error) =>
          orElse(
            Effect.map(show({ ...visit, refusal: error }), (page) => respond(page, visit, error)),
            () => failed(error)
          )
      )

    const admitted = Effect.fnUntraced(function*(
      endpoint: Endpoint,
      late: (error: ServiceError) => Page,
      run: (visit: Visit) => ReturnType<typeof act>
    ) {
      const visiting = yield* Effect.exit(visitFor(endpoint))
      if (Exit.isSuccess(visiting)) return yield* run(visiting.value)
      const error = yield* serviceErrorOf(visiting.cause)
      return isWithoutSession(error) ? responseTo(site, path, late(error)) : yield* Effect.failCause(visiting.cause)
    })

    const submitted = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (receive !== undefined && isMultipart(request)) {
        yield* crossSite.check(request)
        return yield* admitted(
          receive.endpoint,
          (error) => kept.lateFiles(path, root, error),
          (visit) => act(visit, receive.run(visit, request))
        )
      }
      return yield* Effect.scoped(acted(request))
    })

    const acted = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const fields = yield* readFields(request)
      const brought = kept.keptOf(fields)
      if (Option.isSome(brought)) {
        const entered = orElse(
          kept.signIn(brought.value, fields, request, root),
          (error) => Effect.succeed(kept.refused(brought.value, fields["email"], error))
        )
        return responseTo(site, path, yield* entered)
      }
      const action = Object.hasOwn(actions, fields[ACTION] ?? "") ? actions[fields[ACTION] ?? ""] : undefined
      if (action === undefined) {
        yield* visitFor(page)
        return yield* unknownAction(texts)
      }
      return yield* admitted(action.endpoint, (error) => kept.late(fields, path, root, error), (admittedVisit) => {
        const visit = { ...admittedVisit, fields }
        return act(visit, Effect.andThen(checkAccount(visit.session, fields[MADE_FOR]), action.run(visit)))
      })
    })

    yield* pageRoute(router, "GET", path, Effect.scoped(shown), refused)
    // The files of a form may be needed until its response is sent.
    yield* pageRoute(router, "POST", path, submitted, refused, receive?.deadline)
  }))
