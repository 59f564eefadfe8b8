import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { listening } from "../support/Listening.ts"
import { whileLocked } from "../support/Locks.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"
import { setZones } from "../support/Zones.ts"

const LINE = Array.from({ length: 30 }, (_, index) => [9.5 + index / 300, 47.1 + index / 400, 450 + index])

const make = (rider: Rider, members: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(
    rider.post("/routes", newRoute({ name: "Around Vaduz", visibility: "unlisted", geometry: LINE, ...members })),
    ({ body }) => created(body)
  )

const ROOT = "http://localhost:3000/"

const Link = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))

const LinkedData = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const linkedDataIn = (text: string) => LinkedData(/ld\+json">(.*?)<\/script>/.exec(text)?.[1])

layer(TestServer.layer())("pages of routes", (it) => {
  it.effect("are in the units of the reader: of the address, of the account, of the language", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { shareToken } = yield* make(rider, { distance: 16_093 })
      const shown = (caller: Pick<Rider, "get">, query: string, language?: string) =>
        Effect.map(
          caller.get(
            `//r/${shareToken}${query}`,
            language === undefined ? {} : { headers: { "accept-language": language } }
          ),
          ({ headers, text }) => [/<dt>Distance<\/dt><dd>([^<]+)</.exec(text)?.[1], headers.get("vary")]
        )
      const [kilometres, miles] = ["16.1 km", "10.0 mi"]
      for (
        const [query, language, distance] of [
          ["", undefined, kilometres],
          ["", "de,en-US;q=0.5", kilometres],
          ["", "en-US,en;q=0.9", miles],
          ["?units=metric", "en-US", kilometres],
          ["?units=imperial", "de", miles],
          ["?units=furlongs", "en-GB", miles]
        ] as const
      ) {
        const [text, vary] = yield* shown(visitor, query, language)
        assert.strictEqual(text, distance, `${query} ${language}`)
        assert.include(vary, "Accept-Language")
      }
      yield* rider.patch("/users/me", { preferences: { units: "imperial" } })
      assert.strictEqual((yield* shown(rider, "", "de"))[0], miles)
      assert.strictEqual((yield* shown(rider, "?units=metric", "en-US"))[0], kilometres)
      yield* rider.patch("/users/me", { preferences: { units: "cubits" } })
      assert.strictEqual((yield* shown(rider, "", "en-US"))[0], miles)
    }))

  it.effect("are known by one address while they are public, and an unlisted one by each of its own", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* make(rider, { visibility: "public" })
      const { body } = yield* rider.post(`/routes/${route.id}/links`, {})
      const refs = [route.shareToken, route.id, Link(body).token]
      const addressesOf = (ref: string | number) =>
        Effect.map(rider.get(`//r/${ref}`), ({ text }) => ({
          canonical: /rel="canonical" href="([^"]*)"/.exec(text)?.[1],
          shared: /property="og:url" content="([^"]*)"/.exec(text)?.[1],
          data: text.includes("ld+json") ? linkedDataIn(text)["url"] : undefined
        }))
      const url = `${ROOT}r/${route.shareToken}`
      for (const ref of refs) {
        assert.deepStrictEqual(yield* addressesOf(ref), { canonical: url, shared: url, data: url }, String(ref))
      }
      yield* rider.patch(`/routes/${route.id}`, { visibility: "unlisted" })
      for (const ref of refs) {
        const own = `${ROOT}r/${ref}`
        assert.deepStrictEqual(yield* addressesOf(ref), { canonical: own, shared: own, data: undefined })
      }
    }))

  it.effect("have no profile where all positions are the same", () =>
    Effect.gen(function*() {
      const { shareToken } = yield* make(yield* signedIn, { geometry: [[9.5, 47.1, 450], [9.5, 47.1, 450]] })
      const { status, text } = yield* (yield* anonymous).get(`//r/${shareToken}`)
      assert.strictEqual(status, 200)
      assert.notInclude(text, "NaN")
      assert.notInclude(text, "class=\"profile\"")
    }))

  it.effect("colour the whole profile by how steep it is", () =>
    Effect.gen(function*() {
      const geometry = LINE.map(([lng], index) => [lng, 47, 400 + 30 * Math.min(index, 15)])
      const { shareToken } = yield* make(yield* signedIn, { geometry })
      const { text } = yield* (yield* anonymous).get(`//r/${shareToken}`)
      const areas = [...text.matchAll(/<path class="steep-(\d)" d="M(\d+) [^"]*?(?:L(\d+) \d+)*V/g)]
      const [steepness, from, to] = [1, 2, 3].map((part) => areas.map((area) => Number(area[part])))
      assert.deepStrictEqual([steepness?.[0], steepness?.at(-1)], [3, 0])
      assert.deepStrictEqual([...from ?? [], 1000], [0, ...to ?? []])
      assert.include(text, "<svg viewBox=\"0 0 1000 200\"")
    }))

  it.effect("list named waypoints and cues by the kilometre, each round trip from its start to its end", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const there = Array.from({ length: 11 }, (_, index) => [9.5 + index / 100, 47, 400 + 10 * index])
      const { shareToken } = yield* make(rider, {
        geometry: [...there, ...there.toReversed()],
        waypoints: [
          { coord: [9.5, 47], name: "Home" },
          { coord: [9.55, 47], type: "routed" },
          { coord: [9.6, 47], name: "<b>Café</b>" },
          { coord: [9.5, 47], name: "Home again" }
        ],
        cues: [
          { instruction: "Turn left onto Landstrasse.", type: 15, begin_shape_index: 5, length: 1, time: 60 },
          { instruction: "", type: 10, begin_shape_index: 12, length: 1, time: 60 }
        ]
      })
      const { text } = yield* (yield* anonymous).get(`//r/${shareToken}`)
      const listed = [
        ...text.matchAll(
          /<li class="(\w+)" data-stop="[^"]+"><span class="at">([^<]+)<\/span> <span class="what">([^<]+)</g
        )
      ]
        .map(([, kind, at, what]) => [kind, at, what])
      assert.deepStrictEqual(listed, [
        ["waypoint", "0.0 km", "Home"],
        ["cue", "3.8 km", "Turn left onto Landstrasse."],
        ["waypoint", "7.6 km", "&lt;b&gt;Café&lt;/b&gt;"],
        ["cue", "8.3 km", "Turn right"],
        ["waypoint", "15.2 km", "Home again"]
      ])
    }))

  it.effect("show how much of the line has each surface, to others only where they see the whole line", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id, shareToken } = yield* make(rider, {
        routingPreferences: { surfacePreference: "paved" },
        surfaces: [
          { surface: "paved_smooth", length: 7.5, share: 0.75 },
          { surface: "gravel", length: 2.48, share: 0.248 },
          { surface: "<b>ice</b>", length: 0.02, share: 0.002 }
        ]
      })
      const shown = (caller: Pick<Rider, "get">, language = "en") =>
        Effect.map(
          caller.get(`//r/${shareToken}`, { headers: { "accept-language": language } }),
          ({ text }) => ({
            fact: /<dt>Surface<\/dt><dd>([^<]+)</.exec(text)?.[1],
            words: [...text.matchAll(/<li class="surface-(\d)">([^<]+)</g)].map(([, color, words]) =>
              `${color} ${words}`
            )
          })
        )
      const known = {
        fact: "75 % paved",
        words: ["0 Smoothly paved 75 % (7.5 km)", "4 Gravel 25 % (2.5 km)", "8 &lt;b&gt;ice&lt;/b&gt; &lt; 1 % (20 m)"]
      }
      assert.deepStrictEqual(yield* shown(visitor), known)
      assert.include((yield* shown(visitor, "en-US")).words, "4 Gravel 25 % (1.5 mi)")

      yield* setZones(rider, [{ center: LINE[0]?.slice(0, 2), radius: 500 }])
      const asked = { fact: "Paved, if possible", words: [] }
      assert.deepStrictEqual(yield* shown(visitor), asked)
      assert.deepStrictEqual(yield* shown(rider), known)
      yield* setZones(rider, [])
      yield* rider.patch(`/routes/${id}`, { geometry: LINE.toReversed() })
      assert.deepStrictEqual(yield* shown(rider), asked)
    }))

  it.effect("describe a route, where there is something to say, and share it by its token however it was opened", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id, shareToken } = yield* make(rider, { visibility: "public", description: "By the river" })
      const url = `http://localhost:3000/r/${shareToken}`
      const { text } = yield* visitor.get(`//r/${shareToken}`)
      const { provider, ...data } = linkedDataIn(text)
      assert.deepInclude(provider, { "@type": "Person" })
      assert.deepStrictEqual(data, {
        "@context": "https://schema.org",
        "@type": "Trip",
        name: "Around Vaduz",
        description: "By the river",
        url,
        image: `${url}/card.png`
      })
      assert.include(text, "<p class=\"text\">By the river</p>")
      assert.match(text, /<dt>Steepest climb<\/dt><dd>\d+ %<\/dd>/)
      assert.match(text, /<p><strong>Start:<\/strong> <a href="geo:47.1,9.5">[^<]+<\/a><\/p>/)
      assert.notInclude(text, "<strong>End:</strong>")
      assert.include(text, "application/json+oembed")
      for (const ref of [id, shareToken]) {
        assert.include((yield* visitor.get(`//r/${ref}`)).text, `/embed/${shareToken}&quot; width=`)
      }
      const linked = yield* rider.post(`/routes/${id}/links`, { allowDownload: false })
      const token = /"token":"(\w+)"/.exec(linked.text)?.[1]
      assert.notInclude((yield* visitor.get(`//r/${token}`)).text, "id=\"files\"")
      assert.include(text, "id=\"files\"")

      const bare = created((yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))).body)
      const shown = (yield* visitor.get(`//r/${bare.shareToken}`)).text
      assert.include(shown, "<meta name=\"description\" content=\"A planned route\">")
      assert.notMatch(shown, /Steepest|class="text"|class="profile"/)
      yield* rider.patch(`/routes/${bare.id}`, { visibility: "private" })
      const own = (yield* rider.get(`//r/${bare.id}`)).text
      assert.notMatch(own, /class="share"|og:title/)
      assert.include(own, "<script type=\"module\" src=\"../assets/route-")
    }))

  it.effect("of a collection list its public routes for search engines, and show a picture that its viewers may see", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const routes = [
        yield* make(rider),
        yield* make(rider, { visibility: "public" }),
        yield* make(rider, { visibility: "private" }),
        yield* make(rider, { visibility: "public" })
      ]
      const members = { name: "Passes", visibility: "public", routeIds: routes.map(({ id }) => id) }
      const { id, shareToken } = created((yield* rider.post("/collections", members)).body)
      const { headers, text } = yield* visitor.get(`//c/${id}`)
      assert.notMatch(`${headers.get("x-robots-tag")}${text}`, /noindex/)
      const root = "http://localhost:3000/"
      assert.deepStrictEqual(linkedDataIn(text), {
        "@context": "https://schema.org",
        "@type": "ItemList",
        name: "Passes",
        url: `${root}c/${id}`,
        numberOfItems: 2,
        itemListElement: [routes[1], routes[3]].map((route, index) => ({
          "@type": "ListItem",
          position: index + 1,
          url: `${root}r/${route?.shareToken}`
        }))
      })
      assert.include(text, "application/json+oembed")
      assert.include(text, "2 routes, collected by")
      assert.notInclude(text, "<p class=\"text\">")
      // Its link shows its unlisted route, too.
      const whole = yield* visitor.get(`//c/${shareToken}`)
      assert.include(whole.text, `/r/${routes[0]?.shareToken}`)
      assert.strictEqual(whole.headers.get("x-robots-tag"), "noindex")
      assert.notInclude(whole.text, "ld+json")
      const imageIn = (text: string) => /og:image" content="[^"]*routes\/(\w+)\//.exec(text)?.[1]
      yield* rider.patch(`/collections/${id}`, { visibility: "unlisted", description: "High ones" })
      const linked = yield* rider.post(`/collections/${id}/links`, {})
      const token = /"token":"(\w+)"/.exec(linked.text)?.[1]
      const byLink = (yield* visitor.get(`//c/${token}`)).text
      assert.include(byLink, "<p class=\"text\">High ones</p>")
      assert.notInclude(byLink, "ld+json")
      assert.strictEqual(imageIn(byLink), routes[1]?.shareToken)
      yield* rider.patch(`/collections/${id}`, { visibility: "private" })
      assert.notInclude((yield* rider.get(`//c/${id}`)).text, "og:title")

      yield* rider.patch("/users/me", { handle: `ada-${rider.id}` })
      const user = (yield* visitor.get(`//u/ada-${rider.id}`)).text
      assert.strictEqual(imageIn(user), routes[3]?.shareToken)
      assert.notInclude(user, "json+oembed")
      yield* rider.patch(`/routes/${routes[3]?.id}`, { visibility: "private" })
      yield* rider.patch(`/routes/${routes[1]?.id}`, { visibility: "private" })
      assert.isUndefined(imageIn((yield* visitor.get(`//u/ada-${rider.id}`)).text))
    }))

  it.effect("of routes with a tag are linked by it from each route", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      yield* make(rider, { name: "With the tag", visibility: "public", tags: ["high-alps"] })
      yield* make(rider, { name: "Without it", visibility: "public" })
      const { text } = yield* visitor.get("//?tag=high-alps")
      assert.include(text, "Public routes with the tag high-alps")
      assert.include(text, "With the tag")
      assert.notInclude(text, "Without it")
      assert.include((yield* visitor.get("//?tag=%3Cscript%3E")).text, "<h2>Public routes</h2>")
    }))
})

const withMap = Layer.unwrap(Effect.gen(function*() {
  const style = createServer((_, response) => response.end(`{"version":8,"sources":{},"layers":[]}`))
  return TestServer.layer({ MAP_STYLE_URL: `http://127.0.0.1:${yield* listening(style)}/style.json` })
}))

layer(withMap)("pages of routes with a map", (it) => {
  it.effect("have only the picture, in its full size, where the line cannot be measured in time", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      // PostgreSQL stores a line of this length outside of its row.
      const geometry = Array.from({ length: 1500 }, (_, index) => [9 + index / 1e4 + Math.sin(index * index) / 1e5, 47])
      const pages = yield* Effect.replicateEffect(make(rider, { geometry }), 4)
      const [known = "", ...others] = pages.map(({ shareToken }) => `//r/${shareToken}`)
      const [first = "", second = "", third = ""] = others
      yield* until(Effect.map(visitor.get(known), ({ text }) => text.includes("class=\"map\"")))
      const untilDownloads = (state: "running" | "waiting", count: number) =>
        until(Effect.map(
          visitor.get("//metrics"),
          ({ text }) => text.includes(`\nbulkhead_${state}{class="downloads"} ${count}\n`)
        ))
      const { headers, text } = yield* whileLocked(
        // Without this index PostgreSQL reads all of a route but its line.
        (sql) =>
          Effect.flatMap(
            sql<{ name: string }>`
              SELECT indexrelid::regclass::text AS name FROM pg_index
              WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'routes'::regclass)`,
            ([index]) => sql.unsafe(`REINDEX INDEX ${index?.name}`)
          ),
        Effect.gen(function*() {
          // A fifth of the ten connections may measure lines.
          yield* Effect.forEach([first, second], (path) => Effect.forkChild(visitor.get(path)))
          yield* untilDownloads("running", 2)
          const page = yield* Effect.forkChild(visitor.get(third))
          yield* untilDownloads("waiting", 1)
          yield* TestClock.adjust("2 seconds")
          return yield* Fiber.join(page)
        })
      )
      assert.include(text, "?width=960&amp;height=540\" width=\"960\" height=\"540\" alt=")
      assert.notMatch(text, /class="map"|\/assets\/map-/)
      assert.notInclude(headers.get("content-security-policy"), "worker-src")
    }))
})
