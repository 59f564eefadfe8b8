import { assert, describe, layer, test } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pageText } from "../../src/http/pages/layout/Layout.ts"
import { ACCOUNT_PAGES } from "../../src/http/request/RouteTemplates.ts"
import { problemOf } from "../../src/layers/Settings.ts"
import { htmlOf, type Mail, textOf } from "../../src/services/mail/Mailers.ts"
import { html } from "../../src/services/operations/Html.ts"
import { configuredSite } from "../../src/services/texts/Site.ts"
import { type Actor, anonymous, newEmail, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { zipped } from "../support/Archives.ts"
import { gpx, trk } from "../support/Files.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { created, newRoute } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

const PASSWORD = "a long enough password"

const ADMIN = "admin@example.com"

const OTHER_ADMIN = "other@example.com"

const submit = (actor: Actor, path: string, fields: Readonly<Record<string, string>>) =>
  actor.call("POST", `/${path}`, {
    raw: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" }
  })

const siteOf = (settings: Readonly<Record<string, string>>) =>
  configuredSite.pipe(
    Effect.provide(
      ConfigProvider.layer(ConfigProvider.fromUnknown({ BASE_URL: "https://club.example.com", ...settings }))
    )
  )

const CLUB = { SITE_NAME: "Velo <Club> Vaduz", SITE_COLOR: "#7a1f5c", SITE_LANGUAGE: "de" }

const NOTICE = { SITE_NOTICE_URL: "https://club.example.com/legal?in=de&at=1" }

const NOTICE_LINK = "<a href=\"https://club.example.com/legal?in=de&amp;at=1\">Impressum und Datenschutz</a>"

const clubServer = Layer.unwrap(Effect.gen(function*() {
  const logo = join(yield* temporaryDirectory, "logo.svg")
  yield* Effect.promise(() => writeFile(logo, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>`))
  return TestServer.layer({
    ...CLUB,
    SITE_LOGO_URL: logo,
    ...NOTICE,
    ADMIN_EMAILS: `${ADMIN},${OTHER_ADMIN}`,
    API_DOCS_ENABLED: "true"
  })
}))

layer(clubServer)("a site with a name, a logo, a colour and a language of its own", (it) => {
  const titlesOf = (rider: Rider, paths: ReadonlyArray<string>) =>
    Effect.forEach(paths, (path) =>
      Effect.map(rider.get(`/${path}`), ({ status, text }) => {
        assert.strictEqual(status, 200, path)
        assert.include(text, "<html lang=\"de\">", path)
        assert.include(text, "Velo &lt;Club&gt; Vaduz</title>", path)
        assert.include(text, NOTICE_LINK, path)
        return /<h1>([^<]*)<\/h1>/.exec(text)?.[1]
      }))

  it.effect("says in that language what is wrong with a file", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const fileIn = (name: string, content: string) =>
        `--limit\r\ncontent-disposition: form-data; name="files"; filename="${name}"\r\n\r\n${content}\r\n`
      const { text } = yield* rider.call("POST", `/${ACCOUNT_PAGES.routes}`, {
        raw: Buffer.from(
          `${fileIn("a.gpx", "<gpx>")}${fileIn("b.geojson", `{"type":"FeatureCollection","features":[]}`)}--limit\r\n`
            + `content-disposition: form-data; name="visibility"\r\n\r\nprivate\r\n--limit--\r\n`
        ),
        headers: { "content-type": "multipart/form-data; boundary=limit", "sec-fetch-site": "same-origin" }
      })
      const problems = [...text.matchAll(/<p class="problem">([^<]*)/g)].map(([, problem]) => problem)
      assert.deepStrictEqual(problems, [
        "Die Datei ist beschädigt oder keine Datei mit Routen.",
        "Die Datei hat keine Punkte."
      ])
    }))

  it.effect("has its pages in that language", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMIN })
      const { routes, trash, collections, profile, zones, tokens, sessions, password, data, deletion } = ACCOUNT_PAGES
      const own = [routes, trash, collections, profile, zones, tokens, sessions, password, data, deletion]
      assert.deepStrictEqual(yield* titlesOf(admin, own), [
        "Meine Routen",
        "Papierkorb",
        "Sammlungen",
        "Profil",
        "Privatzonen",
        "Tokens",
        "Sitzungen",
        "Passwort",
        "Export und Import",
        "Konto löschen"
      ])
      assert.include((yield* admin.get(`/${sessions}`)).text, " von 127.0.0.1.")
      const { audit, invitations, overview, users } = ACCOUNT_PAGES
      assert.deepStrictEqual(yield* titlesOf(admin, [overview, users, invitations, audit]), [
        "Verwaltung",
        "Konten",
        "Einladungen",
        "Protokoll"
      ])
    }))

  it.effect("words what is wrong with a form in that language, by the label of its field", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id, version } = created((yield* rider.post("/routes", newRoute({ name: "Rund um Vaduz" }))).body)
      const fields = { do: "save", version: String(version), name: "x", tags: "!, ?", visibility: "private" }
      const { status, text } = yield* submit(rider, `/me/routes/${id}`, fields)
      assert.strictEqual(status, 400)
      assert.match(text, /role="alert">Schlagwörter: Erlaubt ist hier: 1 bis 24 Zeichen aus a–z, 0–9 und „-“\.</)
      const passwords = { do: "change", currentPassword: "", newPassword: "short" }
      const short = yield* submit(rider, "/me/password", passwords)
      assert.include(short.text, "role=\"alert\">Neues Passwort: Erlaubt ist hier: 12 bis 1.024 Zeichen.<")
      const unnamed = yield* submit(rider, "/me/password", { ...passwords, newPassword: PASSWORD })
      assert.include(
        unnamed.text,
        "role=\"alert\">Aktuelles Passwort: Erlaubt ist hier: das Passwort, mit dem Sie sich anmelden.<"
      )
      const weak = yield* submit(yield* anonymous, "/sign-up", { email: newEmail(), password: "short" })
      assert.include(weak.text, "role=\"alert\">Erlaubt ist hier: 12 bis 1.024 Zeichen.<")
      const search = yield* rider.get("//me/routes?q=%25")
      assert.include(
        search.text,
        "role=\"alert\">Suche: Erlaubt ist hier: einige Wörter aus Buchstaben, Ziffern oder Emojis.<"
      )
      const zone = { do: "add", place: "47.1 9.5", radius: "wide" }
      assert.include((yield* submit(rider, "/me/privacy-zones", zone)).text, "Erlaubt ist hier: eine Zahl wie 12.5.<")
      const wrong = yield* submit(yield* anonymous, "/sign-in", { email: rider.email, password: "wrong" })
      assert.include(wrong.text, "role=\"alert\">E-Mail-Adresse oder Passwort ist falsch.<")
    }))

  it.effect("words what it says of a form itself as it is", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      yield* submit(visitor, "/sign-up", { email, password: PASSWORD, name: "Ada" })
      const token = yield* (yield* Mailbox).tokenFor(email)
      assert.include(
        (yield* submit(visitor, "/verify-email", { token, password: "" })).text,
        "role=\"alert\">Geben Sie das Passwort ein, das Sie bei der Registrierung gewählt haben, oder wählen Sie ein neues.<"
      )
      const admin = yield* signedInAs({ email: OTHER_ADMIN })
      // Words of this address are those of English messages.
      const invited = "jon@is.example.com"
      yield* signedInAs({ email: invited })
      const { status, text } = yield* submit(admin, ACCOUNT_PAGES.invitations, { do: "invite", emails: invited })
      assert.strictEqual(status, 400)
      assert.include(
        text,
        `role="alert">0 eingeladen, diese nicht: ${invited}: Zu der Adresse gibt es schon ein Konto.<`
      )
      assert.include(
        (yield* admin.get(`/${ACCOUNT_PAGES.audit}?user=abc`)).text,
        "role=\"alert\">Nummer eines Kontos: Erlaubt ist hier: eine ganze Zahl.<"
      )
    }))

  it.effect("says in that language why the import of an archive stopped", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sql = yield* SqlClient.SqlClient
      const gpx = `<gpx version="1.1"><rte><name>x</name><rtept lat="47" lon="9"/><rtept lat="48" lon="9"/></rte></gpx>`
      const archive = yield* zipped([["a.txt", ""], ["a.gpx", gpx]])
      yield* sql.unsafe(`
        CREATE FUNCTION refuse_writes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'cannot execute INSERT in a read-only transaction' USING ERRCODE = '25006';
        END $$`)
      yield* sql`CREATE TRIGGER refuse_writes BEFORE INSERT ON routes FOR EACH ROW EXECUTE FUNCTION refuse_writes()`
      const { text } = yield* rider.call("POST", `/${ACCOUNT_PAGES.data}`, {
        raw: Uint8Array.from(Buffer.concat([
          Buffer.from(`--limit\r\ncontent-disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n`),
          archive,
          Buffer.from("\r\n--limit--\r\n")
        ])),
        headers: { "content-type": "multipart/form-data; boundary=limit", "sec-fetch-site": "same-origin" }
      })
      yield* sql`DROP FUNCTION refuse_writes() CASCADE`
      assert.include(text, "Übersprungen: Der Name der Datei ist nicht der einer Datei mit Routen.<")
      assert.match(
        text,
        /role="alert">Der Dienst ist überlastet oder startet gerade\. Versuchen Sie es in 1 Sekunde noch einmal\. Laden /
      )
    }))

  it.effect("shows its logo and its colours, which the service serves", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { headers, text } = yield* visitor.get("//sign-in")
      assert.include(text, "<img src=\"./assets/logo.svg\" alt=\"\"")
      assert.include(headers.get("content-security-policy") ?? "", "img-src data: 'self'")
      const served = yield* visitor.get("//assets/logo.svg")
      assert.strictEqual(served.headers.get("content-type"), "image/svg+xml")
      assert.strictEqual(served.headers.get("cache-control"), "public, max-age=3600")
      assert.include(served.headers.get("content-security-policy") ?? "", "sandbox")
      const sheet = /href="\.\/(assets\/color-[^"]+)"/.exec(text)?.[1] ?? ""
      assert.match((yield* visitor.get(`//${sheet}`)).text, /--accent: light-dark\(#7a1f5c, #[0-9a-f]{6}\)/)
    }))

  it.effect("names the document of its API, and its mails", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      assert.match((yield* visitor.get("//api/openapi.json")).text, /"title":"Velo <Club> Vaduz"/)
      assert.include((yield* visitor.get("//api")).text, NOTICE_LINK)
      const email = newEmail()
      yield* submit(visitor, "/sign-up", { email, password: PASSWORD, name: "Ada" })
      yield* (yield* Mailbox).tokenFor(email)
      const [mail] = yield* (yield* Mailbox).mailsTo(email)
      assert.strictEqual(mail?.subject, "Bestätigen Sie Ihre E-Mail-Adresse")
    }))
})

const LATE = { do: "mint", name: "A name that took long", scope: "read", expiresInDays: "5", currentPassword: "canary" }

layer(TestServer.layer())(
  "pages of an account over time",
  (it) => {
    it.effect("a form that is sent after its session has ended is kept until its writer has signed in", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const visitor = yield* anonymous
        const late = yield* submit(visitor, "/me/tokens", LATE)
        assert.strictEqual(late.status, 401)
        assert.include(late.text, "what you entered is kept")
        assert.notInclude(late.text, "canary")
        const kept = /name="kept" value="([^"]*)"/.exec(late.text)?.[1]?.replaceAll("&quot;", "\"") ?? ""
        const wrong = yield* submit(visitor, "/me/tokens", { kept, email: rider.email, password: "wrong" })
        assert.include(wrong.text, "Wrong email address or password.")
        assert.include(wrong.text, "A name that took long")
        const entered = yield* submit(visitor, "/me/tokens", { kept, email: rider.email, password: rider.password })
        assert.strictEqual(entered.status, 200)
        assert.include(entered.text, `You are signed in as <strong>${rider.email}</strong>`)
        assert.include(entered.text, "name=\"name\" value=\"A name that took long\"")
        assert.notInclude((yield* rider.get("//me/tokens")).text, "A name that took long")
        const cookie = entered.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
        const sent = yield* submit(yield* withHeaders({ cookie }), "/me/tokens", LATE)
        assert.include(sent.text, "A name that took long")
      }))

    it.effect("an expired link says so, and what to do", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        const email = newEmail()
        yield* submit(visitor, "/sign-up", { email, password: PASSWORD, name: "Ada" })
        const token = yield* (yield* Mailbox).tokenFor(email)
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE email_tokens SET expires_at = created_at - interval '1 minute' WHERE used_at IS NULL`
        const { status, text } = yield* visitor.get(`//verify-email?token=${token}`)
        assert.strictEqual(status, 400)
        assert.include(text, "role=\"alert\">This link has expired.<")
        assert.include(text, "you will get\nanother link by mail")
        assert.notInclude(text, "already verified")
        const reset = yield* visitor.get(`//reset-password?token=${token}`)
        assert.include(reset.text, "href=\"forgot-password\"")
        assert.notInclude(text, "Copied from the mail?")
        assert.include(reset.text, "<p>Copied from the mail?")
        yield* sql`DELETE FROM sign_ups WHERE email = ${email}`
        const gone = yield* visitor.get(`//verify-email?token=${token}`)
        assert.include(gone.text, "If that is refused, sign up again.")
        assert.notInclude(gone.text, "by mail")
      }))
  }
)

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN, RATE_LIMITS_ENABLED: "true" }))("rate limits of forms", (it) => {
  it.effect("take a form with many files for one request, as the API takes them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = Array.from({ length: 61 }, (_, n) =>
        `--limit\r\ncontent-disposition: form-data; name="files"; filename="${n}.gpx"\r\n\r\n`
        + gpx(trk(`<trkpt lat="47" lon="${n}"/><trkpt lat="47.1" lon="${n}"/>`)))
      const form = `--limit\r\ncontent-disposition: form-data; name="visibility"\r\n\r\nprivate\r\n${
        files.join("\r\n")
      }\r\n--limit--\r\n`
      const { headers } = yield* rider.call("POST", "//me/routes", {
        raw: form,
        headers: { "content-type": "multipart/form-data; boundary=limit", "sec-fetch-site": "same-origin" }
      })
      assert.strictEqual(headers.get("location"), "../me/routes?done=uploaded")
      assert.include((yield* rider.get("//me/routes")).text, "61 routes")
    }))

  it.effect("a form with many invitations counts as one request for each, and keeps those that are too many", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMIN })
      const first = Array.from({ length: 50 }, newEmail)
      const taken = yield* submit(admin, "/admin/invitations", { do: "invite", emails: first.join("\n") })
      assert.strictEqual(taken.status, 303)
      const emails = Array.from({ length: 12 }, newEmail)
      const { status, text } = yield* submit(admin, "/admin/invitations", { do: "invite", emails: emails.join("\n") })
      assert.strictEqual(status, 400)
      assert.include(text, `10 invited, not these: ${emails.slice(10).join(", ")}: That was tried too often.`)
      assert.include(text, `>\n${emails.slice(10).join("\n")}</textarea>`)
    }))
})

const MAIL: Mail = { to: "ada@example.com", subject: "<s>", text: "<t>", link: undefined, ifNotYou: "<i>" }

describe("the site in mails and settings", () => {
  test("a mail has the name, the address and the language of the site in both of its parts, escaped", async () => {
    const site = await Effect.runPromise(siteOf({ ...CLUB, SITE_LOGO_URL: "https://img.example.com/logo.png" }))
    const text = textOf(site, MAIL)
    assert.strictEqual(text, "<t>\n\n<i>\n\n-- \nVelo <Club> Vaduz\nhttps://club.example.com/\n")
    const page = htmlOf(site, MAIL)
    assert.include(page, "<html lang=\"de\">")
    assert.include(page, "<img src=\"https://img.example.com/logo.png\"")
    assert.include(page, "Velo &lt;Club&gt; Vaduz")
    assert.notMatch(page, /<[sti]>|Velo <Club>/)
  })

  test("a page has the link to the legal notice that is set, and one that is embedded has none", async () => {
    const shown = async (settings: Readonly<Record<string, string>>, isFramed = false) =>
      pageText(await Effect.runPromise(siteOf({ ...CLUB, ...settings })), "/sign-up", {
        title: "",
        body: html``,
        isFramed
      })
    assert.include(await shown(NOTICE), NOTICE_LINK)
    for (const text of [await shown({}), await shown(NOTICE, true)]) assert.notInclude(text, "Impressum")
  })

  test("settings of the site that cannot be used are refused by name, a colour with its contrast", async () => {
    const problemFor = async (settings: Readonly<Record<string, string>>) =>
      problemOf(await Effect.runPromise(Effect.flip(siteOf(settings))))
    assert.match(
      await problemFor({ SITE_COLOR: "#8ec5ff" }),
      /SITE_COLOR: .*contrast with a light page is 1\.\d, and 4\.5/
    )
    assert.match(await problemFor({ SITE_COLOR: "red" }), /SITE_COLOR: Expected a colour as in #0b5cad/)
    assert.match(
      await problemFor({ SITE_NAME: "a\nb" }),
      /SITE_NAME: Expected a name of 1 to 60 characters in one line/
    )
    assert.match(await problemFor({ SITE_LOGO_URL: "http://x/logo.png" }), /SITE_LOGO_URL: Expected an https URL/)
    assert.match(await problemFor({ SITE_LOGO_URL: "/no/such/logo.svg" }), /SITE_LOGO_URL: Expected an https URL/)
    assert.match(
      await problemFor({ SITE_NOTICE_URL: "javascript:0" }),
      /SITE_NOTICE_URL: Expected an http or https URL/
    )
    assert.match(await problemFor({ SITE_LANGUAGE: "fr" }), /SITE_LANGUAGE: Expected one of en, de/)
  })
})
