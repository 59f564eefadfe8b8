import { Option, Schema, Stream, Struct } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ServiceError } from "../../../schema/Errors.ts"
import type { ValidationIssue } from "../../../schema/Issues.ts"
import type { Principal } from "../../../schema/Principal.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { logoPath, type Site } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { ACCOUNT_PAGES, ASSETS } from "../../request/RouteTemplates.ts"
import { takenInTime } from "../../response/Downloads.ts"
import { retryAfter } from "../../response/ErrorResponse.ts"
import { type Asset, readAsset } from "./Assets.ts"

export const STYLESHEET = readAsset(import.meta.dirname, "pages", "css")

/** The path of the site's colours has them in place of a hash. */
export const colorSheet = ({ color: { dark, light } }: Site): Asset => ({
  path: `${ASSETS}/color-${light.slice(1)}-${dark.slice(1)}.css`,
  text: `:root { --accent: light-dark(${light}, ${dark}); }\n`,
  contentType: STYLESHEET.contentType
})

export type Reader = "visitor" | "user" | "admin"

/** Personal access tokens have no page of an account. */
export const readerOf = Option.match<Reader, Principal, Reader>({
  onNone: () => "visitor",
  onSome: (principal) => principal.kind === "session" ? principal.role : "visitor"
})

/** The response to a page with an error has the status and the `Retry-After` of the error. */
export interface Page {
  readonly title: string
  readonly body: Html
  readonly error?: ServiceError | undefined
  /** A page of an account shows these words in place of those of its error. */
  readonly problem?: string
  readonly head?: Html | undefined
  readonly isWide?: boolean
  /** A page that is embedded in another site has no header. */
  readonly isFramed?: boolean
  readonly isIndexable?: boolean
  /** The reader decides on the navigation of the page; an unknown reader is a visitor. */
  readonly reader?: Reader | undefined
  /** These parts of the body are made while the page is sent, and stand in place of `LINES`. */
  readonly lines?: Stream.Stream<Html> | undefined
  readonly policy?: Readonly<Record<string, string>>
}

/** `data:` is for the empty icon. */
const POLICY = {
  "default-src": "'none'",
  "style-src": "'self'",
  "img-src": "data:",
  "base-uri": "'none'",
  "form-action": "'self'",
  "frame-ancestors": "'none'"
}

const LINES_MARK = "<!--lines-->"

export const LINES = html`<!--lines-->`

/** A Content-Security-Policy names the source of the logo. */
const logoSource = ({ logo }: Site) => {
  if (logo === undefined) return ""
  return logo.file === undefined ? ` ${new URL(logo.address).origin}` : " 'self'"
}

const policyOf = (site: Site, { policy }: Page) => {
  const directives = { ...POLICY, ...policy }
  return Object.entries({ ...directives, "img-src": `${directives["img-src"]}${logoSource(site)}` })
    .map(([directive, sources]) => `${directive} ${sources}`).join("; ")
}

const classOf = ({ isFramed, isWide }: Page) => [isFramed && "framed", isWide && "wide"].filter(Boolean).join(" ")

const robots = html`<meta name="robots" content="noindex">`

const titleOf = ({ error, title }: Page, { layout }: Texts) => error === undefined ? title : layout.errorTitle(title)

const LINKS = {
  signIn: ACCOUNT_PAGES.signIn,
  routes: ACCOUNT_PAGES.routes,
  collections: ACCOUNT_PAGES.collections,
  account: ACCOUNT_PAGES.profile,
  administration: ACCOUNT_PAGES.overview
} as const

const LINKS_OF: Readonly<Record<Reader, ReadonlyArray<keyof typeof LINKS>>> = {
  visitor: ["signIn"],
  user: ["routes", "collections", "account"],
  admin: ["routes", "collections", "account", "administration"]
}

const logoIn = ({ logo }: Site, root: string) => {
  if (logo === undefined) return undefined
  return logo.file === undefined ? logo.address : `${root}${logoPath(logo.file)}`
}

const navigation = ({ reader = "visitor" }: Page, site: Site, root: string) => {
  const { name, texts: { layout } } = site
  const logo = logoIn(site, root)
  return html`<a class="skip hidden" href="#content">${layout.skip}</a>
<header>
<p><a href="${root}">${logo === undefined ? undefined : html`<img src="${logo}" alt="" height="32"> `}${name}</a></p>
<nav aria-label="${layout.navigation}"><ul>${
    LINKS_OF[reader].map((link) => html`<li><a href="${root}${LINKS[link].slice(1)}">${layout[link]}</a></li>`)
  }</ul></nav>
</header>`
}

export const footer = ({ notice, texts: { layout } }: Site) =>
  notice === undefined ? html`` : html`<footer><p><a href="${notice}">${layout.notice}</a></p></footer>\n`

/** The first field that is refused has the focus: it may be far below what is wrong with it. */
const focused = ({ html: text }: Html): Html => ({
  html: text.replace("aria-invalid=\"true\"", (mark) => `${mark} autofocus`)
})

/** Links are relative so that a proxy may add a path prefix. */
const render = (page: Page, site: Site, root: string) =>
  html`<!doctype html>
<html lang="${site.texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.isIndexable === true ? html`` : robots}
<title>${titleOf(page, site.texts)} - ${site.name}</title>
<link rel="icon" href="${logoIn(site, root) ?? "data:,"}">
<link rel="stylesheet" href="${root}${STYLESHEET.path.slice(1)}">
<link rel="stylesheet" href="${root}${colorSheet(site).path.slice(1)}">
${page.head}
</head>
<body class="${classOf(page)}">
${page.isFramed === true ? html`` : navigation(page, site, root)}
<main id="content" tabindex="-1">
<h1>${page.title}</h1>
${focused(page.body)}
</main>
${page.isFramed === true ? html`` : footer(site)}</body>
</html>
`

export const rootFrom = (path: string) => "../".repeat(path.split("/").length - 2) || "./"

export const pageText = (site: Site, path: string, page: Page): string => render(page, site, rootFrom(path)).html

/**
 * Hides tokens in URLs. With `no-referrer`, forms have `Origin: null` (Fetch, "append a request Origin header"), which
 * over plain HTTP, without `Sec-Fetch-Site`, looks cross-site.
 */
const REFERRER_POLICY = "strict-origin"

export const policyHeaders = (site: Site, page: Page) => ({
  "content-security-policy": policyOf(site, page),
  "referrer-policy": REFERRER_POLICY
})

export const pageResponse = (
  site: Site,
  path: string,
  page: Page,
  text = pageText(site, path, page)
): HttpServerResponse.HttpServerResponse => {
  const options = {
    status: page.error?.statusCode ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: {
      ...policyHeaders(site, page),
      ...retryAfter(page.error?.details)
    }
  }
  if (page.lines === undefined) return HttpServerResponse.text(text, options)
  const [before = "", after = ""] = text.split(LINES_MARK)
  const lines = Stream.map(page.lines, ({ html }) => html)
  const whole = Stream.succeed(before).pipe(Stream.concat(lines), Stream.concat(Stream.succeed(after)))
  return HttpServerResponse.stream(takenInTime(Stream.encodeText(whole)), options)
}

const Details = Schema.Struct({
  issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))),
  limit: Schema.optionalKey(Schema.Int),
  limitBytes: Schema.optionalKey(Schema.Int),
  quota: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String),
  retryAfterSeconds: Schema.optionalKey(Schema.Number)
})

const decodeDetails = Schema.decodeUnknownOption(Details)

const detailsOf = ({ details }: Pick<ServiceError, "details">): typeof Details.Type =>
  Option.getOrElse(decodeDetails(details), () => ({}))

export const issuesIn = (error: ServiceError) => detailsOf(error).issues ?? []

const MAX_SHOWN = 3

/** Words an issue of a field as its form does; the page words others. */
const issueWords = ({ errors, fields }: Texts) => ({ message: given, path }: ValidationIssue) => {
  const message = given.replace(/\.$/, "")
  const names = path.split(".").slice(1)
  const field = names.flatMap((part) => Struct.keys(fields).filter((name) => name === part)).at(-1)
  if (field !== undefined) return errors.field(fields[field], message)
  const parameter = names.at(-1) ?? ""
  const words = errors.issue(message)
  return parameter === "" ? words : `${parameter}: ${words}`
}

/** A schema lists what a field lacks from the general to the special. A list is one field. */
const lastOfEachField = (issues: ReadonlyArray<ValidationIssue>) => [
  ...new Map(issues.map((issue) => [issue.path.replace(/\.\d+$/, ""), issue])).values()
]

interface Failure extends Pick<ServiceError, "details" | "message"> {
  readonly statusCode: number
}

/** Only forms with files have limits of mebibytes. */
const MEBIBYTE = 1024 ** 2

/** Words an error for a person: the message of the API is for programs. */
export const plainWords = (texts: Texts, failure: Failure): string => {
  const { errors } = texts
  const { message, statusCode } = failure
  const { issues = [], limit = 0, limitBytes = 0, quota, reason, retryAfterSeconds } = detailsOf(failure)
  switch (statusCode) {
    case 429:
      return errors.tooOften(errors.again(retryAfterSeconds))
    case 503:
    case 504:
      return errors.busy(errors.again(retryAfterSeconds))
    case 500:
      return errors.fault
  }
  if (limitBytes >= MEBIBYTE) return errors.tooLarge(limitBytes / MEBIBYTE)
  const full = Struct.keys(errors.quotas).find((name) => name === quota)
  if (full !== undefined) return errors.quotas[full](limit)
  const known = Struct.keys(errors.reasons).find((name) => name === reason)
  if (known !== undefined) return errors.reasons[known]
  return issues.length === 0
    ? errors.other(message, statusCode)
    : [...new Set(lastOfEachField(issues).map(issueWords(texts)))].slice(0, MAX_SHOWN).join(" ")
}

/** `aria-describedby` refers to this id. */
export const ERROR_ID = "error"

export const alert = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="error" id="${ERROR_ID}" role="alert">${text}</p>`
