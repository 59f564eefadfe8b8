import { Array as Arr, Context, Duration, Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import type { UserId } from "../../../schema/Ids.ts"
import { FILE_FORMATS, type ImportWarning } from "../../../schema/Import.ts"
import type { PageOf } from "../../../schema/Page.ts"
import { Visibility } from "../../../schema/Resource.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { OwnRoutesQuery, type TagCount } from "../../../schema/RouteSearch.ts"
import { Profiles } from "../../../services/accounts/Profile.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { UNUSED } from "../../../services/files/Draft.ts"
import type { PackedFile } from "../../../services/files/PackedFile.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { warningsOf } from "../../../services/routes/FileJobs.ts"
import { RouteDuplicates } from "../../../services/routes/RouteDuplicates.ts"
import { RouteFiles } from "../../../services/routes/RouteFiles.ts"
import { OwnRoutes } from "../../../services/routes/RouteLists.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { BodyLimit } from "../../api/Requests.ts"
import { serviceErrorOf } from "../../middleware/ErrorShape.ts"
import { RequestBodies } from "../../request/RequestBodies.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { type Page, plainWords } from "../layout/Layout.ts"
import { cardPage, formatName, pagesAround, picture, summaryOf } from "../shared/RouteParts.ts"
import type { Units } from "../shared/Units.ts"
import { accountPageLayer, done, type Visit } from "./AccountPage.ts"
import {
  checkAccount,
  decodeForm,
  fieldsOf,
  filesForm,
  filterForm,
  filtersIn,
  MADE_FOR,
  searched,
  select
} from "./Forms.ts"

const ROUTES = ACCOUNT_PAGES.routes.slice(1)

const FILTERS = ["q", "tag", "activity", "visibility", "favourite", "sort"]

type Filters = ReturnType<typeof filtersIn>

const filtersOf = (
  texts: Texts,
  filters: Filters,
  tags: ReadonlyArray<TagCount>,
  root: string,
  error: ServiceError | undefined
) => {
  const { activities, routes, visibility } = texts
  const { input, select } = fieldsOf(texts, filters, error)
  const any = ["", routes.any] as const
  return filterForm(
    texts,
    `${root}${ROUTES}`,
    routes.title,
    input("q", { type: "search" }),
    select("activity", [any, ...Object.entries(activities)]),
    select("visibility", [any, ...Object.entries(visibility)]),
    select("favourite", [any, ["true", routes.onlyFavourites]]),
    tags.length === 0
      ? html``
      : select("tag", [any, ...tags.map(({ count, tag }) => [tag, `${tag} (${count})`] as const)]),
    select("sort", Object.entries(routes.sorts))
  )
}

const SHOTS = { wide: { width: 360, height: 225 }, isLazy: true }

/** A card stays as high as those beside it. */
const FEW_TAGS = 4

/** Private routes have pictures for their owner by id. */
const card = (texts: Texts, units: Units, route: StoredRoute, root: string) =>
  html`<li>${picture(String(route.id), SHOTS, "", root)}
<h2><a href="${root}${ROUTES}/${route.id}">${route.name}</a></h2>
<p class="hint">${summaryOf(route, texts, units)}</p>
<ul class="tags" aria-label="${texts.routes.marksOf(route.name)}"><li class="${route.visibility}">${
    texts.visibility[route.visibility]
  }</li>${route.favourite ? html`<li>${texts.routes.favourite}</li>` : undefined}${
    route.tags.slice(0, FEW_TAGS).map((tag) => html`<li>${tag}</li>`)
  }${route.tags.length > FEW_TAGS ? html`<li>+${route.tags.length - FEW_TAGS}</li>` : undefined}</ul></li>
`

interface FileResult {
  readonly name: string
  readonly routes: ReadonlyArray<StoredRoute>
  readonly warnings: ReadonlyArray<ImportWarning>
  readonly problem?: string
}

/** Nobody misses what no route has, such as the measures of a sensor. */
export const isMissed = ({ message }: ImportWarning): boolean => !message.endsWith(UNUSED)

const resultItem = ({ routes: words }: Texts, { name, problem, routes, warnings }: FileResult, root: string) =>
  html`<li><div><strong>${name}</strong>
<p class="${problem === undefined ? "hint" : "problem"}">${problem}${
    routes.map((route) => html`<a href="${root}${ROUTES}/${route.id}">${route.name}</a> `)
  }</p>${warnings.map((warning) => html`<p class="hint">${words.warning(warning)}</p>`)}</div></li>\n`

const resultsOf = (texts: Texts, results: ReadonlyArray<FileResult>, root: string) =>
  html`<section class="notice" role="status" aria-label="${texts.routes.uploaded}"><ul class="rows">${
    results.map((result) => resultItem(texts, result, root))
  }</ul></section>\n`

const FORMATS = FILE_FORMATS.map(formatName).join(", ")

const uploadForm = (texts: Texts, visibility: string | undefined, refusal: ServiceError | undefined) => {
  const { routes, signIn, visibilities } = texts
  return html`<details class="upload"${
    refusal === undefined ? undefined : html` open`
  }><summary>${routes.upload}</summary>\n${
    filesForm(
      signIn.lateHere,
      fieldsOf(texts, {}, refusal, "files").file(
        { name: "files", label: routes.files, hint: routes.filesHint(FORMATS), required: true },
        html`multiple`
      ),
      select(
        { id: "seen-by", name: "visibility", label: routes.seenBy, value: visibility ?? "private" },
        Object.entries(visibilities)
      ),
      html`<button type="submit">${routes.uploadButton}</button>`
    )
  }</details>\n`
}

const listOf = (routes: PageOf<StoredRoute>, { query, root, texts }: Visit, units: Units, filters: Filters): Html => {
  const { limit, offset } = cardPage(query)
  if (routes.total === 0) {
    return html`<p>${Object.keys(filters).length === 0 ? texts.routes.noRoutes : texts.routes.notFound}</p>`
  }
  return html`<ul class="cards">\n${routes.items.map((route) => card(texts, units, route, root))}</ul>
${pagesAround(routes, { filters, limit, offset }, texts)}`
}

/** A form may have several files, each of which may take the time of one that is imported alone. */
const UPLOAD_WITHIN = Duration.minutes(1)

export const routesPageLayer = Layer.unwrap(Effect.gen(function*() {
  const bodies = yield* RequestBodies
  const duplicates = yield* RouteDuplicates
  const files = yield* RouteFiles
  const { imports, lists } = yield* Lanes
  const ownRoutes = yield* OwnRoutes
  const profiles = yield* Profiles
  const endpoint = Api.groups.files.endpoints.import

  const show = Effect.fnUntraced(function*(
    visit: Visit,
    results: ReadonlyArray<FileResult> = [],
    visibility?: Visibility
  ) {
    const { query, refusal, root, session: { userId }, texts } = visit
    const filters = filtersIn(query, FILTERS)
    const { tag, ...others } = filters
    const given = { ...others, ...(tag === undefined ? {} : { tag: [tag] }) }
    const { error, filter } = yield* searched(decodeForm(OwnRoutesQuery, given), {})
    const routes = yield* lists(ownRoutes.list(userId, filter, cardPage(query), "summary"))
    const tags = yield* lists(ownRoutes.tags(userId))
    const { preferences } = yield* profiles.user(userId)
    // A form may be refused before its choice is read, which was perhaps the most careful one.
    const careful = refusal === undefined ? preferences?.defaultRouteVisibility : "private"
    const page: Page = {
      title: texts.routes.title,
      error,
      body: html`${results.length === 0 ? undefined : resultsOf(texts, results, root)}${
        uploadForm(texts, visibility ?? careful, refusal)
      }${filtersOf(texts, filters, tags.slice(0, 50), root, error)}<p class="hint">${
        texts.routes.count(routes.total)
      }</p>
${listOf(routes, visit, yield* visit.units, filters)}`
    }
    return page
  })

  const store = Effect.fnUntraced(function*(owner: UserId, file: PackedFile, visibility: Visibility) {
    const bytes = new Uint8Array(file.bytes).buffer
    const read = yield* files.read(bytes, {
      split: true,
      join: false,
      track: undefined,
      name: undefined,
      contentType: undefined,
      contentEncoding: undefined,
      fileName: file.name
    })
    const drafts = Arr.map(read.routes, ({ line, route }) => ({ ...route, geometry: line, visibility }))
    const routes = yield* imports(duplicates.createUnlessThere(owner, drafts))
    return { routes, warnings: warningsOf(read).filter(isMissed) }
  })

  const resultOf = ({ session, texts }: Visit, file: PackedFile, visibility: Visibility) => {
    const refused = (problem: string): FileResult => ({ name: file.name ?? "", routes: [], warnings: [], problem })
    return store(session.userId, file, visibility).pipe(
      Effect.map((stored): FileResult => ({ name: file.name ?? "", ...stored })),
      Effect.catchTag("UnknownFormat", () => Effect.succeed(refused(texts.routes.unknownFormat(FORMATS)))),
      Effect.catchCause((cause) => Effect.map(serviceErrorOf(cause), (error) => refused(plainWords(texts, error))))
    )
  }

  const receive = Effect.fnUntraced(function*(visit: Visit, request: HttpServerRequest.HttpServerRequest) {
    const bytes = yield* bodies.read(request, Context.get(endpoint.annotations, BodyLimit))
    const parts = yield* files.parts(bytes, request.headers["content-type"] ?? "")
    yield* checkAccount(visit.session, parts.fields[MADE_FOR])
    const visibility = yield* decodeForm(Visibility, parts.fields["visibility"])
    // A browser sends an empty part without a name where no file is chosen.
    const given = parts.files.filter(({ name }) => name !== "")
    if (given.length === 0) return yield* ValidationFailed.at("body", "", visit.texts.routes.noFiles)
    const results = yield* Effect.forEach(given, (file) => resultOf(visit, file, visibility))
    if (results.some(({ problem, warnings }) => problem !== undefined || warnings.length > 0)) {
      return yield* show(visit, results, visibility)
    }
    const [only, ...others] = results.flatMap(({ routes }) => routes)
    return done(
      only === undefined || others.length > 0 ? ACCOUNT_PAGES.routes : `${ACCOUNT_PAGES.routes}/${only.id}`,
      "uploaded"
    )
  })

  return accountPageLayer({
    path: ACCOUNT_PAGES.routes,
    show: (visit) => show(visit),
    receive: { endpoint, deadline: UPLOAD_WITHIN, run: receive }
  })
}))
