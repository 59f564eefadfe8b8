import { assert, it as test, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { templateOf } from "../../src/http/request/RouteTemplates.ts"
import { Places } from "../../src/services/geometry/Places.ts"
import { anonymous, type Rider, signedIn, signedInAs } from "../support/Actors.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const ROOT = "https://routes.example.com/base/"

const LINE = Array.from({ length: 30 }, (_, index) => [9.5 + index / 300, 47.1 + index / 400, 450 + index])

const inVaduz = Layer.succeed(Places, {
  at: () => Effect.succeed({ placeCity: "Vaduz", placeCountryCode: "LI" }),
  hasCities: Effect.succeed(false)
})

const NOINDEX = ["noindex", "noindex"]

const HOSTILE = "</script><script>alert(\"1\")</script>"

const make = (rider: Rider, members: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(
    rider.post("/routes", newRoute({ name: "Around Vaduz", visibility: "unlisted", geometry: LINE, ...members })),
    ({ body }) => created(body)
  )

const collect = (rider: Rider, members: Readonly<Record<string, unknown>>) =>
  Effect.map(
    rider.post("/collections", { name: "Passes", visibility: "unlisted", ...members }),
    ({ body }) => created(body)
  )

const content = (text: string, property: string) =>
  new RegExp(`<meta (?:property|name)="${property}" content="([^"]*)">`).exec(text)?.[1]

const LinkedData = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

const linkedDataIn = (text: string) =>
  LinkedData(/<script type="application\/ld\+json">(.*?)<\/script>/.exec(text)?.[1])

layer(TestServer.layer({ BASE_URL: ROOT, CORS_ORIGINS: "" }, inVaduz))("shared pages", (it) => {
  it.effect("of a route show its figures, place and picture, and lead to its files and its author", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Ada Rider" })
      const { shareToken } = yield* make(rider, {
        duration: 7500,
        activity: "cycle",
        tags: ["gravel"],
        distance: 12_345,
        startAddress: "First street 1",
        endAddress: "Last street 2"
      })
      const { headers, status, text } = yield* (yield* anonymous).get(`//r/${shareToken}`)
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
      assert.include(text, "<html lang=\"en\">")
      for (const fact of ["12.3 km", "2\u00a0h\u00a005\u00a0min", "Ride"]) assert.include(text, `<dd>${fact}</dd>`)
      for (const name of ["Ascent", "Descent", "Highest point", "Lowest point"]) {
        assert.match(text, new RegExp(`<dt>${name}</dt><dd>\\d+ m</dd>`))
      }
      assert.include(text, "Vaduz, Liechtenstein")
      assert.match(text, /By <a href="\.\.\/u\/[\w-]+">Ada Rider<\/a>/)
      for (const format of ["gpx", "geojson", "tcx", "kml", "fit"]) {
        assert.include(text, `href="../api/v1/routes/${shareToken}/${format}"`)
      }
      const pictures = [...text.matchAll(/(?:src|srcset)="\.\.\/(api[^"]+)"/g)].map(([, path = ""]) => path)
      assert.strictEqual(pictures.length, 4)
      for (const path of pictures) {
        const picture = yield* (yield* anonymous).get(`//${path.replaceAll("&amp;", "&")}`)
        assert.deepStrictEqual([picture.status, picture.headers.get("content-type")], [200, "image/svg+xml"])
        assert.include(picture.text, "<path d=")
      }
      assert.include(text, "© OpenStreetMap contributors")
      assert.match(text, /<div class="heights" aria-hidden="true"><span>479 m<\/span><span>450 m<\/span>/)
      assert.include(text, "<p><strong>Start:</strong> First street 1 · <a href=\"geo:47.1,9.5\">")
      assert.include(text, "<p><strong>End:</strong> Last street 2</p>")
      const bare = shareTokenOf((yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))).body)
      assert.notInclude((yield* (yield* anonymous).get(`//r/${bare}`)).text, "<strong>End:</strong>")
      assert.include(text, "<li><a href=\"../?tag=gravel\">gravel</a></li>")
      assert.match(text, new RegExp(`<input id="link" type="url" readonly value="${ROOT}r/${shareToken}">`))
      assert.match(text, /<dt>Added<\/dt><dd>Jan 1, 1970<\/dd>/)
    }))

  it.effect("show a distance in metres below a kilometre, and in whole kilometres from 100", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const texts = { 999: "999 m", 1000: "1.0 km", 99_900: "99.9 km", 100_000: "100 km" }
      for (const [metres, text] of Object.entries(texts)) {
        const { shareToken } = yield* make(rider, { distance: Number(metres) })
        assert.include((yield* visitor.get(`//r/${shareToken}`)).text, `<dt>Distance</dt><dd>${text}</dd>`)
      }
    }))

  it.effect("run scripts of the service only, load nothing from elsewhere, and are in no frame but the embedded one", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const rider = yield* signedIn
      const { shareToken } = yield* make(rider)
      const page = yield* visitor.get(`//r/${shareToken}`)
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.strictEqual(
        policy,
        "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
          + "frame-ancestors 'none'; script-src 'self'"
      )
      assert.notMatch(page.text, /<script(?! type="module" src="\.\.\/assets\/)|\son\w+=|\sstyle=/)
      const framed = yield* visitor.get(`//embed/${shareToken}`)
      assert.strictEqual(framed.status, 200)
      assert.include(framed.headers.get("content-security-policy"), "frame-ancestors *")
      assert.strictEqual(framed.headers.get("x-frame-options"), null)
      assert.strictEqual(
        (yield* visitor.get(`//embed/${(yield* make(rider, { visibility: "public" })).id}`)).status,
        404
      )
    }))

  it.effect("escape names, also in data for search engines", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: HOSTILE })
      const route = yield* make(rider, { name: HOSTILE, visibility: "public", description: HOSTILE })
      const collection = yield* collect(rider, { name: HOSTILE, visibility: "public", routeIds: [route.id] })
      const visitor = yield* anonymous
      const paths = [`//r/${route.shareToken}`, `//c/${collection.shareToken}`, `//embed/${route.shareToken}`]
      for (const path of paths) {
        const { text } = yield* visitor.get(path)
        assert.notInclude(text, "<script>", path)
        assert.notInclude(text, "alert(\"1\")", path)
      }
      assert.deepInclude(linkedDataIn((yield* visitor.get(`//r/${route.shareToken}`)).text), { name: HOSTILE })
    }))

  it.effect("have previews for other sites, and are found by search engines where they are public", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const unlisted = yield* make(rider)
      const shared = yield* visitor.get(`//r/${unlisted.shareToken}`)
      assert.strictEqual(content(shared.text, "og:title"), "Around Vaduz")
      assert.match(
        content(shared.text, "og:description") ?? "",
        /^[\d.]+ km\u00a0· \d+ m of climbing\u00a0· Vaduz, Liechtenstein$/
      )
      assert.strictEqual(content(shared.text, "og:url"), `${ROOT}r/${unlisted.shareToken}`)
      const image = content(shared.text, "og:image")?.replaceAll("&amp;", "&") ?? ""
      assert.strictEqual(
        image,
        `${ROOT}r/${unlisted.shareToken}/card.png`
      )
      const card = yield* visitor.get(`//${image.slice(ROOT.length)}`)
      assert.strictEqual(card.headers.get("content-type"), "image/png")
      assert.match(card.text, /^.PNG/)
      const etag = card.headers.get("etag") ?? ""
      const known = { headers: { "if-none-match": etag } }
      assert.strictEqual((yield* visitor.get(`//${image.slice(ROOT.length)}`, known)).status, 304)
      yield* rider.patch(`/routes/${unlisted.id}`, { name: "Around Schaan" })
      assert.strictEqual((yield* visitor.get(`//${image.slice(ROOT.length)}`, known)).status, 200)
      yield* rider.patch(`/routes/${unlisted.id}`, { visibility: "private" })
      for (const caller of [visitor, rider]) {
        assert.strictEqual((yield* caller.get(`//r/${unlisted.shareToken}/card.png`)).status, 404)
      }
      assert.strictEqual((yield* visitor.get("//r/nothing/card.png")).status, 404)
      assert.deepStrictEqual([content(shared.text, "robots"), shared.headers.get("x-robots-tag")], NOINDEX)
      assert.notInclude(shared.text, "ld+json")

      const open = yield* make(rider, { visibility: "public" })
      for (const [token, robots] of [[(yield* make(rider)).shareToken, "noindex"], [open.shareToken, null]] as const) {
        for (
          const path of [`api/v1/routes/${token}/gpx`, `api/v1/routes/${token}/picture.svg`, `r/${token}/card.png`]
        ) {
          assert.strictEqual((yield* visitor.get(`//${path}`)).headers.get("x-robots-tag"), robots, path)
        }
      }
      const found = yield* visitor.get(`//r/${open.shareToken}`)
      assert.deepStrictEqual([content(found.text, "robots"), found.headers.get("x-robots-tag")], [undefined, null])
      const framed = yield* visitor.get(`//embed/${open.shareToken}`)
      assert.deepStrictEqual([content(framed.text, "robots"), framed.headers.get("x-robots-tag")], NOINDEX)
      assert.deepInclude(linkedDataIn(found.text), {
        "@context": "https://schema.org",
        "@type": "Trip",
        url: `${ROOT}r/${open.shareToken}`,
        itinerary: { "@type": "Place", name: "Vaduz, Liechtenstein" }
      })
    }))

  it.effect("show what the API returns to the same caller, else a 404 page", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id, shareToken } = yield* make(rider)
      assert.strictEqual((yield* visitor.get(`//r/${id}`)).status, 404)
      yield* rider.patch(`/routes/${id}`, { visibility: "private" })
      const gone = yield* visitor.get(`//r/${shareToken}`)
      assert.strictEqual(gone.status, 404)
      assert.include(gone.text, "<p class=\"error\" id=\"error\" role=\"alert\">No such route.</p>")
      assert.strictEqual((yield* visitor.get(`//embed/${shareToken}`)).status, 404)
      assert.strictEqual((yield* rider.get(`//embed/${shareToken}`)).status, 404)
      const own = yield* rider.get(`//r/${shareToken}`)
      assert.deepStrictEqual([own.status, own.headers.get("cache-control")], [200, "no-store"])
      assert.strictEqual(content(own.text, "robots"), "noindex")
      for (const path of ["//r/nothing", "//c/0", "//u/nobody-at-all", "//u/A", `//c/${shareToken}`]) {
        assert.strictEqual((yield* visitor.get(path)).status, 404, path)
      }
    }))

  it.effect("are validated by their entity tag, also by HEAD", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id, shareToken } = yield* make(rider)
      const path = `//r/${shareToken}`
      const { headers } = yield* visitor.get(path)
      const etag = headers.get("etag") ?? ""
      assert.match(etag, /^W\/"[\w-]{22}"$/, "132 bits of a hash")
      assert.strictEqual(headers.get("cache-control"), "no-cache")
      assert.strictEqual((yield* visitor.get(path, { headers: { "if-none-match": etag } })).status, 304)
      for (const kind of ["r", "embed"]) {
        const shown = yield* visitor.get(`//${kind}/${shareToken}`)
        const known = yield* visitor.get(`//${kind}/${shareToken}`, {
          headers: { "if-none-match": shown.headers.get("etag") ?? "" }
        })
        assert.deepStrictEqual([known.status, known.text], [304, ""])
        // Browsers render the page that they have by the policies of the 304.
        for (const name of ["content-security-policy", "referrer-policy", "cache-control", "x-robots-tag", "vary"]) {
          assert.strictEqual(known.headers.get(name), shown.headers.get(name), `${kind}: ${name}`)
        }
      }
      assert.strictEqual((yield* visitor.call("HEAD", path)).headers.get("etag"), etag)
      assert.strictEqual((yield* visitor.post(path)).headers.get("allow"), "GET, HEAD")
      yield* rider.patch(`/routes/${id}`, { name: "Around Schaan" })
      assert.strictEqual((yield* visitor.get(path, { headers: { "if-none-match": etag } })).status, 200)
    }))

  it.effect("of a collection show the routes that its viewer may see, in pages", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const routes = yield* Effect.forEach(Array.from({ length: 25 }), (_, index) =>
        make(rider, { name: `Pass ${index}`, geometry: null, visibility: index === 0 ? "private" : "unlisted" }))
      const { shareToken } = yield* collect(rider, {
        routeIds: routes.map(({ id }) =>
          id
        )
      })
      const first = yield* visitor.get(`//c/${shareToken}`)
      assert.include(first.text, "24 routes, collected by")
      assert.notInclude(first.text, ">Pass 0</a>")
      assert.include(first.text, `<a href="../r/${routes[1]?.shareToken}">Pass 1</a>`)
      assert.notInclude(first.text, "?page=2")
      const own = yield* rider.get(`//c/${shareToken}`)
      assert.include(own.text, "<a href=\"?page=2\" rel=\"next\">More routes</a>")
      const last = (yield* rider.get(`//c/${shareToken}?page=2`)).text
      assert.include(last, ">Pass 24</a>")
      assert.include(
        last,
        "<nav class=\"pages\" aria-label=\"Pages\"><p><a href=\"?page=1\" rel=\"prev\">Previous routes</a>"
      )
      assert.notInclude(first.text, "<nav class=\"pages\" aria-label=\"Pages\">")
      // The owner's page has the private route first, which has no picture for others.
      for (const { text } of [first, own]) {
        assert.include(content(text, "og:image"), `/${routes[1]?.shareToken}/`)
      }
    }))

  it.effect("of a user show their public routes, and to search engines only with one", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Grace Rider" })
      const visitor = yield* anonymous
      yield* make(rider, { name: "An unlisted ride" })
      yield* rider.patch("/users/me", { handle: "grace-rides" })
      assert.strictEqual((yield* visitor.get("//u/grace-rides")).headers.get("x-robots-tag"), "noindex")
      yield* make(rider, { name: "A public ride", visibility: "public" })
      const { headers, text } = yield* visitor.get("//u/grace-rides")
      assert.isNull(headers.get("x-robots-tag"))
      assert.include(text, "<h1>Grace Rider</h1>")
      assert.include(text, "@grace-rides, 1 public route")
      assert.include(text, ">A public ride</a>")
      assert.notInclude(text, "An unlisted ride")
      assert.strictEqual((yield* rider.get("//u/grace-rides")).text.includes("An unlisted ride"), false)
      assert.notInclude(text, "class=\"avatar\"")
      yield* rider.patch("/users/me", { avatar: "https://pictures.example/grace.png?size=80" })
      for (const path of ["//u/grace-rides", "//me/profile"]) {
        const { headers, text } = yield* rider.get(path)
        assert.include(text, `<img class="avatar" src="https://pictures.example/grace.png?size=80" alt=""`)
        assert.include(headers.get("content-security-policy") ?? "", "img-src 'self' data: https://pictures.example;")
      }
      yield* rider.patch("/users/me", { avatar: "https://a;script-src/grace.png" })
      const named = yield* visitor.get("//u/grace-rides")
      assert.notInclude(named.text, "class=\"avatar\"")
      assert.notInclude(named.headers.get("content-security-policy") ?? "", "a;script-src")
    }))

  it.effect("are named by single routes and collections that others may see", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const route = yield* make(rider)
      assert.strictEqual(route["url"], `${ROOT}r/${route.shareToken}`)
      const collection = yield* collect(rider, { routeIds: [route.id] })
      assert.strictEqual(collection["url"], `${ROOT}c/${collection.shareToken}`)
      const hidden = yield* rider.patch(`/routes/${route.id}`, { visibility: "private" })
      assert.notProperty(hidden.body, "url")
      assert.notProperty((yield* rider.get(`/routes/${route.id}`)).body, "url")
      yield* rider.patch(`/collections/${collection.id}`, { visibility: "public" })
      assert.deepInclude((yield* visitor.get(`/collections/${collection.id}`)).body, {
        url: `${ROOT}c/${collection.id}`
      })
      assert.strictEqual((yield* visitor.get(`//c/${collection.id}`)).status, 200)
    }))

  it.effect("are embedded by oEmbed, within the requested size", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Ada Rider" })
      const visitor = yield* anonymous
      const { id, shareToken } = yield* make(rider, { name: "A \"ride\"" })
      const page = yield* visitor.get(`//r/${shareToken}`)
      const discovered = /<link rel="alternate" type="application\/json\+oembed" href="([^"]+)"/.exec(page.text)?.[1] ??
        ""
      assert.isTrue(discovered.startsWith(`${ROOT}oembed?format=json&amp;url=`))
      const path = `//${discovered.replaceAll("&amp;", "&").slice(ROOT.length)}`
      const whole = yield* visitor.get(path)
      assert.deepInclude(whole.body, {
        version: "1.0",
        type: "rich",
        title: "A \"ride\"",
        author_name: "Ada Rider",
        width: 640,
        height: 480,
        html:
          `<iframe src="${ROOT}embed/${shareToken}" width="640" height="480" title="A &quot;ride&quot;" loading="lazy" `
          + "frameborder=\"0\"></iframe>",
        thumbnail_url: `${ROOT}api/v1/routes/${shareToken}/picture.png?width=640&height=480`
      })
      assert.deepInclude((yield* visitor.get(`${path}&maxwidth=300&maxheight=200`)).body, {
        width: 300,
        height: 200,
        thumbnail_width: 300,
        thumbnail_height: 200
      })
      const thumbnails = {
        "maxwidth=40": undefined,
        "maxheight=63": undefined,
        "maxwidth=64&maxheight=64": 64,
        "maxwidth=9": undefined,
        "maxwidth=1000": 640
      }
      for (const [sides, width] of Object.entries(thumbnails)) {
        const { body, status } = yield* visitor.get(`${path}&${sides}`)
        assert.strictEqual(status, 200)
        if (width === undefined) assert.notProperty(body, "thumbnail_url", sides)
        else assert.deepInclude(body, { width, thumbnail_width: width })
      }
      const collection = yield* collect(rider, { name: "Passes" })
      const { body } = yield* visitor.get(`//oembed?url=${ROOT}c/${collection.shareToken}`)
      assert.deepInclude(body, { type: "link", title: "Passes", author_name: "Ada Rider", provider_url: ROOT })
      assert.notProperty(body, "html")
      const statuses = yield* Effect.forEach([
        `//oembed?format=xml&url=${ROOT}r/${shareToken}`,
        `//oembed?url=https://evil.example.com/r/${shareToken}`,
        "//oembed",
        `${path}&maxwidth=wide`
      ], (path) => Effect.map(visitor.get(path), ({ status }) => status))
      assert.deepStrictEqual(statuses, [501, 404, 404, 400])
      const issues = ["maxwidth", "maxheight"].map((side) => ({
        path: `query.${side}`,
        message: "Expected a number of pixels"
      }))
      assert.deepInclude((yield* visitor.get(`${path}&maxwidth=wide&maxheight=0`)).body, { details: { issues } })
      yield* rider.patch(`/routes/${id}`, { visibility: "private" })
      assert.strictEqual((yield* rider.get(path)).status, 404)
    }))

  it.effect("that are public are listed in a sitemap that robots.txt names", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const open = yield* make(rider, { visibility: "public" })
      const closed = yield* make(rider)
      const collection = yield* collect(rider, { visibility: "public", routeIds: [open.id] })
      yield* collect(rider, { visibility: "public", routeIds: [] })
      assert.include((yield* visitor.get("//robots.txt")).text, `Sitemap: ${ROOT}sitemap.xml`)
      const index = yield* visitor.get("//sitemap.xml")
      assert.strictEqual(index.headers.get("content-type"), "application/xml; charset=utf-8")
      const files = [...index.text.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address = ""]) => address)
      assert.deepStrictEqual(files, [`${ROOT}sitemaps/routes-1.xml`, `${ROOT}sitemaps/collections-1.xml`])
      const listed = yield* Effect.forEach(files, (file) => visitor.get(`//${file.slice(ROOT.length)}`))
      const text = listed.map(({ text }) => text).join("")
      assert.include(text, `<loc>${ROOT}r/${open.shareToken}</loc><lastmod>1970-01-01T00:00:00.000Z</lastmod>`)
      assert.include(text, `<loc>${ROOT}c/${collection.id}</loc>`)
      assert.notInclude(text, closed.shareToken)
      assert.notInclude(text, `<loc>${ROOT}c/${collection.id + 1}</loc>`)
      assert.include((yield* visitor.get("//sitemaps/routes-2.xml")).text, "<urlset")
      for (const name of ["routes-0.xml", "users-1.xml", "x"]) {
        assert.strictEqual((yield* visitor.get(`//sitemaps/${name}`)).status, 404)
      }
    }))

  it.effect("are each in the one sitemap of their range of ids", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT setval(pg_get_serial_sequence(name, 'id'), 9999) FROM unnest(ARRAY['routes', 'collections']) AS name`
      )
      const routes = [yield* make(rider, { visibility: "public" }), yield* make(rider, { visibility: "public" })]
      const collections = yield* Effect.forEach(routes, ({ id }) =>
        collect(rider, { visibility: "public", routeIds: [id] }))
      assert.deepStrictEqual(
        [...routes, ...collections].map(({ id }) =>
          id
        ),
        [10_000, 10_001, 10_000, 10_001]
      )
      const listed = (path: string, files: ReadonlyArray<string>) =>
        Effect.map(
          Effect.forEach(files, (file) => visitor.get(`//sitemaps/${file}.xml`)),
          (found) => found.map(({ text }) => text.includes(`<loc>${ROOT}${path}</loc>`))
        )
      for (const [index, { shareToken }] of routes.entries()) {
        assert.deepStrictEqual(yield* listed(`r/${shareToken}`, ["routes-1", "routes-2"]), [index === 0, index === 1])
      }
      for (const [index, { id }] of collections.entries()) {
        const found = yield* listed(`c/${id}`, ["collections-1", "collections-2"])
        assert.deepStrictEqual(found, [index === 0, index === 1])
      }
      assert.include((yield* visitor.get("//sitemap.xml")).text, `<loc>${ROOT}sitemaps/routes-2.xml</loc>`)
    }))
})

test("requests for shared pages are known by their path, without the token", () => {
  assert.strictEqual(templateOf("GET", "/r/5f2d8c1e9b7a4036a1c4e8d2f0b3967d?x=1"), "/r/{ref}")
  assert.strictEqual(templateOf("GET", "/embed/5f2d8c1e9b7a4036a1c4e8d2f0b3967d"), "/embed/{token}")
})

layer(TestServer.layer({ PAGES_ENABLED: "false" }))("shared pages, switched off", (it) => {
  it.effect("are not there, nor named by routes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body } = yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))
      assert.notProperty(body, "url")
      for (const path of [`//r/${shareTokenOf(body)}`, "//sitemap.xml", "//oembed"]) {
        assert.strictEqual((yield* rider.get(path)).status, 404)
      }
    }))
})
