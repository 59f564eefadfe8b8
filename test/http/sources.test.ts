import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { gzipSync } from "node:zlib"
import { Source } from "../../src/schema/Route.ts"
import { ZipImportLine } from "../../src/schema/ZipImport.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { archiveOf, imported, zipped } from "../support/Archives.ts"
import { created, idOf, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

interface Written {
  readonly creator: string
  readonly metadata?: string
  readonly track?: string
}

const gpx = (lat: number, { creator, metadata = "", track = "" }: Written) =>
  `<?xml version="1.0" encoding="UTF-8"?><gpx version="1.1" creator="${creator}" xmlns="http://www.topografix.com/GPX/1/1">`
  + `<metadata><name>Ride</name>${metadata}</metadata><trk><name>Ride</name>${track}<trkseg>`
  + `<trkpt lat="${lat}" lon="9.5"/><trkpt lat="${lat + 0.01}" lon="9.51"/></trkseg></trk></gpx>`

const tcx = (lat: number) =>
  "<TrainingCenterDatabase xmlns=\"http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2\"><Activities>"
  + "<Activity Sport=\"Biking\"><Id>2025-06-01T08:00:00Z</Id><Lap StartTime=\"2025-06-01T08:00:00Z\"><Track>"
  + [0, 1].map((n) =>
    `<Trackpoint><Time>2025-06-01T08:0${n}:00Z</Time><Position><LatitudeDegrees>${lat + n / 100}</LatitudeDegrees>`
    + "<LongitudeDegrees>9.5</LongitudeDegrees></Position></Trackpoint>"
  ).join("")
  + "</Track></Lap></Activity></Activities></TrainingCenterDatabase>"

const fit = (lat: number) =>
  Buffer.from(writeFit({
    name: "Ride",
    tags: [],
    waypoints: [],
    recordedAt: "2025-06-01T08:00:00.000Z",
    geometry: [[9.5, lat], [9.51, lat + 0.01]]
  }))

const link = (href: string) => `<link href="${href}"><text>Ride</text></link>`

const decodeRoute = Schema.decodeUnknownSync(Schema.Struct({ source: Schema.optionalKey(Source) }))

const decodeLines = Schema.decodeUnknownSync(Schema.Array(Schema.fromJsonString(ZipImportLine)))

/** Sends an archive, and returns the sources of the routes that were made of it by the names of the files. */
const sourcesOf = Effect.fnUntraced(function*(rider: Rider, files: Iterable<readonly [string, string | Buffer]>) {
  const { status, text } = yield* imported(rider, yield* zipped(files))
  assert.strictEqual(status, 200, text)
  const made = decodeLines(text.trim().split("\n")).flatMap((line) =>
    line.outcome === "imported" ? [[line.file, line.routeIds[0]] as const] : []
  )
  const found = yield* Effect.forEach(
    made,
    ([file, id]) =>
      Effect.map(rider.get(`/routes/${id}?geometry=none`), ({ body }) => [file, decodeRoute(body).source] as const)
  )
  return Object.fromEntries(found)
})

const RWGPS = "http://ridewithgps.com/"
const KOMOOT = "https://www.komoot.de"

layer(TestServer.layer())("the source of a route", (it) => {
  it.effect("of Garmin Connect is known by the names of its downloads and of its export", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const uploads = yield* zipped([["rider@example.com_74724999004.fit", fit(46.1)]])
      const activity = (id: string) => ({
        provider: "garmin",
        externalId: id,
        url: `https://connect.garmin.com/modern/activity/${id}`
      })
      const files = [
        ["activity_6829812928.gpx", gpx(46.2, { creator: "Garmin Connect", metadata: link("connect.garmin.com") })],
        ["activity_6829812929.tcx", tcx(46.3)],
        ["22575150868_ACTIVITY.fit", fit(46.4)],
        ["COURSE_123456789.fit", fit(46.5)],
        ["DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part1.zip", Buffer.from(uploads)]
      ] as const
      assert.deepStrictEqual(yield* sourcesOf(rider, files), {
        "activity_6829812928.gpx": activity("6829812928"),
        "activity_6829812929.tcx": activity("6829812929"),
        "22575150868_ACTIVITY.fit": activity("22575150868"),
        "COURSE_123456789.fit": {
          provider: "garmin",
          externalId: "course/123456789",
          url: "https://connect.garmin.com/modern/course/123456789"
        },
        "DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part1.zip/rider@example.com_74724999004.fit": {
          provider: "garmin",
          externalId: "upload/74724999004"
        }
      })
    }))

  it.effect("of Ride with GPS, Komoot, Strava and wanderer is known by the page that a GPX file links to", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const author = "<author><name>Rider</name><link href=\"https://www.komoot.de/user/1\"/></author>"
      const tour = link("https://www.komoot.de/tour/371234567?share_token=secret")
      const files = [
        ["route.gpx", gpx(46.1, { creator: RWGPS, metadata: link("https://ridewithgps.com/routes/50433954") })],
        [
          "trip.gpx.gz",
          gzipSync(gpx(46.2, { creator: RWGPS, metadata: link("http://ridewithgps.com/trips/56855290") }))
        ],
        ["tour.gpx", gpx(46.3, { creator: "Rider", metadata: `${author}${tour}`, track: tour })],
        ["strava.gpx", gpx(46.4, { creator: "StravaGPX", track: link("https://www.strava.com/routes/123") })],
        [
          "trail.gpx",
          gpx(46.5, { creator: "wanderer", metadata: link("https://trails.example/trail/view/@rider/abcdefghij12345") })
        ]
      ] as const
      assert.deepStrictEqual(yield* sourcesOf(rider, files), {
        "route.gpx": {
          provider: "ridewithgps",
          externalId: "routes/50433954",
          url: "https://ridewithgps.com/routes/50433954"
        },
        "trip.gpx.gz": {
          provider: "ridewithgps",
          externalId: "trips/56855290",
          url: "https://ridewithgps.com/trips/56855290"
        },
        "tour.gpx": { provider: "komoot", externalId: "371234567", url: "https://www.komoot.de/tour/371234567" },
        "strava.gpx": { provider: "strava", externalId: "routes/123", url: "https://www.strava.com/routes/123" },
        "trail.gpx": {
          provider: "wanderer",
          externalId: "abcdefghij12345",
          url: "https://trails.example/trail/view/@rider/abcdefghij12345"
        }
      })
    }))

  it.effect("of files that Komoot and wanderer wrote is known by the number in their name, and a date is none", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = "abcdefghij12345"
      const files = [
        ["371234567_Feierabend.gpx", gpx(46.1, { creator: KOMOOT })],
        ["2024-05-06_Feierabend-1171234567.gpx", gpx(46.2, { creator: "https://www.komoot.com" })],
        ["20240506_Feierabend.gpx", gpx(46.3, { creator: KOMOOT })],
        ["371234568_Feierabend.gpx", gpx(46.4, { creator: "Another program" })],
        [`trails/${id}/Alp.gpx`, gpx(46.5, { creator: "wanderer" })],
        ["circumnavigated.gpx", gpx(46.6, { creator: "wanderer" })]
      ] as const
      const komoot = (externalId: string) => ({
        provider: "komoot",
        externalId,
        url: `https://www.komoot.com/tour/${externalId}`
      })
      assert.deepStrictEqual(yield* sourcesOf(rider, files), {
        "371234567_Feierabend.gpx": komoot("371234567"),
        "2024-05-06_Feierabend-1171234567.gpx": komoot("1171234567"),
        "20240506_Feierabend.gpx": undefined,
        "371234568_Feierabend.gpx": undefined,
        [`trails/${id}/Alp.gpx`]: { provider: "wanderer", externalId: id },
        "circumnavigated.gpx": undefined
      })
    }))

  it.effect("is not guessed: other pages, programs and names give none", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const author = `<author><name>komoot</name>${link(KOMOOT)}</author>`
      const files = [
        ["komoot.gpx", gpx(46.1, { creator: KOMOOT, metadata: author })],
        ["activity_6829812928.gpx", gpx(46.2, { creator: "Another program" })],
        ["rider_74724999004.fit", fit(46.3)],
        ["elsewhere.gpx", gpx(46.4, { creator: "x", metadata: link("https://strava.com.example/activities/1") })],
        ["no-page.gpx", gpx(46.5, { creator: "x", metadata: link("javascript:alert(1)") })]
      ] as const
      const found = yield* sourcesOf(rider, files)
      assert.deepStrictEqual(Object.keys(found), files.map(([name]) => name))
      assert.deepStrictEqual(Object.values(found).filter((source) => source !== undefined), [])
    }))

  it.effect("finds a route again whose line was changed, in an archive that is sent again", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const fileOf = (lat: number) =>
        [["route.gpx", gpx(lat, { creator: RWGPS, metadata: link("https://ridewithgps.com/routes/1") })]] as const
      yield* sourcesOf(rider, fileOf(46.1))
      const { text } = yield* imported(rider, yield* zipped(fileOf(46.9)))
      assert.include(text, "\"outcome\":\"duplicate\"")
    }))

  it.effect("belongs to one route of an account: another one with it is 409, also by a change, and one in the trash counts", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const source = { provider: "strava", externalId: "1" }
      const id = idOf((yield* rider.post("/routes", newRoute({ source }))).body)
      const other = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const refusals = [
        yield* rider.post("/routes", newRoute({ source: { ...source, url: "https://www.strava.com/activities/1" } })),
        yield* rider.patch(`/routes/${other}`, { source }),
        yield* Effect.andThen(rider.delete(`/routes/${id}`), rider.post("/routes", newRoute({ source })))
      ]
      for (const { body, status, text } of refusals) {
        assert.strictEqual(status, 409, text)
        assert.nestedInclude(body, { "details.reason": "source_used" })
      }
      assert.strictEqual(
        (yield* rider.post("/routes", newRoute({ source: { ...source, externalId: "2" } }))).status,
        201
      )
      assert.strictEqual((yield* (yield* signedIn).post("/routes", newRoute({ source }))).status, 201)
    }))

  it.effect("stays with the route that has it when an archive brings another, which is stored without it", () =>
    Effect.gen(function*() {
      const source = { provider: "strava", externalId: "1" }
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({ name: "Brought", source }))).body)
      yield* rider.post("/collections", { name: "All", routeIds: [id] })
      const archive = yield* archiveOf(rider)
      const heir = yield* signedIn
      const own = idOf((yield* heir.post("/routes", newRoute({ name: "Own", source }))).body)
      yield* heir.delete(`/routes/${own}`)
      assert.nestedInclude((yield* imported(heir, archive)).body, { "routes.created": 1, "routes.unchanged": 0 })
      const { text } = yield* heir.get("/routes?geometry=none")
      assert.include(text, "\"name\":\"Brought\"")
      assert.notInclude(text, "strava")
      assert.include((yield* heir.get("/collections")).text, "\"routeCount\":1")
      assert.include((yield* heir.post(`/routes/${own}/restore`)).text, "strava")
      yield* imported(rider, archive)
      assert.deepStrictEqual(decodeRoute((yield* rider.get(`/routes/${id}`)).body).source, source)
    }))

  it.effect("and the time of a recording are hidden from others, in documents, lists and files", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id, shareToken } = created(
        (yield* rider.post(
          "/routes",
          newRoute({
            visibility: "public",
            geometry: [[9.5, 46.5], [9.51, 46.51]],
            duration: 60,
            recordedAt: "2001-02-03T04:05:06.000Z",
            waypoints: [{ coord: [9.5, 46.5], name: "Hut", timestamp: "2001-02-03 at noon" }],
            source: { provider: "strava", externalId: "987654321", url: "https://www.strava.com/activities/987654321" }
          })
        )).body
      )
      const hidden = ["recordedAt", "2001-02-03", "987654321"]
      const own = yield* rider.get(`/routes/${id}`)
      for (const secret of hidden) assert.include(own.text, secret)
      assert.include((yield* rider.get(`/routes/${id}/gpx`)).text, "2001-02-03T04:05:06")
      for (const viewer of [yield* signedIn, yield* anonymous]) {
        const seen = [
          yield* viewer.get(`/routes/${shareToken}`),
          yield* viewer.get("/routes/public?limit=100"),
          yield* viewer.get(`/routes/${shareToken}/gpx`),
          yield* viewer.get(`/routes/${shareToken}/tcx`)
        ]
        for (const { status, text } of seen) {
          assert.strictEqual(status, 200, text)
          for (const secret of hidden) assert.notInclude(text, secret)
        }
      }
    }))
})
