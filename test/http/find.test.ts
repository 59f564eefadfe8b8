import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Places } from "../../src/services/geometry/Places.ts"
import { anonymous, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const Named = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ name: Schema.String })))

const namesIn = (body: unknown) => Named(body).map(({ name }) => name)

const found = Effect.fnUntraced(function*(reader: Pick<Rider, "get">, query: string, list = "/routes") {
  const { body, headers, status } = yield* reader.get(`${list}?${query}`)
  assert.strictEqual(status, 200, query)
  const names = namesIn(body)
  assert.strictEqual(headers.get("x-total-count"), String(names.length), query)
  return names
})

const words = (text: string) => `q=${encodeURIComponent(text)}`

const Issues = Schema.decodeUnknownSync(
  Schema.Struct({ details: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String })) }) })
)

const pathsIn = (body: unknown) =>
  [...new Set(Issues(body).details.issues.map(({ path }) => path.replace(/^query\./, "")))].toSorted()

/** There is a city around this position alone. */
const vaduz = Layer.succeed(Places, {
  at: ([lng]) => Effect.succeed(Math.abs(lng - 9.5) < 0.01 ? { placeCity: "Vaduz", placeCountryCode: "LI" } : {}),
  hasCities: Effect.succeed(false)
})

const at = (lng: number, lat: number) => ({ waypoints: [{ coord: [lng, lat] }] })

layer(TestServer.layer({}, vaduz))("finding one's own routes", (it) => {
  it.effect("words may be of any script, digits of any, and emoji, and have no marks that stand for no letter", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (
        const name of [
          "\u0637\u0631\u064a\u0642 \u0661\u0662",
          "नेपाली मार्ग",
          "मारना गली",
          "⭐ Pass",
          "⏰ Early",
          "⬆️ Up",
          "🇨🇭 Tour"
        ]
      ) assert.strictEqual((yield* rider.post("/routes", newRoute({ name }))).status, 201)
      const road = ["\u0637\u0631\u064a\u0642 \u0661\u0662"]
      for (
        const [text, names] of [
          ["\u0661\u0662", road],
          ["12", road],
          ["\u0637\u0631\u064a\u0642 \u0669\u0669", []],
          ["मार्ग", ["नेपाली मार्ग"]],
          ["⭐", ["⭐ Pass"]],
          ["⏰", ["⏰ Early"]],
          ["⬆️", ["⬆️ Up"]],
          ["🇨🇭", ["🇨🇭 Tour"]]
        ] as const
      ) assert.deepStrictEqual(yield* found(rider, words(text)), [...names], text)
    }))

  it.effect("words that are many times as long without ligatures do not keep a route from being stored", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const waypoints = Array.from({ length: 80 }, () => ({ coord: [9.5, 47.1], name: "\ufdfa".repeat(255) }))
      const { body, status } = yield* rider.post(
        "/routes",
        newRoute({ description: "\ufdfa".repeat(10_000), waypoints })
      )
      assert.strictEqual(status, 201)
      assert.strictEqual((yield* rider.patch(`/routes/${created(body).id}`, { visibility: "public" })).status, 200)
      const sql = yield* SqlClient.SqlClient
      const [words] = yield* sql`SELECT char_length(search_words(repeat(chr(65018), 20000))) < 40001 AS "areBounded"`
      assert.deepStrictEqual(words, { areBounded: true })
    }))

  it.effect("words match name, description, tags, place and waypoint names, by their beginning", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      yield* rider.post("/routes", newRoute({ name: "Zürich-Rundfahrt", description: "Über die Łąka zum Straßencafé" }))
      yield* rider.post("/routes", newRoute({ name: "Plain", tags: ["gravel", "wet-feet"] }))
      yield* rider.post(
        "/routes",
        newRoute({
          name: "Named",
          waypoints: [{ coord: [9.5, 47.1], name: "Fontäne \"am\" Σίσυφος" }, { coord: [9, 47] }]
        })
      )
      yield* rider.post("/routes", newRoute({ name: "私の東京 🚴 tour" }))
      yield* other.post("/routes", newRoute({ name: "Zürich of another" }))
      for (
        const [text, name] of [
          ["zurich", "Zürich-Rundfahrt"],
          ["ZÜR rund", "Zürich-Rundfahrt"],
          ["Zu\u0308rich", "Zürich-Rundfahrt"],
          ["laka STRASSEN", "Zürich-Rundfahrt"],
          ["grav", "Plain"],
          ["wet-feet", "Plain"],
          ["font σισυφοσ", "Named"],
          ["東京", "私の東京 🚴 tour"],
          ["🚴", "私の東京 🚴 tour"]
        ] as const
      ) assert.deepStrictEqual(yield* found(rider, words(text)), [name], text)
      assert.deepStrictEqual(yield* found(rider, words("urich")), [])
      assert.deepStrictEqual(yield* found(rider, words("zurich gravel")), [])
    }))

  it.effect("a change of a route changes what finds it, and its deletion hides it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body } = yield* rider.post("/routes", newRoute({ name: "Before" }))
      const id = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.Int }))(body).id
      yield* rider.patch(`/routes/${id}`, { name: "After", tags: ["dusty"] })
      assert.deepStrictEqual(yield* found(rider, words("before")), [])
      assert.deepStrictEqual(yield* found(rider, words("after dust")), ["After"])
      yield* rider.delete(`/routes/${id}`)
      assert.deepStrictEqual(yield* found(rider, words("after")), [])
      yield* rider.post(`/routes/${id}/restore`)
      assert.deepStrictEqual(yield* found(rider, words("after")), ["After"])
    }))

  it.effect("text that would mean something to PostgreSQL is only words, and without a word it is refused", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/routes", newRoute({ name: "It's a \\ ride: A & B | !C <-> (D)" }))
      for (
        const text of [
          "it's a",
          "A&B",
          "!C",
          "a <-> b",
          "(d)",
          "ride:*",
          "'",
          "a'b",
          "\\",
          "a:*A",
          "%",
          "D';--",
          "ride\\"
        ]
      ) {
        const { body, status } = yield* rider.get(`/routes?${words(text)}`)
        assert.oneOf(status, [200, 400], text)
        if (/\w/.test(text)) assert.isArray(body, text)
      }
      assert.deepStrictEqual(yield* found(rider, words("c <d> & ride:*")), ["It's a \\ ride: A & B | !C <-> (D)"])
      const refused = [" ", "&|!:*", "\u0301", "\u0000a", "x".repeat(201), "x".repeat(10_000), "a ".repeat(11)]
      for (const text of refused) {
        const { body, status } = yield* rider.get(`/routes?${words(text)}`)
        assert.deepStrictEqual([status, pathsIn(body)], [400, ["q"]], text)
      }
      for (
        const text of ["x".repeat(200), "\u0915\u094d\u0937", "\u{1F469}\u200D\u{1F680}", "\u0130", "\uFDFA", "①½ﬁ"]
      ) {
        assert.strictEqual((yield* rider.get(`/routes?${words(text)}`)).status, 200, text)
      }
    }))

  it.effect("each filter narrows the list, all of them together, and the total counts what matches", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const post = (members: Readonly<Record<string, unknown>>) => rider.post("/routes", newRoute(members))
      yield* post({
        name: "Run",
        activity: "run",
        tags: ["wet", "long"],
        distance: 500,
        recordedAt: "2026-01-01T00:00:00Z",
        ...at(9.5, 47.1)
      })
      yield* post({ name: "Ride", activity: "cycle", tags: ["wet"], favourite: true, distance: 5000, ...at(-70, -33) })
      yield* post({ name: "Walk", visibility: "unlisted", ...at(179.9, -17) })
      for (
        const [query, names] of [
          ["tag=wet", ["Ride", "Run"]],
          ["tag=WET&tag=long", ["Run"]],
          ["activity=cycle", ["Ride"]],
          ["visibility=unlisted", ["Walk"]],
          ["favourite=true", ["Ride"]],
          ["favourite=false", ["Walk", "Run"]],
          ["minDistance=500&maxDistance=4999", ["Run"]],
          ["bbox=9,47,10,48", ["Run"]],
          ["bbox=179,-20,-179,0", ["Walk"]],
          ["bbox=-0.14282226562500003,-1e-7,3.3000000000000003,51.49506473014368", []],
          ["placeCountryCode=li", ["Run"]],
          ["placeCity=VADUZ", ["Run"]],
          ["placeCity=Vad", []],
          ["q=vad", ["Run"]],
          ["updatedSince=1969-12-31T23:59:59.999Z", ["Walk", "Ride", "Run"]],
          ["updatedSince=2999-01-01T00:00:00%2B01:00", []],
          ["updatedSince=1970-01-01T00:00:00Z", ["Walk", "Ride", "Run"]],
          ["updatedSince=1970-01-01T00:00:00.001Z", []],
          ["recordedAfter=2026-01-01T00:00:00Z", ["Run"]],
          ["recordedAfter=2026-01-01T00:00:00.001Z", []],
          ["recordedBefore=2026-01-01T00:00:00.001Z", ["Run"]],
          ["recordedBefore=2026-01-01T00:00:00Z", []],
          ["updatedSince=0001-01-01T00:00:00%2B15:59", ["Walk", "Ride", "Run"]],
          ["tag=wet&activity=run&q=ru&bbox=9,47,10,48&visibility=private", ["Run"]],
          ["sort=name", ["Ride", "Run", "Walk"]],
          ["sort=distance", ["Run", "Ride", "Walk"]],
          ["sort=-distance", ["Ride", "Run", "Walk"]],
          ["sort=createdAt", ["Run", "Ride", "Walk"]],
          ["sort=-updatedAt&tag=wet", ["Ride", "Run"]]
        ] as const
      ) assert.deepStrictEqual(yield* found(rider, query), [...names], query)
    }))

  it.effect("a word in the name is more relevant than one in the description", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/routes", newRoute({ name: "Gravel" }))
      yield* rider.post("/routes", newRoute({ name: "Another", description: "Some gravel" }))
      assert.deepStrictEqual(yield* found(rider, "q=gravel&sort=relevance"), ["Gravel", "Another"])
      assert.deepStrictEqual(yield* found(rider, "q=gravel"), ["Another", "Gravel"])
    }))

  it.effect("everything wrong in a query is reported at once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body, status } = yield* rider.get(
        "/routes?q=%26&tag=!&activity=swim&visibility=x&favourite=1&placeCountryCode=CHE&placeCity=&bbox=1,2"
          + "&minDistance=-1&maxDistance=x&updatedSince=2026-01-01&sort=rank&limit=0&offset=-1&cursor=!&colour=red"
      )
      assert.strictEqual(status, 400)
      const parameters = ["activity", "bbox", "colour", "cursor", "favourite", "limit", "maxDistance", "minDistance"]
        .concat(["offset", "placeCity", "placeCountryCode", "q", "sort", "tag.0", "updatedSince", "visibility"])
      assert.deepStrictEqual(pathsIn(body), parameters)
      for (
        const [query, path] of [
          ["sort=relevance", "sort"],
          ["minDistance=2&maxDistance=1", "maxDistance"],
          ["q=a&q=b", "q"],
          ["updatedSince=2026-02-30T25:00:00Z", "updatedSince"],
          ["updatedSince=2026-02-30T00:00:00Z", "updatedSince"],
          ["updatedSince=0000-01-01T00:00:00Z", "updatedSince"],
          ["updatedSince=2026-01-01T00:00:00%2B16:00", "updatedSince"]
        ] as const
      ) assert.deepStrictEqual(pathsIn((yield* rider.get(`/routes?${query}`)).body), [path], query)
    }))

  it.effect("rules between parameters are reported together, once each parameter is accepted", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (
        const [query, paths] of [
          ["minDistance=20&maxDistance=3&offset=0&cursor=a&sort=relevance", ["cursor", "maxDistance", "sort"]],
          ["minDistance=20&maxDistance=3&colour=red", ["colour"]],
          ["minDistance=20&maxDistance=x&sort=relevance&q=%26", ["maxDistance", "q"]]
        ] as const
      ) assert.deepStrictEqual(pathsIn((yield* rider.get(`/routes?${query}`)).body), [...paths], query)
    }))

  it.effect("an import of an account refuses a parameter that it has not, rather than ignore dryRun", () =>
    Effect.gen(function*() {
      const { body, status } = yield* (yield* signedIn).post("/users/me/import?dryRun=true", undefined, {
        raw: "PK",
        headers: { "content-type": "application/zip" }
      })
      assert.strictEqual(status, 400)
      assert.match(JSON.stringify(body), /dryRun: Unknown parameter: Expected/)
    }))

  it.effect("an unknown parameter is refused with those that are accepted", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const refused = [
        yield* rider.get("/routes?colour=red"),
        yield* rider.get("/sync?colour=red"),
        yield* rider.get("/routes/1/picture.svg?colour=red"),
        yield* rider.post("/routes/import?colour=red", undefined, {
          raw: "<gpx/>",
          headers: { "content-type": "application/gpx+xml" }
        })
      ]
      for (const { body } of refused) {
        assert.match(JSON.stringify(body), /colour: Unknown parameter: Expected one of [a-z]/)
      }
    }))

  it.effect("a list of tags has how many live routes have each, for a session and a token that reads", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read")
      for (const tags of [["b", "a"], ["c", "b"], ["a-b"], []]) yield* rider.post("/routes", newRoute({ tags }))
      const reader = yield* withHeaders({ authorization: `Bearer ${token}` })
      const expected = [{ tag: "b", count: 2 }, { tag: "a", count: 1 }, { tag: "a-b", count: 1 }, {
        tag: "c",
        count: 1
      }]
      assert.deepStrictEqual((yield* reader.get("/routes/tags")).body, expected)
      assert.deepStrictEqual((yield* rider.get("/routes/tags?limit=2")).body, expected.slice(0, 2))
      assert.strictEqual((yield* (yield* anonymous).get("/routes/tags")).status, 401)
    }))

  it.effect("public routes are found by words and tags; private, unlisted and deleted ones by their owner only", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Quokka" })
      const visitor = yield* anonymous
      const post = (members: Readonly<Record<string, unknown>>) =>
        rider.post("/routes", newRoute({ tags: ["quirk"], ...members }))
      const { body } = yield* post({ name: "Quixotic one", visibility: "public" })
      yield* post({ name: "Quixotic two", visibility: "private", favourite: true })
      yield* post({ name: "Quixotic three", visibility: "unlisted" })
      const list = "/routes/public"
      for (const query of [words("quixotic"), "tag=quirk", "q=one&tag=quirk"]) {
        assert.deepStrictEqual(yield* found(visitor, `gate=public&${query}`, list), ["Quixotic one"], query)
      }
      assert.deepStrictEqual(yield* found(visitor, "gate=public&tag=quirk&tag=other", list), [])
      assert.strictEqual((yield* found(rider, words("quix"))).length, 3)
      const id = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.Int }))(body).id
      const openly = found(visitor, `gate=public&${words("quixo")}`, list)
      yield* rider.patch(`/routes/${id}`, { visibility: "unlisted" })
      assert.deepStrictEqual(yield* openly, [])
      yield* rider.patch(`/routes/${id}`, { visibility: "public" })
      assert.deepStrictEqual(yield* openly, ["Quixotic one"])
      yield* rider.delete(`/routes/${id}`)
      assert.deepStrictEqual(yield* openly, [])
    }))

  it.effect("collections are found by the words of their name and description", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/collections", { name: "Sommer 2026", description: "Pässe und Seen" })
      yield* rider.post("/collections", { name: "Winter" })
      const list = "/collections"
      assert.deepStrictEqual(yield* found(rider, words("PASSE somm"), list), ["Sommer 2026"])
      assert.deepStrictEqual(yield* found(rider, words("asse"), list), [])
      assert.deepStrictEqual(pathsIn((yield* rider.get("/collections?q=!")).body), ["q"])
    }))
})
