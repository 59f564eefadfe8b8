import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ACCOUNT_PAGES, PAGES, templateOf } from "../../src/http/request/RouteTemplates.ts"
import { type Actor, anonymous, newEmail, type Rider, signedIn, signedInAs } from "../support/Actors.ts"
import { publish } from "../support/PublicRoutes.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"
import { setZones } from "../support/Zones.ts"

const ADMINS = ["first@example.com", "second@example.com"] as const

const BASE = "http://localhost:3000"

const LINE = Array.from({ length: 30 }, (_, index) => [9.5 + index / 300, 47.1 + index / 400, 450 + index])

const submit = (actor: Actor, path: string, fields: Readonly<Record<string, string>>) =>
  actor.call("POST", `/${path}`, {
    raw: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" }
  })

const textOf = (actor: Actor, path: string) =>
  Effect.map(actor.get(`/${path}`), ({ status, text }) => {
    assert.strictEqual(status, 200, path)
    return text
  })

/** Returns the pages of an administrator who has one of everything. */
const filled = Effect.fnUntraced(function*(admin: Rider) {
  const open = yield* publish(admin, { name: "Open", geometry: LINE, description: "By the river", tags: ["gravel"] })
  const hidden = created((yield* admin.post("/routes", newRoute({ name: "Hidden", geometry: LINE }))).body)
  const erased = created((yield* admin.post("/routes", newRoute({ name: "Erased" }))).body)
  yield* admin.delete(`/routes/${erased.id}`)
  const members = { name: "Passes", visibility: "public", routeIds: [open.id, hidden.id] }
  const collection = created((yield* admin.post("/collections", members)).body)
  yield* admin.patch("/users/me", { handle: "ada-rides" })
  yield* admin.post(`/routes/${open.id}/links`, { label: "Sunday" })
  yield* mint(admin, "read")
  yield* setZones(admin, [{ center: [20, 50], radius: 500 }])
  yield* submit(admin, ACCOUNT_PAGES.invitations, { do: "invite", emails: newEmail() })
  return { open, hidden, collection, route: `/me/routes/${open.id}`, list: `/me/collections/${collection.id}` }
})

/** Names addresses outside of the API by what is fixed in them, so that each kind is requested once. */
const linksIn = (path: string, text: string) =>
  new Map(
    [...text.matchAll(/\s(?:href|src|srcset|action)="([^"#]+)"/g)].flatMap(([, link = ""]) => {
      const url = new URL(link.replaceAll("&amp;", "&"), `${BASE}${path}`)
      return url.origin === BASE && !url.pathname.startsWith("/api")
        ? [[templateOf("GET", url.pathname) ?? url.pathname, url.pathname + url.search] as const]
        : []
    })
  )

layer(TestServer.layer({ ADMIN_EMAILS: ADMINS.join(",") }))("every page", (it) => {
  it.effect("leads to what is there, is as wide as it should be, and is found by search engines where that is meant", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMINS[0] })
      const visitor = yield* anonymous
      const { collection, hidden, list, open, route } = yield* filled(admin)
      const { route: _, collection: __, signIn, signUp, signOut, forgotPassword, ...sections } = ACCOUNT_PAGES
      const forms = [forgotPassword, PAGES.cancelDeletion, PAGES.revokeTokens]
      const pages: ReadonlyArray<readonly [who: Actor, path: string, shape: string]> = [
        ...["/", signIn, signUp].map((path) => [visitor, path, path === "/" ? "wide, listed" : ", listed"] as const),
        [visitor, "/?tag=gravel", "wide"],
        ...forms.map((path) => [visitor, path, ""] as const),
        [admin, signOut, ""],
        [admin, "/", "wide, listed"],
        ...[...Object.values(sections), route, list].map((path) => [admin, path, "wide, listed"] as const),
        ...[`/r/${open.shareToken}`, `/c/${collection.id}`, "/u/ada-rides"].map((path) =>
          [visitor, path, "wide, listed"] as const
        ),
        [visitor, `/c/${collection.shareToken}`, "wide"],
        [admin, `/r/${hidden.id}`, "wide"],
        [visitor, `/embed/${open.shareToken}`, "framed wide"]
      ]
      const links = new Map<string, string>()
      for (const [who, path, shape] of pages) {
        const text = yield* textOf(who, path)
        const isListed = !text.includes("<meta name=\"robots\" content=\"noindex\">")
        const styles = /<body class="([^"]*)">/.exec(text)?.[1] ?? "none"
        assert.strictEqual(`${styles}${isListed ? ", listed" : ""}`, shape, path)
        for (const [template, address] of linksIn(path, text)) links.set(template, address)
      }
      for (const address of links.values()) {
        const { status } = yield* admin.get(`/${address}`)
        assert.isBelow(status, 400, address)
      }
      assert.isAbove(links.size, 25)
    }))

  it.effect("of an account marks its section, and says what was done", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      const sectionsOf = (text: string) => /<nav class="sections"[^>]*>(.*?)<\/nav>/s.exec(text)?.[1] ?? ""
      const marks = [
        ["/me/routes", "../me/routes\" aria-current=\"page", 3],
        [`/me/routes/${id}`, "../../me/routes\" aria-current=\"true", 3],
        ["/me/privacy-zones", "../me/privacy-zones\" aria-current=\"page", 8],
        ["/me/trash", "../me/trash\" aria-current=\"page", 3]
      ] as const
      for (const [path, mark, count] of marks) {
        const sections = sectionsOf(yield* textOf(rider, path))
        assert.deepStrictEqual([...sections.matchAll(/<a href="(\S+ aria-current="\w+)"/g)].map(([, link]) => link), [
          mark
        ])
        assert.strictEqual(sections.split("<li>").length - 1, count, path)
        assert.strictEqual(sections.includes("action=\"../sign-out\""), count === 8)
      }
      assert.include(yield* textOf(rider, "/me/profile?done=saved"), "<p class=\"notice\" role=\"status\">Saved.</p>")
      for (const path of ["/me/profile?done=nothing", "/me/profile?done=toString", "/me/profile"]) {
        assert.notInclude(yield* textOf(rider, path), "class=\"notice\"")
      }
    }))

  it.effect("requires the fields that its endpoint requires, and no other", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: ADMINS[1] })
      const visitor = yield* anonymous
      const { list, route } = yield* filled(admin)
      const requiredIn = (text: string) =>
        [...text.matchAll(/<(?:input|select|textarea)[^>]* name="(\w+)"[^>]* required/g)].map(([, name]) => name)
      const table = [
        [admin, "/me/routes", ["files"]],
        [admin, route, ["name"]],
        [admin, "/me/collections", ["name"]],
        [admin, list, ["name"]],
        [admin, "/me/profile", ["name", "handle"]],
        [admin, "/me/privacy-zones", ["place", "radius"]],
        [admin, "/me/tokens", ["name"]],
        [admin, "/me/password", ["newPassword"]],
        [admin, "/me/data", ["archive"]],
        [admin, "/admin/invitations", ["emails"]],
        [visitor, "/sign-in", ["email", "password"]],
        [visitor, "/sign-up", ["email", "password"]],
        [visitor, "/forgot-password", ["email"]]
      ] as const
      for (const [who, path, names] of table) {
        assert.deepStrictEqual(requiredIn(yield* textOf(who, path)), [...names], path)
      }
      assert.notInclude(yield* textOf(visitor, "/sign-in"), "without a password")
      const zones = yield* textOf(admin, "/me/privacy-zones")
      assert.include(zones, "name=\"radius\" value=\"500\" required step=\"any\"")
      assert.include(zones, "<strong>Zone 1</strong>")
    }))

  it.effect("has pictures of the size that they are shown in, without a profile in small ones and in miles", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { list, open, route } = yield* filled(rider)
      const picturesIn = (text: string) => [
        ...new Set(
          [...text.matchAll(/picture\.svg\?width=(\d+)&amp;height=(\d+)(?:&amp;theme=dark)?(&amp;profile=true)?"/g)]
            .map(
              ([, width, height, profile]) => `${width}x${height}${profile === undefined ? "" : " with profile"}`
            )
        ),
        ...new Set([...text.matchAll(/ loading="(\w+)">/g)].map(([, loading = ""]) => loading))
      ]
      const table = [
        [rider, "/me/routes", ["360x225", "lazy"]],
        [rider, route, ["400x440 with profile", "960x480 with profile"]],
        [rider, `${route}?units=imperial`, ["400x440", "960x480"]],
        [rider, list, ["160x100", "lazy"]],
        [visitor, `/r/${open.shareToken}`, ["400x360", "960x540"]],
        [visitor, `/embed/${open.shareToken}`, ["400x300 with profile", "640x340 with profile"]],
        [visitor, `/embed/${open.shareToken}?units=imperial`, ["400x300", "640x340"]],
        [visitor, "/u/ada-rides", ["360x225", "lazy"]]
      ] as const
      for (const [who, path, pictures] of table) {
        assert.deepStrictEqual(picturesIn(yield* textOf(who, path)), [...pictures], path)
      }
    }))

  it.effect("of a collection tells an account without routes from a search that finds none", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/collections", { name: "Empty" })).body)
      assert.include(yield* textOf(rider, `/me/collections/${id}`), "<p>There are no routes here yet.")
      assert.include(yield* textOf(rider, `/me/collections/${id}?q=nothing`), "<p>No route is like that.</p>")
    }))

  it.effect("with a list says so where there is nothing in it, and only then", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const table = [
        ["/me/routes", "There are no routes here yet.", "<ul class=\"cards\">"],
        ["/me/routes?page=2", "There are no routes here yet.", "?page=2"],
        ["/me/routes?q=nothing", "No route is like that.", "<ul class=\"cards\">"],
        ["/me/collections", "There are none.", "<ul class=\"rows\">"],
        ["/me/privacy-zones", "There are none.", "<ul class=\"rows\">"],
        ["/me/tokens", "There are none.", "<ul class=\"rows\">"]
      ] as const
      for (const [path, words, list] of table) {
        const text = yield* textOf(rider, path)
        assert.include(text, `<p>${words}`, path)
        assert.notInclude(text, list, path)
      }
      assert.strictEqual((yield* textOf(rider, "/me/trash")).split("<p>There are none in the trash.</p>").length, 3)
      assert.notInclude(yield* textOf(rider, "/me/routes"), "<select id=\"tag\"")
      yield* filled(rider)
      for (const path of ["/me/routes", "/me/collections", "/me/privacy-zones", "/me/tokens"]) {
        const text = yield* textOf(rider, path)
        assert.notMatch(text, /<p>(?:There are no|No route)/)
        assert.match(text, /<ul class="(?:cards|rows)">\s*<li>/)
      }
      assert.strictEqual((yield* textOf(rider, "/me/trash")).split("<p>There are none in the trash.</p>").length, 2)
      assert.include(yield* textOf(rider, "/me/routes"), "<option value=\"gravel\">gravel (1)</option>")
    }))
})
