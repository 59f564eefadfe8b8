import { Context, Effect, Layer, Record, Stream } from "effect"
import { HttpServerRequest, Multipart } from "effect/http"
import type { ImportReport } from "../../../schema/Archive.ts"
import { ValidationFailed } from "../../../schema/Errors.ts"
import type { RouteId } from "../../../schema/Ids.ts"
import { type ZipImportLine, ZipImportQuery } from "../../../schema/ZipImport.ts"
import { ZipImports } from "../../../services/archive/ZipImport.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { BodyLimit, ResponseWithin } from "../../api/Requests.ts"
import { makeReadmit } from "../../auth/Admission.ts"
import { withoutFailure } from "../../middleware/ZipImportLines.ts"
import { bodyStream } from "../../request/RequestBodies.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { LINES, type Page, plainWords } from "../layout/Layout.ts"
import { orElse } from "../layout/PageRoutes.ts"
import { accountPageLayer, type Visit } from "./AccountPage.ts"
import { checkAccount, decodeForm, fieldsOf, filesForm, MADE_FOR, orNull } from "./Forms.ts"
import { isMissed } from "./RoutesPage.ts"

const noArchive = ({ data }: Texts) => ValidationFailed.at("body", "", data.noArchive)

const { export: exported, import: imported } = Api.groups.accountData.endpoints

const CHOICES = new Set(["visibility", "tags", "collection", MADE_FOR])

/** Returns the bytes of the first file of a form, while they arrive, and the fields before it. */
const formOf = (request: HttpServerRequest.HttpServerRequest, { session, texts }: Visit) => {
  const fields = new Map<string, string>()
  const upload = bodyStream(request, Context.get(imported.annotations, BodyLimit)).pipe(
    Stream.pipeThroughChannel(Multipart.makeChannel(request.headers)),
    Stream.tap((part) =>
      Multipart.isField(part)
        ? Effect.sync(() => CHOICES.has(part.key) && fields.set(part.key, part.value))
        : checkAccount(session, fields.get(MADE_FOR))
    ),
    Stream.filter(Multipart.isFile),
    Stream.take(1),
    Stream.flatMap(({ content }) => content),
    Stream.catchTag("MultipartError", () => Stream.fail(noArchive(texts)))
  )
  const choice = Effect.suspend(() => {
    const tags = (fields.get("tags") ?? "").split(",").filter((tag) => tag.trim() !== "")
    const given = {
      visibility: orNull(fields.get("visibility")),
      tags: tags.length === 0 ? null : tags,
      collection: orNull(fields.get("collection"))
    }
    return decodeForm(ZipImportQuery, Record.filter<string, unknown>(given, (value) => value !== null))
  })
  return { upload, choice, fields }
}

const counted = ({ data }: Texts, name: string, outcome: ImportReport["collections"], duplicates = 0) =>
  html`<div><dt>${name}</dt><dd>${
    data.report(outcome.created, outcome.restored, outcome.unchanged, duplicates)
  }</dd></div>\n`

const reportPage = (texts: Texts, { collections, routes }: ImportReport): Page => ({
  title: texts.data.importedTitle,
  body: html`<p class="notice" role="status">${texts.data.imported}</p>
<dl>${counted(texts, texts.data.routes, routes, routes.duplicates)}${
    counted(texts, texts.data.collections, collections)
  }</dl>`
})

const links = (routeIds: ReadonlyArray<RouteId>, root: string) =>
  routeIds.map((id) => html` <a href="${root}${ACCOUNT_PAGES.routes.slice(1)}/${id}">${id}</a>`)

const row = (kind: "hint" | "problem", file: string, ...words: ReadonlyArray<Html>) =>
  html`<li><div><strong>${file}</strong>\n<p class="${kind}">${words}</p></div></li>\n`

const lineItem = (texts: Texts, line: ZipImportLine, root: string): Html => {
  const { data, errors, routes } = texts
  switch (line.outcome) {
    case "begun":
      return html`<li>${data.begun(line.files)}</li>\n`
    case "imported":
      return row(
        "hint",
        line.file,
        html`${data.fileImported}${links(line.routeIds, root)}`,
        ...(line.warnings ?? []).filter(isMissed).map((warning) => html`<br>${routes.warning(warning)}`)
      )
    case "duplicate":
      return row("hint", line.file, html`${data.fileDuplicate}${links(line.duplicateOf, root)}`)
    case "skipped":
      return row("problem", line.file, html`${data.fileSkipped(errors.issue(line.reason))}`)
    case "ended":
      return html`<li class="notice"><span role="status">${
        data.ended(line.imported, line.duplicates, line.skipped, line.notCollected ?? 0)
      }</span></li>\n`
    case "stopped":
      return html`<li class="error"><span role="alert">${data.stopped(plainWords(texts, line))}</span></li>\n`
  }
}

const linesPage = (texts: Texts, lines: Stream.Stream<ZipImportLine>, root: string): Page => ({
  title: texts.data.linesTitle,
  body: html`<p>${texts.data.linesWords}</p>
<ul class="rows">${LINES}</ul>`,
  lines: Stream.map(lines, (line) => lineItem(texts, line, root))
})

const dataPage = ({ fields, refusal, root, texts }: Visit): Page => {
  const { data, signIn, visibilities } = texts
  const { file, input, select } = fieldsOf(texts, { visibility: "private", ...fields }, refusal, "archive")
  return {
    title: data.title,
    error: refusal,
    body: html`<h2>${data.export}</h2>
<p>${data.exportWords}</p>
<p data-late="${signIn.lateHere}"><a class="button" href="${root}${
      exported.path.slice(1)
    }" download>${data.exportButton}</a></p>
<h2>${data.import}</h2>
<p>${data.importWords}</p>
${
      filesForm(
        signIn.lateHere,
        select("visibility", Object.entries(visibilities), { label: data.visibility }),
        input("tags", { label: data.tags, hint: data.tagsHint }),
        input("collection", { label: data.collection, hint: data.collectionHint }),
        file({ name: "archive", label: data.archive, required: true }, html`accept=".zip,application/zip"`),
        html`<button type="submit">${data.importButton}</button>`
      )
    }`
  }
}

export const dataPageLayer = Layer.unwrap(Effect.gen(function*() {
  const imports = yield* ZipImports
  const readmit = yield* makeReadmit
  return accountPageLayer({
    path: ACCOUNT_PAGES.data,
    show: (visit) => Effect.succeed(dataPage(visit)),
    receive: {
      endpoint: imported,
      deadline: Context.get(imported.annotations, ResponseWithin),
      run: (visit, request) => {
        const { root, session, texts } = visit
        const { choice, fields, upload } = formOf(request, visit)
        const recheck = Effect.provideService(readmit(session, imported), HttpServerRequest.HttpServerRequest, request)
        return orElse(
          Effect.map(
            imports.take(session.userId, upload, choice, { isSession: true, recheck }),
            (taken) =>
              "report" in taken ? reportPage(texts, taken.report) : linesPage(texts, withoutFailure(taken.lines), root)
          ),
          (refusal) => Effect.succeed(dataPage({ ...visit, fields: Object.fromEntries(fields), refusal }))
        )
      }
    }
  })
}))
