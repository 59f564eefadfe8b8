import { HttpServerResponse } from "effect/http"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { ServiceError } from "../../schema/Errors.ts"
import { type Html, html } from "../../services/html/Html.ts"
import { makeAsset } from "../docs/Assets.ts"
import { retryAfter } from "../response/ErrorResponse.ts"

export const STYLESHEET = makeAsset("pages", "css", readFileSync(join(import.meta.dirname, "pages.css"), "utf8"))

/** A page for people. With an error its status and `Retry-After` are those of the error. */
export interface Page {
  readonly title: string
  readonly body: Html
  readonly error?: ServiceError | undefined
}

/** Neither scripts nor anything of another origin; forms are sent to ourselves. `data:` is the empty icon. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'"
].join("; ")

/** Screen readers read the title first, so it says that something went wrong. */
const titleOf = ({ error, title }: Page) => error === undefined ? title : `Error: ${title}`

/** Links are relative, so that a proxy may serve us below a path of its own. */
const render = (page: Page, root: string) =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${titleOf(page)} - Route Planning Service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}${STYLESHEET.path.slice(1)}">
</head>
<body>
<header><p><a href="${root}">Route Planning Service</a></p></header>
<main>
<h1>${page.title}</h1>
${page.body}
</main>
</body>
</html>
`

/** From a page's path to the root. */
const rootFrom = (path: string) => "../".repeat(path.split("/").length - 2) || "./"

/**
 * The token of a mailed link is in the address of its page: no request says more of it than its origin. With `no-referrer`
 * browsers send a form with `Origin: null` (Fetch, "append a request Origin header"), and over plain HTTP, without
 * `Sec-Fetch-Site`, nothing else would show that the form is ours.
 */
const REFERRER_POLICY = "strict-origin"

/** The response with a page that is at a path. It is not cached. */
export const pageResponse = (path: string, page: Page): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(render(page, rootFrom(path)).html, {
    status: page.error?.statusCode ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": POLICY,
      "referrer-policy": REFERRER_POLICY,
      ...retryAfter(page.error?.details)
    }
  })
