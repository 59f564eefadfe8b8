import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ACCOUNT_PAGES } from "../../src/http/request/RouteTemplates.ts"
import { type Actor, anonymous, newEmail, type Rider, signedIn, signedInAs } from "../support/Actors.ts"
import { exported, imported, importedByPage, zipped } from "../support/Archives.ts"
import { fill, make } from "../support/Collections.ts"
import { publish } from "../support/PublicRoutes.ts"
import { created, newRoute } from "../support/Routes.ts"
import { signInAgain } from "../support/SignIns.ts"
import { TestServer } from "../support/TestServer.ts"

const ADMIN = "admin@example.com"

const INVITER = "inviter@example.com"

type Fields = Readonly<Record<string, string>>

const submit = (actor: Actor, path: string, fields: Fields | string, headers = {}) =>
  actor.call("POST", `/${path}`, {
    raw: typeof fields === "string" ? fields : new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", ...headers }
  })

const textOf = (actor: Actor, path: string) => Effect.map(actor.get(`/${path}`), ({ text }) => text)

const storedBy = (rider: Rider, fields = {}) =>
  Effect.map(rider.post("/routes", newRoute(fields)), ({ body }) => created(body))

const alertIn = (text: string) => /role="alert">([^<]*)</.exec(text)?.[1]

layer(TestServer.layer({ ADMIN_EMAILS: `${ADMIN},${INVITER}` }))("pages of an account, in detail", (it) => {
  it.effect("take the middle of a zone from coordinates and addresses of maps, up to the poles and the date line", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const table = [
        ["47.1415, 9.5209", [9.5209, 47.1415]],
        ["7 8", [8, 7]],
        [" -7.5;-123 ", [-123, -7.5]],
        ["90 180", [180, 90]],
        ["-90,-180", [-180, -90]],
        ["https://www.google.com/maps/@47.25,9.5,15z", [9.5, 47.25]],
        ["geo:7.25,108.5", [108.5, 7.25]],
        ["https://www.openstreetmap.org/#map=15/-47.25/-9.5", [-9.5, -47.25]],
        [
          "https://www.google.com/maps/place/Home/@47.2,9.6,12z/data=!3m1!4b1!8m2!3d47.1415!4d9.5209",
          [9.5209, 47.1415]
        ],
        ["https://www.openstreetmap.org/?mlat=47.1415&mlon=-9#map=12/47.2/9.6", [-9, 47.1415]],
        ["90.001 0", undefined],
        ["0 180.001", undefined],
        ["123 9", undefined],
        ["47 1234", undefined],
        ["https://a.example/@123.5,9.5", undefined],
        ["47", undefined]
      ] as const
      for (const [place, center] of table) {
        const { text } = yield* submit(rider, "/me/privacy-zones", { do: "add", label: "", radius: "500", place })
        const { body } = yield* rider.get("/users/me/privacy-zones")
        assert.deepStrictEqual(body, { zones: center === undefined ? [] : [{ center, radius: 500 }] }, place)
        assert.strictEqual(alertIn(text)?.slice(0, 7), center === undefined ? "Middle:" : undefined, place)
        yield* rider.call("PUT", "/users/me/privacy-zones", { body: { zones: [] } })
      }
    }))

  it.effect("move a route of a collection by one place, and offer only the moves that there are", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids: Array<number> = []
      for (const name of ["A", "B", "C", "D"]) ids.push((yield* storedBy(rider, { name })).id)
      const { body } = yield* rider.post("/collections", { name: "Passes", routeIds: ids, description: "High" })
      const { id } = created(body)
      const page = `/me/collections/${id}`
      const move = (action: string, index: number | string) =>
        submit(rider, page, { do: action, route: String(ids[0]), index: String(index) })
      const places = Effect.gen(function*() {
        const { body } = yield* rider.get(`/collections/${id}/routes`)
        return Array.isArray(body) ? body.map(({ name }) => name).join("") : ""
      })
      yield* move("down", 0)
      assert.strictEqual(yield* places, "BACD")
      yield* move("down", 1)
      assert.strictEqual(yield* places, "BCAD")
      yield* move("up", 2)
      assert.strictEqual(yield* places, "BACD")
      for (const index of [0, "x"]) assert.strictEqual((yield* move("up", index)).status, 400)
      assert.strictEqual(yield* places, "BACD")
      const text = yield* textOf(rider, page)
      const items = [...text.matchAll(/<li id="route-\d+">(.*?)<\/li>/gs)].map(([, item = ""]) =>
        [...item.matchAll(/value="(up|down|removeRoute)"/g)].map(([, action]) => action).join(" ")
      )
      assert.deepStrictEqual(items, [
        "down removeRoute",
        "up down removeRoute",
        "up down removeRoute",
        "up removeRoute"
      ])
      assert.include(text, "<h2>4 routes</h2>")
      assert.include(text, "All of these routes are in it.")
      assert.include(text, `href="../../c/${id}"`, "a private one by its id")
      assert.include(yield* textOf(rider, `${page}?q=nothing`), "No route is like that.")
      assert.include(yield* textOf(rider, "/me/collections"), "4 routes, private. High</p>")
      const refused = yield* submit(rider, page, { do: "save", name: "", description: "Kept", visibility: "private" })
      assert.include(refused.text, "name=\"name\" value=\"\"")
      assert.include(refused.text, ">\nKept</textarea>")
      const other = yield* submit(rider, page, { do: "addRoute", name: "Not this", route: "999999" })
      assert.include(other.text, "name=\"name\" value=\"Passes\"")
      const newest = yield* storedBy(rider, { name: "E" })
      assert.include(yield* textOf(rider, page), `<option value="${newest.id}">E</option></select>`)
      for (const routeIds of [[], [newest.id]]) {
        const { body } = yield* rider.post("/collections", { name: "Short", routeIds })
        const short = yield* textOf(rider, `/me/collections/${created(body).id}`)
        assert.strictEqual(short.split("<ol class=\"rows\">").length - 1, routeIds.length)
      }
      assert.include(text, `<strong><a href="../../me/routes/${ids[0]}">A</a></strong>`)
      const shared = created((yield* rider.patch(`/collections/${id}`, { visibility: "unlisted" })).body)
      assert.include(yield* textOf(rider, page), `href="../../c/${shared.shareToken}"`)
    }))

  it.effect("show at most four tags on a card, and count the others, and have a choice of 50", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* storedBy(rider, { name: "Four", tags: ["a1", "a2", "a3", "a4"], favourite: true })
      yield* storedBy(rider, { name: "Six", tags: ["b1", "b2", "b3", "b4", "b5", "b6"] })
      const more = Array.from({ length: 41 }, (_, index) => `c${index}`)
      for (let at = 0; at < more.length; at += 10) yield* storedBy(rider, { tags: more.slice(at, at + 10) })
      const text = yield* textOf(rider, "/me/routes")
      const choice = /<select id="tag".*?<\/select>/.exec(text)?.[0] ?? ""
      assert.strictEqual(choice.split("<option").length - 1, 51, "any, and 50 of the 51")
      const marksOf = (name: string) =>
        [...new RegExp(`Marks of ${name}">(.*?)</ul>`).exec(text)?.[1]?.matchAll(/<li[^>]*>([^<]*)</g) ?? []].map(
          ([, mark]) => mark
        )
      assert.deepStrictEqual(marksOf("Four"), ["private", "favourite", "a1", "a2", "a3", "a4"])
      assert.deepStrictEqual(marksOf("Six"), ["private", "b1", "b2", "b3", "b4", "+2"])
      const favourites = yield* textOf(rider, "/me/routes?favourite=true&tag=a1&visibility=")
      assert.include(favourites, ">Four</a>")
      assert.notInclude(favourites, ">Six</a>")
      assert.include(favourites, "<option value=\"true\" selected>Only favourites</option>")
      assert.include(favourites, "<option value=\"a1\" selected>a1 (1)</option>")
      assert.include(favourites, "1 route</p>")
    }))

  it.effect("make several routes of a file with several tracks, and name what is left out of one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const track = (name: string, lat: number) =>
        `<trk><name>${name}</name><trkseg><trkpt lat="${lat}" lon="9"/><trkpt lat="${lat + 1}" lon="9"/></trkseg></trk>`
      const file = `<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1">${track("North", 50)}${
        track("South", 40)
      }</gpx>`
      const part = (named: string, content: string) =>
        `--limit\r\ncontent-disposition: form-data; ${named}\r\n\r\n${content}\r\n`
      const send = (path: string, body: string) =>
        submit(rider, path, `${body}--limit--\r\n`, { "content-type": "multipart/form-data; boundary=limit" })
      const { headers } = yield* send(
        "/me/routes",
        part("name=\"visibility\"", "unlisted") + part("name=\"files\"; filename=\"two.gpx\"", file)
          + part("name=\"files\"; filename=\"\"", "")
      )
      assert.strictEqual(headers.get("location"), "../me/routes?done=uploaded")
      assert.match(yield* textOf(rider, "/me/routes"), />South<\/a>[^]*>North<\/a>/)
      const places = Array.from({ length: 1001 }, (_, at) => `<wpt lat="${47 + at / 2000}" lon="9"/>`).join("")
      const many = file.replace(/<trk><name>South.*<\/trk>/, "").replace("<trk>", `${places}<trk>`)
        .replace("North", "Shelters").replace("lat=\"51\"", "lat=\"49\"")
      const { text } = yield* send(
        "/me/routes",
        part("name=\"visibility\"", "private") + part("name=\"files\"; filename=\"many.gpx\"", many)
      )
      assert.match(text, /many\.gpx<\/strong>\s*<p class="hint"><a href="\S+">Shelters<\/a> <\/p>/)
      assert.include(text, "Left out: waypoints (1): a route has at most 1000, the first are kept.</p>")
      assert.strictEqual((yield* send("/me/profile", part("name=\"do\"", "save"))).status, 415)
      assert.strictEqual((yield* submit(rider, "/me/routes", { do: "save" })).status, 400)
    }))

  it.effect("say how many routes of an archive are here already, and how many a collection has no room for", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      for (const one of [rider, other]) yield* storedBy(one, { geometry: [[9, 47], [9, 48]] })
      const report = (yield* importedByPage(other, (yield* exported(rider)).bytes)).text
      assert.include(report, "0 new, 0 restored, 0 as before, 1 here already from elsewhere, unchanged</dd>")
      const { id } = yield* make(other, { name: "Full" })
      yield* fill(other, id)
      const track = `<trk><trkseg><trkpt lat="50" lon="9"/><trkpt lat="51" lon="9"/></trkseg></trk>`
      const bytes = yield* zipped([["a.gpx", `<gpx version="1.1" creator="t">${track}</gpx>`]])
      const full = (yield* importedByPage(other, bytes, { collection: "Full" })).text
      assert.include(full, "0 skipped. Not in the collection, which may have 1,000 routes: 1.</span>")
      assert.notInclude((yield* importedByPage(other, bytes)).text, "Not in the collection")
    }))

  it.effect("publish a route with what else its form says, and lead to the page that its viewers see", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id, shareToken } = yield* storedBy(rider, { name: "Mine" })
      const page = `/me/routes/${id}`
      assert.notInclude(yield* textOf(rider, page), "value=\"publish\"")
      assert.include(yield* textOf(rider, page), `href="../../r/${id}"`)
      assert.include(yield* textOf(rider, page), "It is private: nobody else opens it.")
      assert.notInclude(yield* textOf(rider, page), "id=\"share\"")
      // A form of a program may have no version, and no tags.
      const fields = { do: "save", name: "Mine", visibility: "public", tags: "" }
      assert.strictEqual((yield* submit(rider, page, fields)).status, 303)
      const text = yield* textOf(rider, page)
      assert.include(text, `href="../../r/${shareToken}"`)
      assert.include(text, `id="share" class="secret" readonly value="http://localhost:3000/r/${shareToken}"`)
      assert.include(text, "name=\"allowDownload\" value=\"true\" checked>")
      yield* rider.post(`/routes/${id}/links`, { label: "" })
      yield* submit(rider, page, { do: "addLink", label: "Until", expires: "2999-01-01" })
      const linked = yield* textOf(rider, page)
      assert.match(linked, /<label for="link-(\d+)">Link \1<\/label>/)
      assert.match(linked, /<label for="link-\d+">Until<\/label>/)
      assert.include(linked, "Without files.")
      const { body } = yield* rider.get(`/routes/${id}/links`)
      assert.include(JSON.stringify(body), "\"expiresAt\":\"2999-01-01T23:59:59.000Z\"")
      const other = yield* submit(rider, page, { do: "save", name: "", label: "x", visibility: "public" })
      assert.notInclude(other.text, "name=\"label\" value=\"x\"")
    }))

  it.effect("restore a public route and a public collection as they were", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* publish(rider, { name: "Open" })
      const { id } = created((yield* rider.post("/collections", { name: "Open", visibility: "public" })).body)
      yield* rider.delete(`/routes/${route.id}`)
      yield* rider.delete(`/collections/${id}`)
      const trash = yield* textOf(rider, "/me/trash")
      assert.include(trash, "value=\"restoreRoute\"")
      assert.include(trash, "value=\"restoreCollection\"")
      yield* submit(rider, "/me/trash", { do: "restoreRoute", id: String(route.id) })
      yield* submit(rider, "/me/trash", { do: "restoreCollection", id: String(id) })
      const visitor = yield* anonymous
      assert.strictEqual((yield* visitor.get(`/routes/${route.id}`)).status, 200)
      assert.strictEqual((yield* visitor.get(`/collections/${id}`)).status, 200)
    }))

  it.effect("sign the browser out by its own session, and leave it signed in by another", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* signInAgain(rider, "another program")
      const sql = yield* SqlClient.SqlClient
      const sessions = yield* sql<{ id: string; isOwn: boolean }>`
        SELECT id, user_agent = 'node' AS "isOwn" FROM sessions WHERE user_id = ${rider.id}`
      const idOf = (isOwn: boolean) => sessions.find((session) => session.isOwn === isOwn)?.id ?? ""
      const other = yield* submit(rider, "/me/sessions", { do: "revoke", id: idOf(false) })
      assert.strictEqual(other.headers.get("location"), "../me/sessions?done=revoked")
      assert.notMatch(other.headers.getSetCookie().join(), /__Host-service_session=;/)
      yield* sql`UPDATE sessions SET user_agent = NULL WHERE id = ${idOf(true)}`
      assert.include(yield* textOf(rider, "/me/sessions"), "<strong>An unknown program</strong>")
      const own = yield* submit(rider, "/me/sessions", { do: "revoke", id: idOf(true) })
      assert.strictEqual(own.headers.get("location"), "../")
      assert.match(own.headers.getSetCookie()[0] ?? "", /^__Host-service_session=;/)
    }))

  it.effect("take forms of up to 256 KiB, and those of visitors of up to 32 KiB", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const formOf = (bytes: number) => "a=".padEnd(bytes, "x")
      const statuses = yield* Effect.forEach(
        [
          [rider, "/me/profile", 256],
          [yield* anonymous, "/forgot-password", 32]
        ] as const,
        ([actor, path, kibibytes]) =>
          Effect.forEach(
            [0, 1],
            (more) => Effect.map(submit(actor, path, formOf(1024 * kibibytes + more)), ({ status }) => status)
          )
      )
      assert.deepStrictEqual(statuses, [[400, 413], [400, 413]])
    }))

  it.effect("lead from a sign-in to the page before it, or to the routes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const pages = {
        "": "me/routes",
        "?to=me/tokens": "me/tokens",
        "?to=admin/users": "admin/users",
        "?to=me/routes%3Fq%3Dalps%2Bpass": "me/routes?q=alps+pass",
        "?to=me/routes%3Fq%3DRhine%2520(north)*%26sort%3Dname": "me/routes?q=Rhine%20(north)*&amp;sort=name",
        "?to=me/routes%3Fq%3D//example.com": "me/routes",
        "?to=u/a": "me/routes"
      }
      for (const [query, page] of Object.entries(pages)) {
        assert.include(yield* textOf(visitor, `/sign-in${query}`), `name="to" value="${page}"`)
        const { headers } = yield* rider.get(`//sign-in${query}`)
        assert.strictEqual(headers.get("location"), page.replace("&amp;", "&"))
      }
      const { email, password } = rider
      assert.strictEqual((yield* submit(visitor, "/sign-in", { email, password })).headers.get("location"), "me/routes")
    }))

  it.effect("give a privacy zone that is added again its new name, which an import leaves", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const zone = { do: "add", place: "47.1415, 9.5209", radius: "300" }
      const stored = Effect.map(rider.get("/users/me/privacy-zones"), ({ body }) => body)
      const named = (label: string) => ({ zones: [{ center: [9.5209, 47.1415], radius: 300, label }] })
      for (const label of ["Home", "Work"]) {
        assert.strictEqual((yield* submit(rider, "/me/privacy-zones", { ...zone, label })).status, 303)
        assert.deepStrictEqual(yield* stored, named(label))
      }
      const { bytes } = yield* exported(rider)
      yield* rider.call("PUT", "/users/me/privacy-zones", { body: named("Office") })
      assert.strictEqual((yield* imported(rider, bytes)).status, 201)
      assert.deepStrictEqual(yield* stored, named("Office"))
    }))

  it.effect("say of an uploaded file that has no routes which ones are read", () =>
    Effect.gen(function*() {
      const file = "--limit\r\ncontent-disposition: form-data; name=\"files\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.4\r\n"
      const choice = "--limit\r\ncontent-disposition: form-data; name=\"visibility\"\r\n\r\nprivate\r\n"
      const { status, text } = yield* (yield* signedIn).call("POST", "//me/routes", {
        raw: `${choice}${file}--limit--\r\n`,
        headers: { "content-type": "multipart/form-data; boundary=limit", "sec-fetch-site": "same-origin" }
      })
      assert.strictEqual(status, 200)
      assert.include(text, "<p class=\"problem\">Choose a file of GPX, GeoJSON, TCX, KML, FIT or ZIP.</p>")
    }))

  it.effect("remember no device that the browser did not have when its password is changed", () =>
    Effect.gen(function*() {
      const { password, ...rider } = yield* signedIn
      const fields = { do: "change", currentPassword: password, newPassword: "another long enough password" }
      const { headers, status } = yield* submit(rider, "/me/password", fields)
      assert.strictEqual(status, 303)
      assert.notMatch(headers.getSetCookie().join(), /_device=/)
    }))

  it.effect("keep what was entered late but for passwords, and lead away from it", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const rider = yield* signedIn
      const fields = { do: "change", currentPassword: "canary", newPassword: "canary", note: "Kept" }
      const long = yield* submit(rider, "/me/password", fields)
      assert.strictEqual(alertIn(long.text), "New password: Use 12 to 1,024 characters.")
      const late = yield* submit(visitor, "/me/password", fields)
      assert.include(
        late.text,
        "name=\"kept\" value=\"{&quot;do&quot;:&quot;change&quot;,&quot;note&quot;:&quot;Kept&quot;}\""
      )
      const kept = JSON.stringify({ note: "Kept" })
      const entered = yield* submit(visitor, "/me/password", { kept, email: rider.email, password: rider.password })
      assert.include(entered.text, "<a href=\"../me/routes\">Do not send it</a>")
    }))

  it.effect("lead administrators through lists by page, with their filters", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMIN })
      const other = yield* signedIn
      yield* Effect.forEach(Array.from({ length: 25 }), () => signedIn, { concurrency: 4 })
      const users = yield* textOf(admin, "/admin/users?q=example&sort=-storedBytes")
      assert.include(users, "<a href=\"?q=example&amp;sort=-storedBytes&amp;page=2\" rel=\"next\">Older</a>")
      assert.include(users, "<option value=\"-storedBytes\" selected>")
      assert.include(yield* textOf(admin, "/admin/users"), "<a href=\"?page=2\" rel=\"next\">Older</a>")
      const found = (email: string) => textOf(admin, `/admin/users?q=${encodeURIComponent(email)}`)
      assert.include(yield* found(other.email), "value=\"delete\"")
      assert.notInclude(yield* found(other.email), "administrator")
      assert.include(yield* found(ADMIN), `${ADMIN}, administrator, made on`)
      assert.notInclude(yield* found(other.email), "Deletion requested")
      yield* submit(admin, "/admin/users", { do: "delete", id: String(other.id) })
      assert.include(yield* found(other.email), ". Deletion requested on Jan 1, 1970")
      assert.notInclude(yield* found(other.email), "value=\"delete\"")
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO audit_events (event, user_id, created_at)
        SELECT 'session.revoked', ${other.id}, to_timestamp(0) FROM generate_series(1, 25)`
      const audited = yield* textOf(admin, `/admin/audit?user=${other.id}&event=session.revoked`)
      assert.include(audited, `<a href="?user=${other.id}&amp;event=session.revoked&amp;page=2" rel="next">Older</a>`)
      assert.strictEqual(audited.split("<td>Ended a session</td>").length, 25)
      assert.include(yield* textOf(admin, "/admin/audit"), "<a href=\"?page=2\" rel=\"next\">Older</a>")
    }))

  it.effect("take 1 to 50 addresses of invitations", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: INVITER })
      const invite = (emails: string) =>
        Effect.map(submit(admin, ACCOUNT_PAGES.invitations, { do: "invite", emails }), ({ text }) => alertIn(text))
      assert.include(yield* textOf(admin, ACCOUNT_PAGES.invitations), "<p>There are none.</p>")
      const wrong = Array.from({ length: 51 }, (_, index) => `wrong-${index}`)
      assert.match((yield* invite(wrong.slice(1).join("\n"))) ?? "", /^0 invited, not these: wrong-1, wrong-2,/)
      for (const emails of [" ,\n", wrong.join(";")]) {
        assert.strictEqual(yield* invite(emails), "Enter 1 to 50 email addresses.")
      }
      assert.isUndefined(yield* invite(newEmail()))
      const text = yield* textOf(admin, ACCOUNT_PAGES.invitations)
      assert.notInclude(text, "There are none.")
      assert.include(text, "value=\"withdraw\"")
    }))
})
