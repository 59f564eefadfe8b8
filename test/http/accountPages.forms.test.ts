import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ACCOUNT_PAGES, PAGES } from "../../src/http/request/RouteTemplates.ts"
import { MAX_DESCRIPTION } from "../../src/schema/Route.ts"
import { type Actor, anonymous, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { exported, zipped } from "../support/Archives.ts"
import { gpx, trk } from "../support/Files.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const ADMIN = "admin@example.com"

const KEEPER = "keeper@example.com"

const LEAVER = "leaver@example.com"

const LENDER = "lender@example.com"

const MARKER = "marker@example.com"

const SEARCHER = "searcher@example.com"

const ADMINS = [ADMIN, KEEPER, LEAVER, LENDER, MARKER, SEARCHER]

type Fields = Readonly<Record<string, string>>

const submit = (actor: Actor, path: string, fields: Fields) =>
  actor.call("POST", `/${path}`, {
    raw: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" }
  })

const textOf = (actor: Actor, path: string) => Effect.map(actor.get(`/${path}`), ({ text }) => text)

const storedBy = (rider: Rider, fields = {}) =>
  Effect.map(rider.post("/routes", newRoute(fields)), ({ body }) => created(body))

const versionIn = (text: string) => /name="version" value="([^"]+)"/.exec(text)?.[1] ?? ""

/** Returns what a browser sends of the inputs and the choices of a page. */
const fieldsIn = (text: string): Fields => {
  const inputs = [...text.matchAll(/<input type="\w+" id="[\w-]+" name="([\w-]+)" value="([^"]*)"/g)]
  const choices = [...text.matchAll(/<select id="\w+" name="(\w+)".*?<\/select>/gs)].map(([choice, name]) =>
    [choice, name, (/value="([^"]*)" selected/.exec(choice) ?? /value="([^"]*)"/.exec(choice))?.[1]] as const
  )
  return Object.fromEntries([...inputs, ...choices].map(([, name = "", value = ""]) => [name, value]))
}

/** The links of the header say whether the reader is known. */
const linksOf = (text: string) =>
  [...(/<header>.*<\/header>/s.exec(text)?.[0] ?? "").matchAll(/<li><a href="\.\.\/([^"]+)"/g)].map(([, link]) => link)

const MARKED = / name="([\w-]+)"[^>]* aria-describedby="[^"]*\berror" aria-invalid="true"( autofocus)?/g

/** Returns the names of the fields that a page marks as those which its error is about. Only the first has the focus. */
const markedIn = (text: string) => {
  const marked = [...text.matchAll(MARKED)]
  assert.deepStrictEqual(marked.map(([, , focus]) => focus), marked.map((_, at) => at === 0 ? " autofocus" : undefined))
  return marked.map(([, name]) => name)
}

/** Sends no bytes as a browser does where no file is chosen. */
const sendFile = (actor: Actor, path: string, fields: Fields, file: string, bytes: Uint8Array) => {
  const parts = Object.entries(fields).map(([name, value]) => `name="${name}"\r\n\r\n${value}\r\n`)
  const text = [...parts, `name="${file}"; filename="${bytes.length === 0 ? "" : "a.zip"}"\r\n\r\n`].map((part) =>
    `--limit\r\ncontent-disposition: form-data; ${part}`
  ).join("")
  return actor.call("POST", `/${path}`, {
    raw: Uint8Array.from(Buffer.concat([Buffer.from(text), bytes, Buffer.from("\r\n--limit--\r\n")])),
    headers: { "content-type": "multipart/form-data; boundary=limit", "sec-fetch-site": "same-origin" }
  })
}

const ARCHIVED = gpx(trk(`<trkpt lat="47" lon="9"/><trkpt lat="48" lon="9"/>`))

const accountsIn = (text: string) =>
  [...text.matchAll(/<form method="post"[^>]*>(?:\s*<input type="hidden" name="account" value="(\d+)">)?/g)].map(
    ([, account]) => account
  )

const OF_VISITORS = ["sign-in"]

const OF_USERS = ["me/routes", "me/collections", "me/profile"]

const OF_ADMINS = [...OF_USERS, "admin"]

layer(TestServer.layer({ ADMIN_EMAILS: ADMINS.join() }))("forms of an account", (it) => {
  it.effect("of a route keep the version that they were opened with, until they say what saving them replaces", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* storedBy(rider, { name: "As it was" })
      const page = `/me/routes/${id}`
      const opened = versionIn(yield* textOf(rider, page))
      yield* rider.patch(`/routes/${id}`, { name: "Of another device" })
      const save = (version: string, tags: string) =>
        submit(rider, page, { do: "save", version, name: "Of the form", tags, visibility: "private" })
      const refused = yield* save(opened, "c_d, a_b")
      assert.strictEqual(refused.text.split("Tags: Expected").length, 2, "the field is named once")
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "name=\"tags\" value=\"c_d, a_b\"")
      assert.include(refused.text, "name=\"name\" value=\"Of the form\"")
      assert.strictEqual(versionIn(refused.text), opened)

      const stale = yield* save(versionIn(refused.text), "ab")
      assert.strictEqual(stale.status, 409)
      assert.include(stale.text, "what you wrote is below, saving it replaces what is there.")
      const current = yield* textOf(rider, page)
      assert.include(current, "name=\"name\" value=\"Of another device\"")
      assert.notStrictEqual(versionIn(current), opened)
      assert.strictEqual(versionIn(stale.text), versionIn(current))
      assert.strictEqual((yield* save(versionIn(stale.text), "ab")).status, 303)
      assert.include(yield* textOf(rider, page), "name=\"name\" value=\"Of the form\"")
    }))

  it.effect("of a collection and of the profile do not undo what was saved since they were opened", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/collections", { name: "Passes", visibility: "public" })).body)
      const changes = {
        [`/collections/${id}`]: { visibility: "private" },
        "/users/me": { preferences: { defaultRouteVisibility: "unlisted" } }
      }
      for (const [path, change] of Object.entries(changes)) {
        const page = path.startsWith("/users") ? ACCOUNT_PAGES.profile : `/me${path}`
        const opened = yield* textOf(rider, page)
        const save = (text: string, name: string) =>
          submit(rider, page, { ...fieldsIn(opened), do: "save", version: versionIn(text), name })
        yield* rider.patch(path, change)
        const refused = yield* save(opened, "")
        assert.strictEqual(refused.status, 400)
        const stale = yield* save(refused.text, "Of the form")
        assert.strictEqual(stale.status, 409, path)
        assert.include(stale.text, "what you wrote is below, saving it replaces what is there.")
        assert.include(stale.text, "name=\"name\" value=\"Of the form\"")
        assert.containSubset((yield* rider.get(path)).body, change)
        assert.strictEqual((yield* save(stale.text, "Of the form")).status, 303)
        assert.deepInclude((yield* rider.get(path)).body, { name: "Of the form" })
      }
    }))

  it.effect("of a profile keep preferences that they do not know", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const preferences = { units: "nautical", defaultActivity: "hike", defaultRouteVisibility: "unlisted" }
      yield* rider.patch("/users/me", { preferences })
      const page = ACCOUNT_PAGES.profile
      const saved = yield* submit(rider, page, { ...fieldsIn(yield* textOf(rider, page)), do: "save" })
      assert.strictEqual(saved.status, 303)
      const { body } = yield* rider.get("/users/me")
      assert.deepInclude(body, { preferences: { ...preferences, sportSpeeds: {} } })
      yield* rider.patch("/users/me", { preferences: { units: "imperial" } })
      assert.strictEqual((yield* textOf(rider, page)).split("value=\"imperial\"").length, 2, "one choice")
    }))

  it.effect("leave the lines of a description as they are stored, and count each line break once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const description = "One\n\nTwo\n".padEnd(MAX_DESCRIPTION, "x")
      const { id } = yield* storedBy(rider, { description })
      const page = `/me/routes/${id}`
      // Browsers send each line break as CRLF.
      const sent = { do: "save", name: "Lines", description: description.replaceAll("\n", "\r\n") }
      const saved = yield* submit(rider, page, { ...sent, visibility: "private", tags: "" })
      assert.strictEqual(saved.status, 303)
      assert.deepInclude((yield* rider.get(`/routes/${id}`)).body, { name: "Lines", description })
    }))

  it.effect("leave a name and a description as they are stored where nobody changes them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stored = { name: "Over\nthe pass\u200b", description: "One\u200b\r\nTwo\rThree" }
      const { id } = yield* storedBy(rider, stored)
      const collection = created((yield* rider.post("/collections", { ...stored, visibility: "public" })).body)
      const pages = { [`/routes/${id}`]: "favourite", [`/collections/${collection.id}`]: "no-such-field" }
      for (const [path, mark] of Object.entries(pages)) {
        const page = `/me${path}`
        // An input of a browser drops line breaks, and a text area has the same ones everywhere.
        const form = {
          name: "Overthe pass",
          description: "One\r\nTwo\r\nThree",
          visibility: "private",
          tags: "",
          [mark]: "true"
        }
        assert.strictEqual((yield* submit(rider, page, { ...form, do: "save" })).status, 303)
        assert.deepInclude((yield* rider.get(path)).body, { ...stored, visibility: "private" })
        yield* submit(rider, page, { ...form, name: "Over the pass", do: "save" })
        assert.deepInclude((yield* rider.get(path)).body, { ...stored, name: "Over the pass" })
        yield* submit(rider, page, { ...form, name: "Over the pass", description: "", do: "save" })
        assert.notProperty((yield* rider.get(path)).body, "description")
      }
      assert.deepInclude((yield* rider.get(`/routes/${id}`)).body, { favourite: true })
    }))

  it.effect("say once what another form of the same page has done", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const page = `${ACCOUNT_PAGES.tokens}?done=revoked`
      const words = "<p class=\"notice\" role=\"status\">Revoked. It no longer works.</p>"
      assert.include(yield* textOf(rider, page), words)
      const minted = yield* submit(rider, page, { do: "mint", name: "laptop", scope: "read", expiresInDays: "5" })
      assert.include(minted.text, "<strong>laptop</strong> is made")
      assert.notInclude(minted.text, words)
      const refused = yield* submit(rider, page, { do: "mint", name: "", scope: "read", expiresInDays: "5" })
      assert.strictEqual(refused.status, 400)
      assert.notInclude(refused.text, words)
    }))

  it.effect("of passwords lead to the sign-in and back once the session has ended", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const rider = yield* signedIn
      const fields = { do: "change", newPassword: "canary" }
      const first = yield* submit(visitor, ACCOUNT_PAGES.password, fields)
      const late = yield* submit(visitor, ACCOUNT_PAGES.password, { ...fields, currentPassword: "canary" })
      assert.deepStrictEqual([first.status, first.text], [late.status, late.text])
      assert.strictEqual(late.status, 401)
      assert.include(late.text, "You were signed out meanwhile. Sign in, then enter it again.")
      assert.notInclude(late.text, "canary")
      assert.deepStrictEqual(markedIn(late.text), [])
      assert.notInclude(late.text, "name=\"kept\"")
      const [, action = "", to = ""] = /action="\.\.\/([^"]+)"[^]*name="to" value="([^"]*)"/.exec(late.text) ?? []
      const { email, password } = rider
      const admin = yield* signedInAs({ email: KEEPER })
      const kept = JSON.stringify({ do: "save" })
      const back = yield* submit(yield* anonymous, ACCOUNT_PAGES.profile, {
        email: admin.email,
        password: admin.password,
        kept
      })
      assert.deepStrictEqual(linksOf(back.text), OF_ADMINS)
      const entered = yield* submit(visitor, `/${action}`, { to, email, password })
      assert.deepStrictEqual([entered.status, entered.headers.get("location")], [
        303,
        ACCOUNT_PAGES.password.slice(1)
      ])
    }))

  it.effect("that mails lead to have the navigation of their reader, but while the deletion is pending", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const admin = yield* signedInAs({ email: LEAVER })
      for (
        const [reader, links] of [[yield* anonymous, OF_VISITORS], [rider, OF_USERS], [admin, OF_ADMINS]] as const
      ) {
        for (const page of [PAGES.cancelDeletion, PAGES.revokeTokens]) {
          assert.deepStrictEqual(linksOf(yield* textOf(reader, page)), links, page)
        }
      }
      yield* mint(rider, "read")
      assert.deepStrictEqual(linksOf(yield* textOf(rider, PAGES.revokeTokens)), OF_USERS)
      assert.deepStrictEqual(linksOf((yield* submit(rider, PAGES.revokeTokens, {})).text), OF_USERS)

      yield* admin.delete("/users/me")
      const { email, password } = admin
      const entered = yield* submit(yield* anonymous, PAGES.cancelDeletion, { email, password })
      const cookie = entered.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
      const returned = yield* withHeaders({ cookie })
      const pending = yield* textOf(returned, PAGES.cancelDeletion)
      assert.include(pending, "Keep the account")
      assert.deepStrictEqual(linksOf(pending), OF_VISITORS)
      assert.deepStrictEqual(linksOf((yield* submit(returned, PAGES.cancelDeletion, {})).text), OF_ADMINS)
    }))

  it.effect("of lists show again a search that they refuse, the reason, and the list", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const admin = yield* signedInAs({ email: SEARCHER })
      const { id } = yield* storedBy(rider, { name: "Still listed" })
      const collection = created((yield* rider.post("/collections", { name: "Passes" })).body)
      const refused = Effect.fnUntraced(function*(actor: Rider, path: string, ...shown: ReadonlyArray<string>) {
        const { status, text } = yield* actor.get(`/${path}`)
        assert.strictEqual(status, 400, path)
        for (const part of [...shown, "role=\"alert\"", "class=\"sections\""]) assert.include(text, part, path)
      })
      const words = "Expected 1 to 10 words of letters, digits or emoji"
      const beyond = yield* textOf(rider, "/me/routes?page=999")
      assert.notInclude(beyond, "No route is like that")
      assert.include(beyond, "<a href=\"?page=1\" rel=\"prev\">")
      const entered = "name=\"q\" value=\"???\""
      yield* refused(rider, "/me/routes?q=%3F%3F%3F", words, entered, ">Still listed</a>")
      yield* refused(rider, `/me/routes?q=${"a+".repeat(11)}`, words, ">Still listed</a>")
      yield* refused(rider, `/me/collections/${collection.id}?q=%3F%3F%3F`, words, entered, `<option value="${id}"`)
      yield* refused(admin, "/admin/audit?user=Ada", "name=\"user\" value=\"Ada\"", "<tbody><tr>")
      yield* refused(admin, `/admin/users?q=${"a".repeat(255)}`, `value="${"a".repeat(255)}"`, SEARCHER)
    }))

  it.effect("mark the field that a refusal is about", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: MARKER })
      const rider = yield* signedIn
      yield* rider.patch("/users/me", { handle: "is-taken" })
      const { id } = yield* storedBy(admin)
      const collection = created((yield* admin.post("/collections", { name: "Passes" })).body)
      const { data, invitations, password, profile, routes, tokens, users, zones } = ACCOUNT_PAGES
      const sent = (path: string, fields: Fields) =>
        Effect.map(submit(admin, path, fields), ({ text }) => markedIn(text))
      const searched = (path: string) => Effect.map(textOf(admin, path), markedIn)

      assert.deepStrictEqual(yield* sent(profile, { do: "save", name: "Ada", handle: "is-taken" }), ["handle"])
      assert.deepStrictEqual(yield* sent(zones, { do: "add", place: "at home", radius: "500" }), ["place"])
      const link = { do: "addLink", label: "x".repeat(101) }
      for (const path of [`/me/routes/${id}`, `/me/collections/${collection.id}`]) {
        assert.deepStrictEqual(yield* sent(path, link), ["label"])
        assert.deepStrictEqual(yield* sent(path, { do: "addLink", expires: "2001-13-45" }), ["expires"])
      }

      const token = { do: "mint", name: "laptop", scope: "read", expiresInDays: "" }
      assert.deepStrictEqual(yield* sent(tokens, token), ["currentPassword"])
      assert.deepStrictEqual(yield* sent(tokens, { ...token, currentPassword: "wrong" }), ["currentPassword"])
      const change = { do: "change", currentPassword: "wrong", newPassword: "short" }
      assert.deepStrictEqual(yield* sent(password, change), ["newPassword"])
      assert.deepStrictEqual(yield* sent(password, { ...change, newPassword: "a long enough password" }), [
        "currentPassword"
      ])

      assert.deepStrictEqual(yield* sent(invitations, { do: "invite", emails: "" }), ["emails"])
      assert.deepStrictEqual(yield* sent(invitations, { do: "invite", emails: "ada" }), ["emails"])
      const archive = yield* zipped([["a.gpx", ARCHIVED]])
      const given = { tags: "???", collection: "x".repeat(201) }
      const filed = (path: string, fields: Fields, file: string, bytes: Uint8Array) =>
        Effect.map(sendFile(admin, path, fields, file, bytes), ({ text }) => markedIn(text))
      assert.deepStrictEqual(yield* filed(data, given, "archive", archive), ["tags", "collection"])
      assert.deepStrictEqual(yield* filed(data, {}, "archive", Buffer.from("no ZIP")), ["archive"])
      const choice = { visibility: "unlisted", tags: "gravel, alps", collection: "Tours of 2019" }
      const lost = yield* sendFile(admin, data, choice, "archive", Buffer.from("no ZIP"))
      assert.deepInclude(fieldsIn(lost.text), choice)
      assert.deepStrictEqual(yield* filed(routes, { visibility: "private" }, "files", Buffer.from("")), ["files"])

      assert.deepStrictEqual(yield* searched(`${routes}?q=%3F`), ["q"])
      assert.deepStrictEqual(yield* searched(`/me/collections/${collection.id}?q=%3F`), ["q"])
      assert.deepStrictEqual(yield* searched(`${users}?q=${"a".repeat(255)}`), ["q"])
      assert.deepStrictEqual(yield* searched("/admin/audit?user=Ada"), ["user"])
    }))

  it.effect("do nothing for another account than the one that they were made for", () =>
    Effect.gen(function*() {
      const ada = yield* signedInAs({ email: LENDER })
      const bob = yield* signedIn
      const route = yield* storedBy(ada)
      const { id } = created((yield* ada.post("/collections", { name: "Passes", routeIds: [route.id] })).body)
      yield* mint(ada, "read")
      yield* mint(bob, "read")
      const { cancelDeletion, revokeTokens } = PAGES
      const { collection, data, deletion, password, routes, zones } = ACCOUNT_PAGES
      const account = String(ada.id)
      const pages = Object.values(ACCOUNT_PAGES).filter((path) => /^.(?:me|admin)/.test(path))
      for (const path of [revokeTokens, ...pages]) {
        const text = yield* textOf(ada, path.replace(":id", String(path === collection ? id : route.id)))
        for (const value of accountsIn(text)) assert.strictEqual(value, account, path)
      }
      const archive = yield* zipped([["a.gpx", ARCHIVED]])
      const refused = [
        yield* submit(bob, deletion, { do: "delete", account }),
        yield* submit(bob, `/me/routes/${route.id}`, { do: "delete", account }),
        yield* submit(bob, revokeTokens, { account }),
        yield* submit(bob, zones, { do: "add", place: "47.1, 9.5", radius: "500", account }),
        yield* sendFile(bob, data, { account }, "archive", archive),
        yield* sendFile(bob, data, { account }, "archive", (yield* exported(ada)).bytes),
        yield* sendFile(bob, routes, { account, visibility: "public" }, "files", Buffer.from(ARCHIVED))
      ]
      for (const { status, text } of refused) {
        assert.strictEqual(status, 409)
        assert.include(text, "Another account is signed in in this browser now, so nothing was done.")
      }
      const [deleted, , , added] = refused
      assert.strictEqual(accountsIn(deleted?.text ?? "").at(-1), String(bob.id))
      assert.include(deleted?.text, `<strong>${bob.email}</strong>`)
      assert.include(added?.text, "value=\"47.1, 9.5\"")
      assert.include(yield* textOf(bob, cancelDeletion), "is not going to be deleted")
      assert.deepStrictEqual((yield* bob.get("/users/me/privacy-zones")).body, { zones: [] })
      assert.deepStrictEqual((yield* bob.get("/routes")).body, [])
      assert.include(yield* textOf(bob, revokeTokens), "action=\"revoke-tokens\"")

      const late = yield* submit(yield* anonymous, zones, { do: "add", place: "47.1, 9.5", radius: "500", account })
      const kept = JSON.stringify({ do: "add", place: "47.1, 9.5", radius: "500", account })
      assert.include(late.text, kept.replaceAll("\"", "&quot;"))
      const entered = yield* submit(yield* anonymous, zones, { kept, email: bob.email, password: bob.password })
      assert.include(entered.text, `name="account" value="${bob.id}"`)
      assert.notInclude(entered.text, `name="account" value="${account}"`)
      const first = yield* submit(yield* anonymous, password, { do: "change", newPassword: "x", account })
      assert.notInclude(first.text, "name=\"kept\"")
    }))

  it.effect("of administrators lead to the audit of a person, and to the page while there is one", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMIN })
      const rider = yield* signedIn
      const handle = `handle-of-${rider.id}`
      yield* rider.patch("/users/me", { handle })
      const list = textOf(admin, `${ACCOUNT_PAGES.users}?q=${encodeURIComponent(rider.email)}`)
      assert.include(yield* list, `<a href="../u/${handle}">@${handle}</a>`)
      const [, audit = ""] = /href="\.\.\/(admin\/audit\?user=\d+)"/.exec(yield* list) ?? []
      assert.include(yield* textOf(admin, `/${audit}`), `name="user" value="${rider.id}"`)
      yield* rider.delete("/users/me")
      assert.include(yield* list, `</strong> @${handle}\n`)
      assert.strictEqual((yield* admin.get(`//u/${handle}`)).status, 404)
    }))
})
