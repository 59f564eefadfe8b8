import { Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { ServiceError } from "../../../schema/Errors.ts"
import type { Principal } from "../../../schema/Principal.ts"
import { SERVICE_TITLE } from "../../../schema/ServiceName.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { retryAfter } from "../../response/ErrorResponse.ts"
import { makeAsset } from "./Assets.ts"

export const STYLESHEET = makeAsset("pages", "css", readFileSync(join(import.meta.dirname, "pages.css"), "utf8"))

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
  readonly head?: Html | undefined
  readonly isWide?: boolean
  /** A page that is embedded in another site has no header. */
  readonly isFramed?: boolean
  readonly isIndexable?: boolean
  /** Who sees the page decides on its navigation: a visitor, if nothing is known. */
  readonly reader?: Reader | undefined
  /** Directives that differ from the default Content-Security-Policy. */
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

const policyOf = ({ policy }: Page) =>
  Object.entries({ ...POLICY, ...policy }).map(([directive, sources]) => `${directive} ${sources}`).join("; ")

const classOf = ({ isFramed, isWide }: Page) => [isFramed && "framed", isWide && "wide"].filter(Boolean).join(" ")

const robots = html`<meta name="robots" content="noindex">`

/** Screen readers read the title first, so it names the error. */
const titleOf = ({ error, title }: Page) => error === undefined ? title : `Error: ${title}`

const LINKS: Readonly<Record<Reader, ReadonlyArray<readonly [path: string, text: string]>>> = {
  visitor: [[ACCOUNT_PAGES.signIn, "Sign in"]],
  user: [[ACCOUNT_PAGES.routes, "My routes"], [ACCOUNT_PAGES.collections, "Collections"], [
    ACCOUNT_PAGES.profile,
    "Account"
  ]],
  admin: [
    [ACCOUNT_PAGES.routes, "My routes"],
    [ACCOUNT_PAGES.collections, "Collections"],
    [ACCOUNT_PAGES.profile, "Account"],
    [ACCOUNT_PAGES.overview, "Administration"]
  ]
}

const navigation = ({ reader = "visitor" }: Page, root: string) =>
  html`<header>
<p><a href="${root}">${SERVICE_TITLE}</a></p>
<nav aria-label="Site"><ul>${
    LINKS[reader].map(([path, text]) => html`<li><a href="${root}${path.slice(1)}">${text}</a></li>`)
  }</ul></nav>
</header>`

/** Links are relative so that a proxy may add a path prefix. */
const render = (page: Page, root: string) =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.isIndexable === true ? html`` : robots}
<title>${titleOf(page)} - ${SERVICE_TITLE}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}${STYLESHEET.path.slice(1)}">
${page.head}
</head>
<body class="${classOf(page)}">
${page.isFramed === true ? html`` : navigation(page, root)}
<main>
<h1>${page.title}</h1>
${page.body}
</main>
</body>
</html>
`

export const rootFrom = (path: string) => "../".repeat(path.split("/").length - 2) || "./"

export const pageText = (path: string, page: Page): string => render(page, rootFrom(path)).html

/**
 * Hides tokens in URLs. With `no-referrer`, forms have `Origin: null` (Fetch, "append a request Origin header"), which
 * over plain HTTP, without `Sec-Fetch-Site`, looks cross-site.
 */
const REFERRER_POLICY = "strict-origin"

export const policyHeaders = (page: Page) => ({
  "content-security-policy": policyOf(page),
  "referrer-policy": REFERRER_POLICY
})

export const pageResponse = (
  path: string,
  page: Page,
  text = pageText(path, page)
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(text, {
    status: page.error?.statusCode ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: {
      ...policyHeaders(page),
      ...retryAfter(page.error?.details)
    }
  })

const waitFor = (details: ServiceError["details"]) => {
  const seconds = details?.["retryAfterSeconds"]
  return typeof seconds === "number" ? `Try again in ${seconds} seconds.` : "Try again in a moment."
}

export const plainWords = ({ details, message, statusCode }: ServiceError): string => {
  switch (statusCode) {
    case 429:
      return `That was tried too often. ${waitFor(details)}`
    case 503:
    case 504:
      return `The service is busy or is starting. ${waitFor(details)}`
    case 500:
      return "The service could not do this. Try again later."
    default:
      // The part of the request is for programs.
      return `${message.replaceAll(/\b(?:body|query)\.(?=\w+: )/g, "")}.`
  }
}

/** `aria-describedby` refers to it. */
export const ERROR_ID = "error"

export const alert = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="error" id="${ERROR_ID}" role="alert">${text}</p>`
