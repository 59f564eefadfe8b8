import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ACCOUNT_PAGES, SHARED_PAGES } from "../../src/http/request/RouteTemplates.ts"
import { type Actor, anonymous, newEmail, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { exported } from "../support/Archives.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { created, newRoute } from "../support/Routes.ts"
import { signInAgain } from "../support/SignIns.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"

const PASSWORD = "a long enough password"

const NO_ARCHIVE = "The archive cannot be read: it is no ZIP file, or it is damaged.</p>"

const ADMINS = ["first@example.com", "second@example.com"] as const

type Fields = Readonly<Record<string, string>>

/** Sends what a browser sends for a form of our own pages. */
const submit = (actor: Actor, path: string, fields: Fields, headers = {}) =>
  actor.call("POST", `/${path}`, {
    raw: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", ...headers }
  })

const upload = (
  actor: Actor,
  path: string,
  fields: Fields,
  files: Readonly<Record<string, string | Uint8Array>>,
  headers = {}
) => {
  const parts = [
    ...Object.entries(fields).map(([name, value]) => [`name="${name}"`, value] as const),
    ...Object.entries(files).map(([name, file]) => [`name="files"; filename="${name}"`, file] as const)
  ]
  const pieces = parts.flatMap(([named, content]) => [
    Buffer.from(`--limit\r\ncontent-disposition: form-data; ${named}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from("\r\n")
  ])
  return actor.call("POST", `/${path}`, {
    raw: Uint8Array.from(Buffer.concat([...pieces, Buffer.from("--limit--\r\n")])),
    headers: { "content-type": "multipart/form-data; boundary=limit", "sec-fetch-site": "same-origin", ...headers }
  })
}

const assertAlert = ({ text }: Answer, message: string) => {
  assert.match(text, /<title>Error: /)
  assert.include(text, `<p class="error" id="error" role="alert">${message}`)
}

const assertSeeOther = ({ headers, status }: Answer, location: string) =>
  assert.deepStrictEqual([status, headers.get("location")], [303, location])

const gpx = (name: string, at: number) =>
  `<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name><trkseg>`
  + `<trkpt lat="47.1" lon="${at}"/><trkpt lat="47.2" lon="${at + 0.1}"/></trkseg></trk></gpx>`

const storedBy = (rider: Rider, fields = {}) =>
  Effect.map(rider.post("/routes", newRoute(fields)), ({ body }) => created(body))

const pathsWith = (id: number) => Object.values(ACCOUNT_PAGES).map((path) => path.replace(":id", String(id)))

const isForVisitors = (path: string) =>
  [ACCOUNT_PAGES.signIn, ACCOUNT_PAGES.signUp, ACCOUNT_PAGES.signOut, ACCOUNT_PAGES.forgotPassword].some((page) =>
    page === path
  )

layer(TestServer.layer({ ADMIN_EMAILS: ADMINS.join(",") }))("pages of an account", (it) => {
  it.effect("lead from a sign-up by a mail to a session, which the sign-out ends", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      const refused = yield* submit(visitor, "/sign-up", { email, name: "Ada", password: "short" })
      assertAlert(refused, "Use 12 to 1,024 characters.")
      assert.include(refused.text, `value="${email}"`)
      const misspelt = yield* submit(visitor, "/sign-up", { email: "a@", name: "Ada", password: PASSWORD })
      assertAlert(misspelt, "Email address: Expected an email address.</p>")
      const signedUp = yield* submit(visitor, "/sign-up", { email, name: "Ada", password: PASSWORD })
      assert.include(signedUp.text, `A mail is on its way to <strong>${email}</strong>`)
      const token = yield* (yield* Mailbox).tokenFor(email)
      yield* submit(visitor, "/verify-email", { token, password: PASSWORD })
      const entered = yield* submit(visitor, "/sign-in", { email, password: PASSWORD, to: "me/tokens" })
      assertSeeOther(entered, "me/tokens")
      const cookie = entered.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
      const browser = yield* withHeaders({ cookie })
      const profile = yield* browser.get("//me/profile")
      assert.include(profile.text, `Signed in as <strong>${email}</strong>`)
      assert.include(profile.text, "name=\"name\" value=\"Ada\"")
      assertSeeOther(yield* browser.get("//sign-in"), "me/routes")
      assertSeeOther(yield* submit(browser, "/sign-out", {}), "./")
      assertSeeOther(yield* browser.get("//me/profile"), "../sign-in?to=me%2Fprofile")
      assertSeeOther(yield* browser.get("//me/routes?q=alps"), "../sign-in?to=me%2Froutes%3Fq%3Dalps")
    }))

  it.effect("name the browser and the system of each session, and other programs as they call themselves", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const chromium = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"
      const names = {
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox, Linux",
        [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chromium} Safari/537.36 Edg/140.0.0.0`]: "Edge, Windows",
        [`Mozilla/5.0 (Linux; Android 10; K) ${chromium} Mobile Safari/537.36`]: "Chrome, Android",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Safari/604.1":
          "Safari, iPhone",
        "rps/0.2.0": "rps/0.2.0"
      }
      yield* Effect.forEach(Object.keys(names), (userAgent) => signInAgain(rider, userAgent))
      const { text } = yield* rider.get("//me/sessions")
      for (const name of Object.values(names)) assert.include(text, `<strong>${name}</strong>`)
    }))

  it.effect("lead to the sign-in without a session, and from it to no other site", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const rider = yield* signedIn
      for (const path of pathsWith(1).filter((path) => !isForVisitors(path))) {
        const { headers, status } = yield* visitor.get(`/${path}`)
        assert.strictEqual(status, 303, path)
        assert.match(headers.get("location") ?? "", /^(\.\.\/)*(\.\/)?sign-in\?to=/)
      }
      for (const to of ["https://evil.example", "//evil.example", "/\\evil.example", "me/../../evil", "u/ada"]) {
        const entered = yield* submit(visitor, "/sign-in", { email: rider.email, password: rider.password, to })
        assert.strictEqual(entered.headers.get("location") ?? "me/routes", "me/routes")
      }
    }))

  it.effect("refuse forms of other sites, unknown actions, and personal access tokens", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" }
      for (const path of pathsWith(1).filter((path) => !isForVisitors(path))) {
        assert.strictEqual((yield* submit(rider, path, { do: "save" }, foreign)).status, 403, path)
      }
      assert.strictEqual((yield* submit(rider, "/me/profile", { do: "toString" })).status, 400)
      const minted = yield* submit(rider, "/me/tokens", { do: "mint", name: "x", scope: "write", expiresInDays: "1" })
      const token = /value="(service_pat_[^"]+)"/.exec(minted.text)?.[1] ?? ""
      const program = yield* withHeaders({ authorization: `Bearer ${token}` })
      assert.strictEqual((yield* program.get("//me/profile")).status, 403)
      assert.notInclude((yield* rider.get("//me/tokens")).text, token)
    }))

  it.effect("upload files with a result for each, and say of one what is wrong", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = { "a.gpx": gpx("First ride", 9), "b.gpx": gpx("Second ride", 8), "c.gpx": "<gpx>" }
      const { status, text } = yield* upload(rider, "/me/routes", { visibility: "unlisted" }, files)
      assert.strictEqual(status, 200)
      assert.match(text, /<strong>a\.gpx<\/strong>\s*<p class="hint"><a href="[^"]*\/\d+">First ride<\/a>/)
      assert.match(text, /<strong>c\.gpx<\/strong>\s*<p class="problem">/)
      const again = yield* upload(rider, "/me/routes", { visibility: "unlisted" }, { "a.gpx": gpx("First ride", 9) })
      assert.include(again.text, "You have a route with the same positions already.")
      assertAlert(yield* upload(rider, "/me/routes", { visibility: "private" }, {}), "Choose one or more files.")
      yield* rider.patch("/users/me", { preferences: { defaultRouteVisibility: "public" } })
      const chosenIn = ({ text }: Answer) => /id="seen-by"[^]*?value="(\w+)" selected/.exec(text)?.[1]
      assert.deepStrictEqual(
        [
          yield* rider.get("//me/routes"),
          yield* upload(rider, "/me/routes", { visibility: "unlisted" }, { "b.gpx": "not a file" }),
          yield* upload(rider, "/me/routes", { visibility: "unlisted" }, {})
        ].map(chosenIn),
        ["public", "unlisted", "private"]
      )
      const late = yield* upload(yield* anonymous, "/me/routes", { visibility: "private" }, { "a.gpx": gpx("Late", 9) })
      assert.strictEqual(late.status, 401)
      assertAlert(late, "You were signed out meanwhile, and no file was taken.")
      assert.include(late.text, `action="../sign-in"`)
      const found = yield* rider.get("//me/routes?q=second&visibility=unlisted")
      assert.include(found.text, "Second ride")
      assert.notInclude(found.text, "First ride</a>")
    }))

  it.effect("take the account along as an archive, which another account imports", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      yield* storedBy(rider, { name: "Taken along" })
      assert.include((yield* rider.get("//me/data")).text, "href=\"../api/v1/users/me/export\"")
      const { bytes } = yield* exported(rider)
      const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" }
      assert.strictEqual((yield* upload(other, "/me/data", {}, { "export.zip": bytes }, foreign)).status, 403)
      assertAlert(yield* upload(other, "/me/data", {}, { "export.zip": "not an archive" }), NO_ARCHIVE)
      assert.include((yield* upload(other, "/me/data", {}, { "export.zip": bytes })).text, "1 new, 0 restored")
      assert.include((yield* other.get("//me/routes")).text, "Taken along")
    }))

  it.effect("change, publish, share and delete a route, which the trash restores", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id, shareToken } = yield* storedBy(rider, { name: "Before" })
      const page = `/me/routes/${id}`
      const shown = yield* rider.get(`/${page}`)
      const version = /name="version" value="(\d+)"/.exec(shown.text)?.[1] ?? ""
      const fields = {
        do: "save",
        version,
        description: "",
        activity: "run",
        visibility: "unlisted",
        favourite: "true"
      }
      const refused = yield* submit(rider, page, { ...fields, name: "", tags: "gravel" })
      assert.strictEqual(refused.status, 400)
      const saved = yield* submit(rider, page, { ...fields, name: "After <b>", tags: "Gravel, long ride" })
      assertSeeOther(saved, `../../me/routes/${id}?done=saved`)
      assert.include((yield* rider.get(`/${page}?done=saved`)).text, "After &lt;b&gt;")
      assert.strictEqual((yield* visitor.get(`//r/${shareToken}`)).status, 200)
      assert.strictEqual((yield* submit(rider, page, { ...fields, name: "Stale", tags: "" })).status, 409)
      yield* submit(rider, page, { ...fields, version: "2", name: "After <b>", tags: "", visibility: "public" })
      assert.include((yield* visitor.get("//")).text, "After &lt;b&gt;")
      const linked = { do: "addLink", label: "Sunday", expires: "2999-01-01", allowDownload: "true" }
      const past = yield* submit(rider, page, { do: "addLink", label: "Kept <b>", expires: "1960-01-01" })
      assertAlert(past, "Last day: ")
      assert.include(past.text, "name=\"label\" value=\"Kept &lt;b&gt;\"")
      assert.include(past.text, "name=\"expires\" value=\"1960-01-01\"")
      assert.include(past.text, "name=\"allowDownload\" value=\"true\">")
      yield* submit(rider, page, linked)
      assert.include((yield* rider.get(`/${page}`)).text, "Expires: Jan 1, 2999.")
      yield* submit(rider, page, { do: "delete" })
      assert.strictEqual((yield* rider.get(`/${page}`)).status, 404)
      assertSeeOther(
        yield* submit(rider, "/me/trash", { do: "restoreRoute", id: String(id) }),
        "../me/trash?done=restored"
      )
      assert.strictEqual((yield* rider.get(`/${page}`)).status, 200)
    }))

  it.effect("show nobody the routes and collections of others, also not by a guess of what is public", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const { id } = yield* storedBy(rider, { visibility: "public" })
      const collection = created((yield* rider.post("/collections", { name: "Mine", visibility: "public" })).body)
      for (
        const path of [`/me/routes/${id}`, `/me/collections/${collection.id}`, "/me/routes/x", "/me/routes/999999"]
      ) {
        assert.strictEqual((yield* other.get(`/${path}`)).status, 404, path)
        assert.strictEqual((yield* submit(other, path, { do: "delete" })).status, 404, path)
      }
    }))

  it.effect("make a collection, order its routes and share it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const first = yield* storedBy(rider, { name: "First" })
      const second = yield* storedBy(rider, { name: "Second" })
      const made = yield* submit(rider, "/me/collections", { do: "create", name: "Passes", visibility: "unlisted" })
      const id = /\/(\d+)\?/.exec(made.headers.get("location") ?? "")?.[1] ?? ""
      const page = `/me/collections/${id}`
      for (const route of [first, second]) yield* submit(rider, page, { do: "addRoute", route: String(route.id) })
      yield* submit(rider, page, { do: "up", route: String(second.id), index: "1" })
      assert.deepInclude((yield* rider.get(`/collections/${id}`)).body, { routeIds: [second.id, first.id] })
      yield* submit(rider, page, { do: "removeRoute", route: String(first.id) })
      assert.deepInclude((yield* rider.get(`/collections/${id}`)).body, { routeIds: [second.id] })
      const { text } = yield* rider.get(`/${page}`)
      assert.include(text, `/c/`)
      assert.include(text, `<option value="${first.id}">First</option>`)
      assert.notInclude(text, "role=\"search\"")
      const searched = yield* rider.get(`/${page}?q=second`)
      assert.include(searched.text, "role=\"search\"")
      assert.notInclude(searched.text, `<option value="${first.id}">`)
    }))

  it.effect("change the profile, privacy zones and the password", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const handle = `ada-${rider.id}`
      const profile = { do: "save", name: "Ada", handle, avatar: "", units: "imperial", defaultActivity: "" }
      const fields = { ...profile, defaultRouteVisibility: "unlisted", "speed-cycle": "21.5" }
      assertSeeOther(yield* submit(rider, "/me/profile", fields), "../me/profile?done=saved")
      assert.deepInclude((yield* rider.get("/users/me")).body, {
        handle,
        preferences: { units: "imperial", defaultRouteVisibility: "unlisted", sportSpeeds: { cycle: 21.5 } }
      })
      assertAlert(yield* submit(rider, "/me/profile", { ...fields, handle: "A B" }), "Handle: ")
      const zone = { do: "add", label: "Home", radius: "300" }
      assertAlert(yield* submit(rider, "/me/privacy-zones", { ...zone, place: "at home" }), "Middle: enter latitude")
      assertAlert(yield* submit(rider, "/me/privacy-zones", { ...zone, place: "97.1 9.5" }), "Middle: enter latitude")
      yield* submit(rider, "/me/privacy-zones", {
        ...zone,
        place: "https://www.openstreetmap.org/#map=15/47.1415/9.5209"
      })
      assert.deepStrictEqual((yield* rider.get("/users/me/privacy-zones")).body, {
        zones: [{ center: [9.5209, 47.1415], radius: 300, label: "Home" }]
      })
      yield* submit(rider, "/me/privacy-zones", { do: "remove", index: "0", longitude: "9.5209", latitude: "47.1415" })
      assert.deepStrictEqual((yield* rider.get("/users/me/privacy-zones")).body, { zones: [] })
      // Two have one centre, the third has the longitude of both.
      const [small, large, north] = [
        { center: [9.5, 47.1], radius: 100 },
        { center: [9.5, 47.1], radius: 200 },
        { center: [9.5, 47.2], radius: 100 }
      ]
      yield* rider.call("PUT", "/users/me/privacy-zones", { body: { zones: [small, large, north] } })
      for (const [index, latitude, left] of [["1", "47.1", [small, north]], ["0", "47.2", [small]]] as const) {
        yield* submit(rider, "/me/privacy-zones", { do: "remove", index, longitude: "9.5", latitude })
        assert.deepStrictEqual((yield* rider.get("/users/me/privacy-zones")).body, { zones: left })
      }
      const changed = { do: "change", currentPassword: "wrong", newPassword: "another long enough password" }
      assertAlert(yield* submit(rider, "/me/password", changed), "The current password is wrong.")
      const right = { ...changed, currentPassword: rider.password }
      assertSeeOther(yield* submit(rider, "/me/password", right), "../me/password?done=saved")
    }))

  it.effect("show lengths in the units of the account", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({ distance: 16_093 }))).body)
      const collection = created((yield* rider.post("/collections", { name: "Long", routeIds: [id] })).body)
      for (const [units, length] of [["metric", "16.1 km"], ["imperial", "10.0 mi"]] as const) {
        yield* rider.patch("/users/me", { preferences: { units } })
        for (const path of ["//me/routes", `//me/routes/${id}`, `//me/collections/${collection.id}`]) {
          assert.include((yield* rider.get(path)).text, length, path)
        }
      }
    }))

  it.effect("delete the account, and lead to where it is kept", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      assertSeeOther(yield* submit(rider, "/me/delete", { do: "delete" }), "../me/cancel-deletion?done=requested")
      const { text } = yield* (yield* anonymous).get("//me/cancel-deletion?done=requested")
      assert.include(text, "<p class=\"notice\" role=\"status\">The account is hidden, and will be erased.</p>")
      const { email, password } = rider
      const entered = yield* submit(yield* anonymous, "/sign-in", { email, password, to: "me/routes" })
      const cookie = entered.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
      const browser = yield* withHeaders({ cookie })
      assertSeeOther(yield* browser.get("//me/routes"), "../me/cancel-deletion")
      assert.include((yield* submit(browser, "/me/cancel-deletion", {})).text, "The deletion is cancelled.")
      assert.strictEqual((yield* browser.get("//me/routes")).status, 200)
    }))

  it.effect("say to a browser that there is no such page, and to others in the shape of every error", () =>
    Effect.gen(function*() {
      const browser = yield* withHeaders({ accept: "text/html,application/xhtml+xml,*/*;q=0.8" })
      const page = yield* browser.get("//no/such/page?x=1")
      assert.deepStrictEqual([page.status, page.headers.get("content-type")], [404, "text/html; charset=utf-8"])
      assert.include(page.text, "<a href=\"../../\">start page</a>")
      assert.include(page.headers.get("content-security-policy") ?? "", "default-src 'none'")
      assert.strictEqual((yield* browser.get("////")).status, 404)
      for (const path of ["//api/v1/no", "//assets/no.css"]) {
        const { body, status } = yield* browser.get(path)
        assert.strictEqual(status, 404)
        assert.deepInclude(body, { statusCode: 404, code: "NOT_FOUND" })
      }
      for (const path of ["//r/abc%20", "//u/%F0%9F%98%80", "//no%3Csuch;page", "//%6detrics", "//me/routes/"]) {
        const escaped = yield* browser.get(path)
        assert.deepStrictEqual([escaped.status, escaped.headers.get("content-type")], [404, "text/html; charset=utf-8"])
        assert.include(escaped.text, "There is no such page")
      }
      for (const path of ["//no/such/page", "//r/abc%20", "/no%20", "//me/routes/"]) {
        assert.deepInclude((yield* (yield* anonymous).get(path)).body, { statusCode: 404 })
      }
      assert.deepInclude((yield* browser.get("/no%20")).body, { statusCode: 404 })
      assert.strictEqual((yield* browser.post("//no/such/page")).status, 404)
      assert.strictEqual((yield* browser.get("//api/v1/auth/login-email")).status, 405)
    }))

  it.effect("keep the links of who is signed in on the page of an error", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const path of ["me/routes?q=%25", "me/routes/999999", "admin", "r/no-such-route"]) {
        const { status, text } = yield* rider.get(`//${path}`)
        assert.isAtLeast(status, 400, path)
        assert.include(text, "me/profile\">Account</a>", path)
        assert.include((yield* (yield* anonymous).get("//r/no-such-route")).text, "sign-in\">Sign in</a>")
      }
    }))

  it.effect("lead on to an account from shared pages and the start page", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { shareToken } = yield* storedBy(rider, { visibility: "public" })
      for (const path of ["/", SHARED_PAGES.route.replace(":ref", shareToken)]) {
        const { text } = yield* rider.get(`/${path}`)
        for (const page of [ACCOUNT_PAGES.routes, ACCOUNT_PAGES.profile]) assert.include(text, `${page.slice(1)}">`)
        assert.include((yield* (yield* anonymous).get(`/${path}`)).text, "sign-in\">Sign in</a>")
      }
    }))

  it.effect("welcome the invited, who choose a name and a password and are signed in, without a mail about a change", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMINS[0] })
      const visitor = yield* anonymous
      const mailbox = yield* Mailbox
      const email = newEmail()
      const other = newEmail()
      const emails = `${email}\n${other}, ${admin.email}`
      const invited = yield* submit(admin, "/admin/invitations", { do: "invite", emails })
      assertAlert(invited, `2 invited, not these: ${admin.email}: The address has an account already.</p>`)
      const token = yield* mailbox.tokenFor(email)
      const [mail] = yield* mailbox.mailsTo(email)
      assert.match(mail?.text ?? "", /^Welcome!/)
      const shown = yield* visitor.get(`//invitation?token=${token}`)
      assert.include(shown.text, `<strong>${email}</strong>`)
      assert.notMatch(shown.text, /reset/i)
      const refused = yield* submit(visitor, "/invitation", { token, name: "Ada", password: "short" })
      assertAlert(refused, "Choose another password. Use 12 to 1,024 characters.")
      const accepted = yield* submit(visitor, "/invitation", { token, name: "Ada Rider", password: PASSWORD })
      assertSeeOther(accepted, "me/routes?done=welcome")
      const cookie = accepted.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
      const browser = yield* withHeaders({ cookie })
      assert.deepInclude((yield* browser.get("/users/me")).body, { email, name: "Ada Rider" })
      assert.include((yield* browser.get("//me/routes?done=welcome")).text, "Welcome! Your account is ready")
      const used = yield* visitor.get(`//invitation?token=${token}`)
      assertAlert(used, "This link was used already.")
      assert.include(used.text, "Your account is there: <a href=\"sign-in\">sign in</a>")
      assert.strictEqual((yield* mailbox.mailsTo(email)).length, 1)
    }))

  it.effect("let administrators send an invitation again and withdraw it, and nobody else see what is theirs", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMINS[1] })
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const mailbox = yield* Mailbox
      const email = newEmail()
      yield* submit(admin, "/admin/invitations", { do: "invite", emails: email })
      const first = yield* mailbox.tokenFor(email)
      const stranger = newEmail()
      yield* visitor.post("/auth/signup-email", { email: stranger, password: PASSWORD })
      yield* mailbox.tokenFor(stranger)
      const { text } = yield* admin.get("//admin/invitations")
      assert.notInclude(text, stranger)
      const id = new RegExp(`${email}</strong>[^]*?name="id" value="(\\d+)"`).exec(text)?.[1] ?? ""
      assertSeeOther(
        yield* submit(admin, "/admin/invitations", { do: "again", id }),
        "../admin/invitations?done=invited"
      )
      yield* mailbox.tokenAfter(email, 1)
      assert.strictEqual((yield* visitor.get(`//invitation?token=${first}`)).status, 200)
      yield* submit(admin, "/admin/invitations", { do: "withdraw", id })
      assert.strictEqual((yield* visitor.get(`//invitation?token=${first}`)).status, 400)
      assert.strictEqual((yield* submit(admin, "/admin/invitations", { do: "withdraw", id })).status, 404)
      assert.include((yield* admin.get("//admin/audit?event=admin.invitation_withdrawn")).text, `<td>${admin.id}</td>`)
      assert.include((yield* admin.get(`//admin/users?q=${rider.email}`)).text, "1 account<")
      assert.include((yield* admin.get("//admin")).text, "<h2>Users</h2>")
      for (const page of ["//admin", "//admin/users", "//admin/invitations", "//admin/audit"]) {
        const { status, text } = yield* rider.get(page)
        assert.strictEqual(status, 403)
        assert.notInclude(text, email)
      }
    }))
})
