import { assert, test } from "@effect/vitest"
import { Option } from "effect"
import {
  button,
  checkbox,
  fieldsOf,
  input,
  isChecked,
  notice,
  numberOf,
  orNull,
  passwordInput,
  select,
  textarea
} from "../../src/http/pages/account/Forms.ts"
import { assetResponse, makeAsset } from "../../src/http/pages/layout/Assets.ts"
import {
  alert,
  colorSheet,
  type Page,
  pageResponse,
  pageText,
  plainWords,
  policyHeaders,
  readerOf,
  rootFrom,
  STYLESHEET
} from "../../src/http/pages/layout/Layout.ts"
import { newPasswordInput, passwordWords, signInForm } from "../../src/http/pages/layout/SignInForm.ts"
import { wrongCredentials } from "../../src/http/response/PublicErrors.ts"
import {
  Conflict,
  Internal,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  type ServiceError,
  Unavailable,
  ValidationFailed
} from "../../src/schema/Errors.ts"
import { SessionId, TokenId, UserId } from "../../src/schema/Ids.ts"
import { html } from "../../src/services/operations/Html.ts"
import type { Site } from "../../src/services/texts/Site.ts"
import { textsIn } from "../../src/services/texts/Texts.ts"

const TEXTS = textsIn("en")

const SITE: Site = {
  name: "The <club>",
  texts: TEXTS,
  color: { light: "#0b5cad", dark: "#7fbfff" },
  logo: undefined,
  address: "https://a.example/base/",
  notice: undefined
}

const SERVED = { ...SITE, logo: { address: "https://a.example/base/assets/logo.svg", file: "/etc/club/logo.svg" } }

const ELSEWHERE = { ...SITE, logo: { address: "https://img.example/club.png", file: undefined } }

const PAGE: Page = { title: "A <title>", body: html`<p>The body</p>` }

const policyOf = (site: Site, page: Page) => policyHeaders(site, page)["content-security-policy"]

test("the path to the root leads up one folder for each but the last segment", () => {
  const roots = { "/": "./", "/sign-in": "./", "/me/routes": "../", "/me/routes/:id": "../../" }
  for (const [path, root] of Object.entries(roots)) assert.strictEqual(rootFrom(path), root)
})

test("a page has its title, its styles and the links of its reader, and is not indexed unless it says so", () => {
  const text = pageText(SITE, "/me/routes", PAGE)
  assert.include(text, "<html lang=\"en\">")
  assert.include(text, "<meta name=\"robots\" content=\"noindex\">")
  assert.include(text, "<title>A &lt;title&gt; - The &lt;club&gt;</title>")
  assert.include(text, "<link rel=\"icon\" href=\"data:,\">")
  assert.include(text, `<link rel="stylesheet" href="..${STYLESHEET.path}">`)
  assert.include(text, "<link rel=\"stylesheet\" href=\"../assets/color-0b5cad-7fbfff.css\">")
  assert.include(text, "<body class=\"\">")
  assert.include(text, "<p><a href=\"../\">The &lt;club&gt;</a></p>")
  assert.include(text, "<h1>A &lt;title&gt;</h1>\n<p>The body</p>")
  const notIndexed = [{ isIndexable: false }, {}].map((members) => pageText(SITE, "/", { ...PAGE, ...members }))
  for (const shown of notIndexed) assert.include(shown, "noindex")
  assert.notInclude(pageText(SITE, "/", { ...PAGE, isIndexable: true }), "noindex")
})

test("the navigation of a page is that of its reader", () => {
  const linksOf = (page: Page) =>
    [...pageText(SITE, "/", page).matchAll(/<li><a href="([^"]+)">/g)].map(([, address]) => address)
  const user = ["./me/routes", "./me/collections", "./me/profile"]
  assert.deepStrictEqual(linksOf(PAGE), ["./sign-in"])
  assert.deepStrictEqual(linksOf({ ...PAGE, reader: "user" }), user)
  assert.deepStrictEqual(linksOf({ ...PAGE, reader: "admin" }), [...user, "./admin"])
  assert.include(pageText(SITE, "/", { ...PAGE, isFramed: false }), "<header>")
  assert.notInclude(pageText(SITE, "/", { ...PAGE, isFramed: true }), "<header>")
  const session = { kind: "session", userId: UserId.make(1), sessionId: SessionId.make(crypto.randomUUID()) } as const
  const token = { kind: "token", userId: UserId.make(1), tokenId: TokenId.make(1) } as const
  assert.strictEqual(readerOf(Option.some({ ...session, role: "admin", deletion: "none" })), "admin")
  assert.strictEqual(readerOf(Option.some({ ...session, role: "user", deletion: "none" })), "user")
  assert.strictEqual(readerOf(Option.some({ ...token, scope: "write", expiresAt: null })), "visitor")
  assert.strictEqual(readerOf(Option.none()), "visitor")
})

test("a page is styled as framed, as wide, or as both", () => {
  const classOf = (members: Partial<Page>) =>
    /<body class="([^"]*)">/.exec(pageText(SITE, "/", { ...PAGE, ...members }))?.[1]
  assert.strictEqual(classOf({ isWide: true }), "wide")
  assert.strictEqual(classOf({ isFramed: true }), "framed")
  assert.strictEqual(classOf({ isFramed: true, isWide: true }), "framed wide")
  assert.strictEqual(classOf({ isFramed: false, isWide: false }), "")
})

test("a logo is loaded from where it is, which the policy names", () => {
  assert.include(pageText(SERVED, "/me/routes", PAGE), "<img src=\"../assets/logo.svg\" alt=\"\" height=\"32\"> The")
  assert.include(pageText(SERVED, "/me/routes", PAGE), "<link rel=\"icon\" href=\"../assets/logo.svg\">")
  assert.include(pageText(ELSEWHERE, "/me/routes", PAGE), "<img src=\"https://img.example/club.png\" alt=\"\"")
  assert.notInclude(pageText(SITE, "/me/routes", PAGE), "<img")
  const rest = "; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
  const policies = [
    [SITE, PAGE, `data:${rest}`],
    [SERVED, PAGE, `data: 'self'${rest}`],
    [ELSEWHERE, PAGE, `data: https://img.example${rest}`],
    [
      ELSEWHERE,
      { ...PAGE, policy: { "img-src": "blob:", "connect-src": "'self'" } },
      `blob: https://img.example${rest}`
      + "; connect-src 'self'"
    ]
  ] as const
  for (const [site, page, images] of policies) {
    assert.strictEqual(policyOf(site, page), `default-src 'none'; style-src 'self'; img-src ${images}`)
  }
})

test("a page of an error has its status and says that it is one, first of all in its title", () => {
  const failed = pageResponse(SITE, "/", { ...PAGE, error: new NotFound({ message: "No such route" }) })
  assert.strictEqual(failed.status, 404)
  assert.strictEqual(pageResponse(SITE, "/", PAGE).status, 200)
  const text = pageText(SITE, "/", { ...PAGE, error: new NotFound({ message: "No such route" }) })
  assert.include(text, "<title>Error: A &lt;title&gt; - The &lt;club&gt;</title>")
  assert.strictEqual(alert(undefined).html, "")
  assert.strictEqual(alert("<b>").html, "<p class=\"error\" id=\"error\" role=\"alert\">&lt;b&gt;</p>")
})

test("an error is worded for a person: what was tried too often, is busy, is full, has a reason or is wrong", () => {
  const wordsOf = (error: Parameters<typeof plainWords>[1]) => plainWords(TEXTS, error)
  const wait = { reason: "rate_limited", retryAfterSeconds: 30 } as const
  assert.strictEqual(
    wordsOf(new RateLimited({ message: "x", details: wait })),
    "That was tried too often. Try again in 30 seconds."
  )
  assert.strictEqual(
    wordsOf(new Unavailable({ message: "x", details: { retryAfterSeconds: 1 } })),
    "The service is busy or is starting. Try again in 1 second."
  )
  assert.strictEqual(wordsOf(new Internal({ message: "x" })), "The service could not do this. Try again later.")
  const full = { reason: "quota_exceeded", quota: "collections", limit: 1000, used: 1000 } as const
  assert.strictEqual(
    wordsOf(new Conflict({ message: "x", details: full })),
    "An account may have at most 1,000 collections."
  )
  assert.strictEqual(
    wordsOf(new Conflict({ message: "x", details: { reason: "handle_taken" } })),
    "This handle is taken."
  )
  assert.strictEqual(wordsOf(new Conflict({ message: "It is", details: { reason: "key_in_use" } })), "It is.")
  assert.strictEqual(wordsOf(new NotFound({ message: "No such route" })), "No such route.")
  const tooLarge = (limitBytes: number) => wordsOf(new PayloadTooLarge({ message: "x", details: { limitBytes } }))
  assert.strictEqual(tooLarge(32 * 1024 ** 2), "The files may have 32 MiB together: send fewer or smaller ones.")
  assert.strictEqual(tooLarge(256 * 1024), "x.")
})

test("issues are worded by the labels of their fields, the last one of each path, each once, and three at most", () => {
  const wordsOf = (...issues: ReadonlyArray<readonly [path: string, message: string]>) =>
    plainWords(TEXTS, ValidationFailed.of("body", issues.map(([path, message]) => ({ path, message }))))
  assert.strictEqual(wordsOf(["name", "Expected a string"]), "Name: Expected a string.")
  assert.strictEqual(wordsOf(["tags.0", "Wrong."], ["tags.1", "Wrong"]), "Tags: Wrong.")
  assert.strictEqual(wordsOf(["preferences.units", "Expected metric"]), "Units: Expected metric.")
  assert.strictEqual(wordsOf(["color", "Wrong"]), "color: Wrong.")
  assert.strictEqual(wordsOf(["", "Choose one"]), "Choose one.")
  assert.strictEqual(wordsOf(["name", "General"], ["name", "Special"]), "Name: Special.")
  assert.strictEqual(
    wordsOf(["name", "a"], ["email", "b"], ["handle", "c"], ["radius", "d"]),
    "Name: a. Email address: b. Handle: c."
  )
})

const SHORT = ValidationFailed.at("body", "password", "Use 12 characters")

test("what is wrong with a password is said after some advice, and anything else without it", () => {
  assert.strictEqual(passwordWords(TEXTS, SHORT), "Use 12 characters.")
  assert.strictEqual(passwordWords(TEXTS, SHORT, "Another."), "Another. Use 12 characters.")
  const other = ValidationFailed.at("body", "name", "Too long")
  assert.strictEqual(passwordWords(TEXTS, other, "Another."), "Name: Too long.")
  assert.strictEqual(passwordWords(TEXTS, new NotFound({ message: "No" }), "Another."), "No.")
})

test("a field refers to its hint, and to the error only while that is about it", () => {
  const stateOf = (error?: ValidationFailed) => /required ([^>]*)>/.exec(newPasswordInput(TEXTS, "p", error).html)?.[1]
  const plain = "aria-describedby=\"p-hint\""
  assert.strictEqual(stateOf(), plain)
  assert.strictEqual(stateOf(ValidationFailed.at("body", "name", "Too long")), plain)
  assert.strictEqual(stateOf(SHORT), "aria-describedby=\"p-hint error\" aria-invalid=\"true\"")
  const fieldWith = (error: ValidationFailed) => fieldsOf(TEXTS, {}, error).input("tags", { id: "t", hint: "H" }).html
  const marked = "aria-describedby=\"t-hint error\" aria-invalid=\"true\">"
  assert.include(fieldWith(ValidationFailed.at("body", "tags.0", "Too long")), marked)
  assert.include(fieldWith(SHORT), "aria-describedby=\"t-hint\">")
  const signInStates = (error?: ServiceError) =>
    [...signInForm(TEXTS, "sign-in", "a@b", error).html.matchAll(/<input type="(\w+)".* required(.*)>/g)].map((match) =>
      match.slice(1)
    )
  for (const error of [undefined, SHORT, new Unavailable({ message: "Busy" })]) {
    assert.deepStrictEqual(signInStates(error), [["email", " value=\"a@b\" "], ["password", " "]])
  }
  const wrong = "aria-describedby=\"error\" aria-invalid=\"true\""
  assert.deepStrictEqual(signInStates(wrongCredentials()), [["email", ` value="a@b" ${wrong}`], [
    "password",
    ` ${wrong}`
  ]])
})

test("a field has a label, what it is given and nothing that it is not given", () => {
  assert.strictEqual(
    input({ name: "a", label: "A" }).html,
    "<div><label for=\"a\">A</label>\n<input type=\"text\" id=\"a\" name=\"a\" value=\"\"></div>\n"
  )
  const whole = { id: "b", name: "a", label: "A", type: "number", value: 0, hint: "H", required: true } as const
  assert.strictEqual(
    input({ ...whole, autocomplete: "off", step: "any" }).html,
    "<div><label for=\"b\">A</label>\n<p class=\"hint\" id=\"b-hint\">H</p>\n<input type=\"number\" id=\"b\" name=\"a\" "
      + "value=\"0\" required autocomplete=\"off\" step=\"any\" aria-describedby=\"b-hint\"></div>\n"
  )
  assert.notInclude(input({ ...whole, required: false }).html, "required")
  assert.strictEqual(
    textarea({ name: "a", label: "A", value: "<" }).html,
    "<div><label for=\"a\">A</label>\n<textarea id=\"a\" name=\"a\" rows=\"4\">\n&lt;</textarea></div>\n"
  )
  assert.strictEqual(
    passwordInput({ name: "p", label: "P", value: "secret", autocomplete: "current-password" }).html,
    "<div><label for=\"p\">P</label>\n<input type=\"password\" id=\"p\" name=\"p\" autocomplete=\"current-password\"></div>\n"
  )
  assert.include(
    passwordInput({ name: "p", label: "P", autocomplete: "x", hint: "H" }).html,
    "H</p>\n<input type=\"password\" id=\"p\" name=\"p\" autocomplete=\"x\" aria-describedby=\"p-hint\">"
  )
  const options = [["", "Any"], ["x", "X"]] as const
  const selectOf = (value: string | null, hint?: string) =>
    select({ name: "s", label: "S", value, ...(hint === undefined ? {} : { hint }) }, options).html
  assert.strictEqual(
    selectOf("x"),
    "<div><label for=\"s\">S</label>\n<select id=\"s\" name=\"s\"><option value=\"\">Any</option>"
      + "<option value=\"x\" selected>X</option></select></div>\n"
  )
  assert.include(selectOf(null), "<option value=\"\" selected>Any</option><option value=\"x\">")
  assert.include(selectOf("x", "H"), "id=\"s-hint\">H</p>\n<select id=\"s\" name=\"s\" aria-describedby=\"s-hint\">")
  assert.include(checkbox("c", "C", true).html, "<input type=\"checkbox\" name=\"c\" value=\"true\" checked> C")
  assert.include(checkbox("c", "C", false).html, "<input type=\"checkbox\" name=\"c\" value=\"true\"> C")
  assert.strictEqual(button("go", "Go").html, "<button name=\"do\" value=\"go\" class=\"main\">Go</button>")
  assert.include(button("go", "Go", "quiet", "A <b>").html, ">Go<span class=\"hidden\"> A &lt;b&gt;</span></button>")
  assert.strictEqual(notice(undefined).html, "")
  assert.strictEqual(notice("Saved.").html, "<p class=\"notice\" role=\"status\">Saved.</p>\n")
})

test("an empty field clears a member, a number is one, and a box is checked by its value only", () => {
  assert.deepStrictEqual([undefined, "", " \n", " a "].map(orNull), [null, null, null, " a "])
  assert.deepStrictEqual([undefined, " ", "0", "21.5", "wide"].map(numberOf), [null, null, 0, 21.5, "wide"])
  const fields = { yes: "true", no: "false", on: "on" }
  assert.deepStrictEqual(["yes", "no", "on", "absent"].map((name) => isChecked(fields, name)), [
    true,
    false,
    false,
    false
  ])
})

test("an asset is kept for a year, under a path with 16 characters of its hash", () => {
  // The hash is that of no bytes (FIPS 180-4): e3b0c442 98fc1c14 9afbf4c8 ...
  const asset = makeAsset("empty", "css", "")
  assert.strictEqual(asset.path, "/assets/empty-47DEQpj8HBSa-_TI.css")
  const { headers } = assetResponse({ ...asset, headers: { "x-more": "1" } })
  assert.strictEqual(headers["cache-control"], "public, max-age=31536000, immutable")
  assert.strictEqual(headers["x-more"], "1")
  const sheet = colorSheet(SITE)
  assert.deepStrictEqual([sheet.path, sheet.text, sheet.contentType], [
    "/assets/color-0b5cad-7fbfff.css",
    ":root { --accent: light-dark(#0b5cad, #7fbfff); }\n",
    "text/css; charset=utf-8"
  ])
})
