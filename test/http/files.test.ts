import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { gzipSync } from "node:zlib"
import { Places } from "../../src/services/geometry/Places.ts"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { zipped } from "../support/Archives.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

const FORMATS = [
  ["gpx", "application/gpx+xml"],
  ["geojson", "application/geo+json"],
  ["tcx", "application/vnd.garmin.tcx+xml"],
  ["kml", "application/vnd.google-earth.kml+xml"]
] as const

const importFile = (rider: Rider, raw: string, headers: Record<string, string> = {}, query = "") =>
  rider.post(`/routes/import${query}`, undefined, {
    raw,
    headers: { "content-type": "application/octet-stream", ...headers }
  })

const GPX = `<?xml version="1.0"?>
<gpx version="1.1" creator="somebody" xmlns="http://www.topografix.com/GPX/1/1">
  <trk><name>Two segments</name>
    <trkseg><trkpt lat="47.1" lon="9.5"><ele>455.5</ele></trkpt><trkpt lat="47.2" lon="9.6"/></trkseg>
    <trkseg><trkpt lat="47.3" lon="9.7"/></trkseg>
  </trk>
</gpx>`

const Track = Schema.Struct({
  index: Schema.Int,
  name: Schema.String,
  positions: Schema.Int,
  distance: Schema.Number,
  bounds: Schema.Array(Schema.Number),
  placeCountryCode: Schema.String
})

const told = [
  "name",
  "description",
  "activity",
  "tags",
  "waypoints",
  "geometry",
  "segments",
  "cues",
  "distance",
  "duration",
  "elevationGain"
]

const saidOf = (route: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(told.filter((key) => key in route).map((key) => [key, route[key]]))

const inVaduz = Layer.succeed(Places, {
  at: () => Effect.succeed({ placeCity: "Vaduz", placeCountryCode: "LI" }),
  hasCities: Effect.succeed(false)
})

layer(TestServer.layer({}, inVaduz))("files", (it) => {
  it.effect("that are exported and imported again are the same route", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = created(
        (yield* rider.post(
          "/routes",
          newRoute({
            name: "Übers <Joch> & zurück \"2026\" 🚲",
            description: "Line one\nline two ]]> &amp;",
            activity: "cycle",
            tags: ["gravel", "long-ride"],
            waypoints: [{ coord: [9.5, 47.1], type: "routed", name: "Start & Ziel" }, {
              coord: [180, -90],
              type: "direct"
            }],
            geometry: [[9.512345678901234, 47.1, 455.5], [9.6, 47.2], [-179.99999999999997, 1e-7, -3.25]],
            segments: [0, 2],
            cues: [{ instruction: "Turn <left>\n& go on", type: 15, begin_shape_index: 1, length: 12.5, time: 3600 }],
            distance: 16_000_000.25,
            duration: 86_400,
            elevationGain: 1234.5
          })
        )).body
      )
      for (const [format, type] of FORMATS) {
        const file = yield* rider.get(`/routes/${route.id}/${format}`)
        assert.strictEqual(file.status, 200, format)
        assert.strictEqual(file.headers.get("content-type")?.split(";")[0], type)
        const extended = "filename*=UTF-8''%C3%9Cbers%20Joch%20%26%20zur%C3%BCck%202026%20%F0%9F%9A%B2"
        assert.match(file.headers.get("content-disposition") ?? "", /^attachment; filename="/)
        assert.include(file.headers.get("content-disposition"), `${extended}.${format}`)
        const again = yield* importFile(rider, file.text, { "content-type": type }, "?duplicates=allow")
        assert.strictEqual(again.status, 201, again.text)
        assert.deepStrictEqual(saidOf(created(again.body)), saidOf(route), format)
        assert.deepInclude(created(again.body), { visibility: "private", provenance: "gpx-import" })
      }
    }))

  it.effect("are recognised by their content where the content type is unspecific", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geojson = `{"type":"LineString","coordinates":[[9.5,47.1],[9.6,47.2]]}`
      const texts = [["gpx", `\ufeff${GPX}`], ["geojson", geojson]] as const
      for (const [format, text] of texts) {
        for (const type of ["application/octet-stream", "text/plain", "application/xml", "application/json"]) {
          const answer = yield* importFile(rider, text, { "content-type": type }, "?dryRun=true")
          assert.deepInclude(answer.body, { format }, type)
        }
      }
      for (
        const [type, text] of [["image/png", GPX], ["application/octet-stream", "hello"], ["text/html", "<html/>"]]
      ) {
        const answer = yield* importFile(rider, text ?? "", { "content-type": type ?? "" }, "?duplicates=allow")
        assert.strictEqual(answer.status, 415, type)
      }
    }))

  it.effect("have a dry run, which reports what would be stored and what not, and stores nothing", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body, status } = yield* importFile(rider, GPX, {}, "?dryRun=true")
      assert.strictEqual(status, 200)
      const { dropped, format, route } = Schema.decodeUnknownSync(Schema.Struct({
        format: Schema.String,
        route: Schema.Record(Schema.String, Schema.Json),
        dropped: Schema.Array(Schema.Struct({ what: Schema.String, why: Schema.String, count: Schema.Int }))
      }))(body)
      assert.strictEqual(format, "gpx")
      assert.deepInclude(route, {
        name: "Two segments",
        geometry: [[9.5, 47.1, 455.5], [9.6, 47.2], [9.7, 47.3]],
        segments: [0, 2]
      })
      assert.deepStrictEqual(dropped, [])
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "0")
      const stored = yield* importFile(rider, GPX, {}, "?dryRun=false")
      assert.strictEqual(stored.status, 201)
      const said = Schema.decodeUnknownSync(Schema.Struct({
        distance: Schema.Number,
        warnings: Schema.Array(Schema.Struct({ code: Schema.String }))
      }))
      for (const { distance, warnings } of [said(body), said(stored.body)]) {
        assert.closeTo(distance, 13_447, 1)
        assert.deepStrictEqual(warnings, [])
      }
      assert.strictEqual((yield* importFile(rider, GPX, {}, "?dryRun=maybe")).status, 400)
    }))

  it.effect("of several tracks are refused with the list of them, or become one route, or a list of routes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const feature = (name: string, lng: number) =>
        `{"type":"Feature","properties":{"name":"${name}"},"geometry":{"type":"LineString","coordinates":[[${lng},47.1],[${lng},47.2]]}}`
      const text = `{"type":"FeatureCollection","features":[${feature("A", 9.52)},${feature("B", 9.6)}]}`
      const tracks = [{ index: 0, name: "A", positions: 2 }, { index: 1, name: "B", positions: 2 }]
      const Undecided = Schema.Struct({ details: Schema.Struct({ tracks: Schema.Array(Track) }) })
      const refused = yield* importFile(rider, text)
      assert.strictEqual(refused.status, 400)
      const { details } = Schema.decodeUnknownSync(Undecided)(refused.body)
      const looked = yield* importFile(rider, text, {}, "?dryRun=true")
      const dryRun = Schema.decodeUnknownSync(Schema.Struct({ tracks: Schema.Array(Track) }))(looked.body)
      for (const list of [details.tracks, dryRun.tracks]) {
        assert.deepStrictEqual(list.map(({ index, name, positions }) => ({ index, name, positions })), tracks)
        assert.closeTo(list[0]?.distance ?? 0, 11_119.5, 1)
        assert.deepStrictEqual(list[1]?.bounds, [9.6, 47.1, 9.6, 47.2])
        assert.strictEqual(list[0]?.placeCountryCode, "LI")
      }
      assert.strictEqual((yield* importFile(rider, text, {}, "?split=true&track=1")).status, 400)
      assert.strictEqual((yield* importFile(rider, text, {}, "?track=2")).status, 400)
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "0")

      const split = yield* importFile(rider, text, {}, "?split=true")
      assert.strictEqual(split.status, 201)
      const routes = Schema.decodeUnknownSync(Schema.Array(Schema.Json))(split.body).map((route) => created(route))
      assert.deepStrictEqual(routes.map(({ name }) => name), ["A", "B"])
      const chosen = yield* importFile(rider, text, {}, "?track=1&name=Mine&duplicates=allow")
      assert.deepInclude(created(chosen.body), { name: "Mine", geometry: [[9.6, 47.1], [9.6, 47.2]] })
      const joined = created((yield* importFile(rider, text, {}, "?join=true&duplicates=allow")).body)
      assert.closeTo(Number(joined["distance"]), 2 * 11_119.5, 2)
    }))

  it.effect("that are broken, empty or a trap are refused in the one shape", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bomb =
        `<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><gpx><trk><name>&b;</name></trk></gpx>`
      const external = `<!DOCTYPE gpx [<!ENTITY x SYSTEM "file:///etc/passwd">]><gpx><trk><name>&x;</name></trk></gpx>`
      const refused = [
        "<gpx version=\"1.1\"><trk>",
        "<gpx></kml>",
        "<gpx/>",
        bomb,
        external,
        `{"type":"LineString","coordinates":[]}`,
        `{"type":"LineString","coordinates":[["a","b"]]}`,
        `{"type":"Line"`
      ]
      for (const text of refused) {
        const answer = yield* importFile(rider, text)
        assert.strictEqual(answer.status, 400, text.slice(0, 80))
        assert.deepInclude(answer.body, { code: "VALIDATION_FAILED" })
        assert.notInclude(answer.text, "root:")
      }
      // Two positions of three are left.
      for (const text of [GPX.replace("9.5", "1900"), GPX.replace("47.1", "NaN")]) {
        assert.strictEqual((yield* importFile(yield* signedIn, text)).status, 201, text)
      }
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "0")
    }))

  it.effect("have at most 32 MiB, in an encoding that they declare", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const padded = GPX.replace("<trk>", `<!--${"x".repeat(32 * 1024 * 1024)}--><trk>`)
      assert.strictEqual((yield* importFile(rider, padded)).status, 413)
      assert.strictEqual((yield* importFile(rider, GPX, { "content-encoding": "br" })).status, 415)
      assert.strictEqual((yield* importFile(rider, GPX, { "content-encoding": "gzip" })).status, 400)
      const bomb = { raw: new Uint8Array(gzipSync(padded)), headers: { "content-encoding": "gzip" } }
      assert.strictEqual((yield* rider.post("/routes/import", undefined, bomb)).status, 413)
      const broken = yield* rider.post("/routes/import", undefined, {
        raw: new Uint8Array([0x3c, 0xff, 0x3e]),
        headers: { "content-type": "application/gpx+xml" }
      })
      assert.strictEqual(broken.status, 400)
    }))

  it.effect("of 100,000 points go in, and come out again", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = Array.from(
        { length: 100_000 },
        (_, n) => [9 + n / 100_000, Number((47 + Math.sin(n / 999) / 9).toFixed(6)), n % 900]
      )
      const points = geometry.map(([lng, lat, ele]) => `<trkpt lat="${lat}" lon="${lng}"><ele>${ele}</ele></trkpt>`)
        .join("")
      const text = `<gpx version="1.1"><trk><name>Long</name><trkseg>${points}</trkseg></trk></gpx>`
      const answer = yield* importFile(rider, text, { "content-type": "application/gpx+xml" })
      assert.strictEqual(answer.status, 201)
      const route = created(answer.body)
      assert.deepStrictEqual<unknown>(route["geometry"], geometry)
      const file = yield* rider.get(`/routes/${route.id}/gpx`)
      assert.strictEqual(file.text.split("<trkpt ").length, 100_001)
      const tcx = yield* rider.get(`/routes/${route.id}/tcx`)
      assert.isAbove(tcx.text.length, 16 * 1024 * 1024)
      const again = yield* importFile(rider, tcx.text, {}, "?duplicates=allow")
      assert.strictEqual(again.status, 201, again.text.slice(0, 1000))
      assert.deepStrictEqual<unknown>(created(again.body)["geometry"], geometry)
    }))

  it.effect("of GPX have the line, the plan or both, by whatever way the route is opened", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const route = created(
        (yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry: [[9.5, 47.1], [9.6, 47.2]] }))).body
      )
      const link = (yield* rider.post(`/routes/${route.id}/links`, { label: "For a friend" })).body
      const { token } = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(link)
      const ways = [[rider, route.id], [visitor, shareTokenOf(route)], [visitor, token]] as const
      for (const [caller, ref] of ways) {
        const plain = yield* caller.get(`/routes/${ref}/gpx`)
        const files = yield* Effect.forEach(
          ["track", "route", "both"],
          (as) => caller.get(`/routes/${ref}/gpx?as=${as}`)
        )
        assert.deepStrictEqual(
          files.map(({ text }) => [text.includes("<trk>"), text.includes("<rte>")]),
          [[true, false], [false, true], [true, true]]
        )
        assert.strictEqual(plain.text, files[0]?.text)
        const tags = [plain, ...files].map(({ headers }) => headers.get("etag"))
        assert.strictEqual(tags[0], tags[1])
        assert.strictEqual(new Set(tags).size, 3)
        const other = yield* caller.get(`/routes/${ref}/gpx?as=route`, { headers: { "if-none-match": tags[1] ?? "" } })
        assert.strictEqual(other.status, 200)
      }
      const wrong = yield* rider.get(`/routes/${route.id}/gpx?as=tracks`)
      assert.strictEqual(wrong.status, 400)
      assert.include(wrong.text, "query.as")
      assert.strictEqual((yield* rider.get(`/routes/${route.id}/kml?as=track`)).status, 400)
    }))

  it.effect("are for those who may open the route", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const script = yield* scriptOf(rider, "read")
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))).body)
      for (const [format] of FORMATS) {
        assert.strictEqual((yield* visitor.get(`/routes/${route.id}/${format}`)).status, 404)
        assert.strictEqual((yield* visitor.get(`/routes/${shareTokenOf(route)}/${format}`)).status, 200)
        assert.strictEqual((yield* script.get(`/routes/${route.id}/${format}`)).status, 200)
      }
      assert.strictEqual((yield* script.post("/routes/import", undefined, { raw: GPX })).status, 403)
      assert.strictEqual((yield* visitor.post("/routes/import", undefined, { raw: GPX })).status, 401)
      assert.strictEqual((yield* rider.get(`/routes/${route.id}/svg`)).status, 404)
    }))

  it.effect("may be compressed, or sent as a form, and have the name of their file", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const nameless = GPX.replace("<name>Two segments</name>", "")
      const sent = (raw: Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
        Effect.map(rider.post("/routes/import?duplicates=allow", undefined, { raw, headers }), ({ body }) =>
          created(body)["name"])
      const packed = new Uint8Array(gzipSync(nameless))
      const compressed = {
        "content-encoding": "gzip",
        "content-type": "application/gpx+xml",
        "content-disposition": "attachment; filename*=UTF-8''%C3%9Cber%20Land.gpx"
      }
      assert.strictEqual(yield* sent(packed, compressed), "Über Land")
      for (const encoding of ["utf8", "latin1"] as const) {
        const disposition = `attachment; filename="${Buffer.from("Zürich.gpx", encoding).toString("latin1")}"`
        assert.strictEqual(yield* sent(packed, { ...compressed, "content-disposition": disposition }), "Zürich")
      }
      const body = new FormData()
      body.append("file", new File([packed], "Feierabend.gpx.gz"))
      const formOf = Effect.fnUntraced(function*(body: FormData) {
        const form = new Response(body)
        const raw = new Uint8Array(
          yield* Effect.promise(() =>
            form.arrayBuffer()
          )
        )
        return { raw, headers: { "content-type": form.headers.get("content-type") ?? "" } }
      })
      const plain = yield* formOf(body)
      assert.strictEqual(yield* sent(plain.raw, plain.headers), "Feierabend")
      body.append("constructor", "An app")
      body.append("name", "Named by the form")
      const named = yield* formOf(body)
      assert.strictEqual(yield* sent(named.raw, named.headers), "Named by the form")
      body.append("split", "true")
      const refused = yield* rider.post("/routes/import", undefined, yield* formOf(body))
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "split")
    }))

  it.effect("that are twice in an archive make one route, and one warning, unless duplicates are allowed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = new Uint8Array(yield* zipped([["a.gpx", GPX], ["b.gpx", GPX], ["c.gpx", GPX.replace("47.3", "48")]]))
      const once = yield* rider.post("/routes/import?split=true", undefined, { raw })
      assert.strictEqual(once.status, 201, once.text)
      assert.strictEqual(once.text.match(/"shareToken"/g)?.length, 2)
      assert.deepStrictEqual(once.text.match(/the same line","count":\d/g), ["the same line\",\"count\":1"])
      const twice = yield* rider.post("/routes/import?split=true&duplicates=allow", undefined, { raw })
      assert.strictEqual(twice.text.match(/"shareToken"/g)?.length, 3)
    }))

  it.effect("with several tracks name the one that an own route repeats by its index in the file", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const trk = (lat: number) =>
        `<trk><trkseg><trkpt lat="${lat}" lon="9.5"/><trkpt lat="${lat}" lon="9.6"/></trkseg></trk>`
      const gpx = (...lats: ReadonlyArray<number>) => `<gpx version="1.1">${lats.map(trk).join("")}</gpx>`
      const { id: routeId } = created((yield* importFile(rider, gpx(48))).body)
      const file = gpx(47, 47, 48, 49)
      const duplicates = [{ index: 2, routeId }]
      const refused = yield* importFile(rider, file, {}, "?split=true")
      assert.deepInclude(refused.body, { details: { reason: "duplicate_route", routeId, duplicates } })
      for (const query of ["?split=true&dryRun=true", "?track=2&dryRun=true"]) {
        assert.deepInclude((yield* importFile(rider, file, {}, query)).body, { duplicates }, query)
      }
    }))

  it.effect("of FIT come out as a course and go in again", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { origin } = yield* TestServer
      const geometry = Array.from({ length: 5000 }, (_, at) => [9.5, 47 + at / 10_000])
      const route = newRoute({ name: "To a watch", visibility: "unlisted", duration: 600, geometry })
      const token = shareTokenOf((yield* rider.post("/routes", route)).body)
      const file = yield* Effect.promise(() => fetch(`${origin}/api/v1/routes/${token}/fit`))
      assert.strictEqual(file.headers.get("content-type"), "application/vnd.ant.fit")
      assert.include(file.headers.get("content-disposition"), "To a watch.fit")
      const raw = new Uint8Array(yield* Effect.promise(() => file.arrayBuffer()))
      assert.strictEqual(Number(file.headers.get("content-length")), raw.length)
      const looked = yield* rider.post("/routes/import?dryRun=true", undefined, { raw })
      assert.deepInclude(looked.body, { format: "fit", duration: 600 })
      const again = created((yield* rider.post("/routes/import?duplicates=allow", undefined, { raw })).body)
      assert.deepInclude(again, { name: "To a watch", duration: 600 })
      assert.closeTo(Number(again["distance"]), 5000 * 11.1, 100)
    }))

  it.effect("with the positions of an own live route are 409 with its id, unless they are allowed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const moved = GPX.replace("47.1\"", "47.10000049\"").replace("Two segments", "Another name")
      const further = GPX.replace("47.1\"", "47.100001\"")
      const there = created((yield* importFile(rider, GPX)).body)
      const duplicates = [{ index: 0, routeId: there.id }]
      const refused = yield* importFile(rider, moved)
      assert.strictEqual(refused.status, 409)
      assert.deepInclude(refused.body, { details: { reason: "duplicate_route", routeId: there.id, duplicates } })
      assert.deepInclude((yield* importFile(rider, moved, {}, "?dryRun=true")).body, { duplicates })
      assert.deepInclude((yield* importFile(rider, further, {}, "?dryRun=true")).body, { duplicates: [] })
      assert.strictEqual((yield* importFile(rider, further)).status, 201)
      const allowed = created((yield* importFile(rider, moved, {}, "?duplicates=allow")).body)
      assert.strictEqual((yield* importFile(yield* signedIn, GPX)).status, 201)
      yield* rider.delete(`/routes/${there.id}`)
      yield* rider.delete(`/routes/${allowed.id}`)
      const atOnce = yield* Effect.replicateEffect(importFile(rider, GPX), 8, { concurrency: "unbounded" })
      assert.deepStrictEqual(atOnce.map(({ status }) => status).toSorted(), [
        201,
        ...Array.from({ length: 7 }, () => 409)
      ])
    }))

  it.effect("are imported once under one Idempotency-Key", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const first = yield* importFile(rider, GPX, { "idempotency-key": "i" })
      const again = yield* importFile(rider, GPX, { "idempotency-key": "i" })
      assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
      assert.strictEqual((yield* importFile(rider, `${GPX}\n`, { "idempotency-key": "i" })).status, 409)
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "1")
    }))

  it.effect("are imported once by one clientId, whose repeat has the first result, and which names one route", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const query = "?clientId=6f1f2c1e-3c1b-4c9e-9a53-0d8f0a5b7c12"
      const send = importFile(rider, GPX, {}, query)
      const [first, ...others] = yield* Effect.replicateEffect(send, 4, { concurrency: "unbounded" })
      const { id } = created(first?.body)
      yield* rider.patch(`/routes/${id}`, { name: "Renamed" })
      for (const again of [...others, yield* send, yield* importFile(rider, GPX, {}, `${query}&duplicates=allow`)]) {
        assert.deepStrictEqual([again.status, again.text], [201, first?.text])
        assert.strictEqual(again.headers.get("location"), first?.headers.get("location"))
      }
      const further = yield* importFile(rider, GPX.replace("47.1\"", "47.2\""), {}, query)
      assert.deepInclude(further.body, { id, name: "Renamed" })
      assert.strictEqual((yield* importFile(rider, GPX)).status, 409)
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "1")
      const two = GPX.replace(/<trk>.*<\/trk>/s, (track) => `${track}${track.replace("47.1\"", "47.3\"")}`)
      const split = yield* importFile(rider, two, {}, `${query}&split=true`)
      assert.strictEqual(split.status, 400)
      assert.include(split.text, "query.clientId: Names one route")
      yield* rider.delete(`/routes/${id}`)
      const deleted = yield* send
      assert.strictEqual(deleted.status, 409)
      assert.deepInclude(deleted.body, { details: { reason: "client_id_used" } })
    }))
})
