import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { FitEncoder } from "fit-file-parser/encoder"
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { ZipImportLine } from "../../src/schema/ZipImport.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { archiveOf, imported, zipped } from "../support/Archives.ts"
import { byte, degrees, START, uint32 } from "../support/FitFields.ts"
import { created } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const gpx = (lat: number, inner = "", name = "Ride") =>
  `<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name>${inner}<trkseg>`
  + `<trkpt lat="${lat}" lon="9.5"><time>2025-06-01T08:00:00Z</time></trkpt>`
  + `<trkpt lat="${lat + 0.01}" lon="9.51"><time>2025-06-01T09:00:00Z</time></trkpt></trkseg></trk></gpx>`

/** The recording of a watch has no title. */
const fit = (start: number, lat: number) =>
  Buffer.from(
    [0, 60, 120].reduce(
      (file, second) =>
        file.writeMessage(20, [uint32(253, start + second), degrees(0, lat + second / 1e4), degrees(1, 9.5)]),
      new FitEncoder().writeMessage(0, [byte(0, 4)])
    ).writeMessage(18, [uint32(253, start + 120), byte(5, 2), uint32(2, start), uint32(8, 120_000)]).close()
  )

const linesOf = (text: string) =>
  text.trim().split("\n").map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(ZipImportLine))(line))

const moved = (rider: Rider, bytes: Uint8Array, query = "") =>
  Effect.map(
    rider.post(`/users/me/import${query}`, undefined, {
      raw: Uint8Array.from(bytes),
      headers: { "content-type": "application/zip" }
    }),
    ({ headers, status, text }) => {
      assert.strictEqual(status, 200, text)
      assert.strictEqual(headers.get("content-type"), "application/x-ndjson")
      return linesOf(text)
    }
  )

const Routes = Schema.Array(Schema.Record(Schema.String, Schema.Unknown))

const routesOf = (rider: Rider) =>
  Effect.map(rider.get("/routes?geometry=none&sort=name"), ({ body }) => Schema.decodeUnknownSync(Routes)(body))

const skippedIn = (lines: ReadonlyArray<ZipImportLine>) =>
  Object.fromEntries(lines.flatMap((line) => line.outcome === "skipped" ? [[line.file, line.reason]] : []))

const CSV = [
  "Activity ID,Activity Date,Activity Name,Activity Type,Activity Description,Elapsed Time,Filename",
  "101,\"Jun 1, 2025, 6:30:00 AM\",\"Morning, \"\"early\"\"\",Ride,\"Two\nlines\",3600,activities/101.gpx.gz",
  "102,\"Jun 2, 2025\",Lunch,Run,,3600,activities/102.gpx",
  "103,\"Jun 3, 2025\",Indoor,Ride,,3600,"
].join("\r\n")

layer(TestServer.layer())("a ZIP of route files", (it) => {
  it.effect("as Strava gives it becomes routes with their names and sources, and none twice", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bytes = yield* zipped([
        ["activities.csv", CSV],
        ["activities/101.gpx.gz", gzipSync(gpx(47.1).replaceAll(/<time>[^<]*<.time>/g, ""))],
        ["activities/102.gpx", gpx(47.2, "<desc>Own words</desc>")],
        ["media/1.jpg", "no route"],
        ["activities/104.fit.gz", gzipSync("no FIT")]
      ])
      const lines = yield* moved(rider, bytes, "?tags=strava&tags=moved&collection=Strava&visibility=unlisted")
      assert.deepStrictEqual(lines[0], { outcome: "begun", files: 5 })
      assert.deepStrictEqual(skippedIn(lines), {
        "activities.csv": "it names the activities",
        "media/1.jpg": "its name is not that of a route file",
        "activities/104.fit.gz": "its format is not read"
      })
      const ended = lines.at(-1)
      assert.deepInclude(ended, { outcome: "ended", imported: 2, duplicates: 0, skipped: 3 })

      const routes = yield* routesOf(rider)
      const source = { provider: "strava", externalId: "102", url: "https://www.strava.com/activities/102" }
      assert.deepInclude(routes[0], {
        name: "Lunch",
        description: "Own words",
        visibility: "unlisted",
        activity: "run",
        tags: ["strava", "moved"],
        duration: 3600,
        recordedAt: "2025-06-01T08:00:00.000Z",
        source
      })
      assert.deepInclude(routes[1], {
        name: "Morning, \"early\"",
        description: "Two\nlines",
        activity: "cycle",
        recordedAt: "2025-06-01T06:30:00.000Z"
      })

      const again = yield* moved(rider, bytes, "?collection=Strava")
      assert.deepInclude(again.at(-1), { outcome: "ended", imported: 0, duplicates: 2, skipped: 3 })
      const collections = Schema.decodeUnknownSync(Routes)((yield* rider.get("/collections")).body)
      assert.deepStrictEqual(collections.map(({ name, routeCount }) => [name, routeCount]), [["Strava", 2]])

      // A changed line is known by its source.
      const changed = yield* zipped([["activities.csv", CSV], ["activities/102.gpx", gpx(47.9)]])
      assert.deepInclude((yield* moved(rider, changed)).at(-1), { imported: 0, duplicates: 1 })
      const allowed = yield* moved(rider, changed, "?duplicates=allow")
      assert.deepInclude(allowed.at(-1), { imported: 1, duplicates: 0 })
    }))

  it.effect("that is sent again leaves the members of its collection where they are", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = [46.6, 46.7, 46.6].map((lat, index) => [`${index}.gpx`, gpx(lat)] as const)
      const bytes = yield* zipped(files)
      const ended = (yield* moved(rider, bytes, "?collection=Moved")).at(-1)
      const path = `/collections/${ended?.outcome === "ended" ? ended.collectionId : ""}`
      const first = yield* rider.get(path)
      const { routeIds } = Schema.decodeUnknownSync(Schema.Struct({ routeIds: Schema.Array(Schema.Int) }))(first.body)
      assert.strictEqual(
        (yield* rider.call("PUT", `${path}/routes`, { body: { routeIds: routeIds.toReversed() } })).status,
        200
      )
      const reversed = yield* rider.get(path)
      assert.deepInclude((yield* moved(rider, bytes, "?collection=Moved")).at(-1), { imported: 0, duplicates: 3 })
      const again = yield* rider.get(path)
      assert.deepStrictEqual([again.text, again.headers.get("etag")], [reversed.text, reversed.headers.get("etag")])
    }))

  it.effect("has no points without a line that are here already, nor has a file or the archive of an account", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const points = (name: string) =>
        `<gpx version="1.1" creator="x"><metadata><name>${name}</name></metadata><wpt lat="47" lon="9"/></gpx>`
      const sent = (query = "") => rider.post(`/routes/import${query}`, undefined, { raw: points("Springs") })
      const { id } = created((yield* sent()).body)
      const duplicates = [{ index: 0, routeId: id }]
      assert.deepInclude((yield* sent()).body, { details: { reason: "duplicate_route", routeId: id, duplicates } })
      assert.deepInclude((yield* sent("?dryRun=true")).body, { duplicates })
      const bytes = yield* zipped(["Springs", "Huts"].map((name) => [`${name}.gpx`, points(name)]))
      assert.deepInclude((yield* moved(rider, bytes)).at(-1), { imported: 1, duplicates: 1 })
      yield* moved(other, bytes)
      const routes = { created: 0, restored: 0, unchanged: 0, duplicates: 2 }
      assert.deepInclude((yield* imported(rider, yield* archiveOf(other))).body, { routes })
      assert.strictEqual((yield* sent("?duplicates=allow")).status, 201)
    }))

  it.effect("as Garmin gives it has the titles that another of its files says, and not the address of the rider", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const summary = (activityId: number, name: string, start: number) => ({
        activityId,
        name,
        activityType: "cycling",
        beginTimestamp: Date.UTC(1989, 11, 31) + 1000 * start,
        duration: 120_000
      })
      const folder = "DI_CONNECT/DI-Connect-Fitness"
      const uploads = yield* zipped([
        ["ada@example.com_7000000001.fit", fit(START, 46)],
        ["ada@example.com_7000000002.fit", fit(START + 3600, 47)],
        ["ada@example.com_7000000003.fit", fit(START + 9000, 48)],
        ["ada@example.com_7000000004.fit", fit(START + 3630, 49)]
      ])
      const bytes = yield* zipped([
        [
          `${folder}/ada@example.com_0_summarizedActivities.json`,
          JSON.stringify([{
            summarizedActivitiesExport: [
              summary(502, "Lunch ride", START + 3600),
              summary(501, "Early", START),
              { name: 1 },
              summary(504, "Lunch ride again", START + 3630)
            ]
          }])
        ],
        [`${folder}/ada@example.com_1001_summarizedActivities.json`, "{"],
        ["DI_CONNECT/DI-Connect-User/customer.json", "{\"type\":\"Point\"}"],
        ["DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part1.zip", Buffer.from(uploads)]
      ])
      const lines = yield* moved(rider, bytes)
      assert.deepInclude(lines.at(-1), { outcome: "ended", imported: 4, duplicates: 0, skipped: 3 })
      assert.include(skippedIn(lines)["DI_CONNECT/DI-Connect-User/customer.json"], "not a route file")
      const routes = yield* routesOf(rider)
      const page = (id: string) => ({
        provider: "garmin",
        externalId: id,
        url: `https://connect.garmin.com/modern/activity/${id}`
      })
      assert.deepStrictEqual(routes.map(({ activity, name, source }) => ({ activity, name, source })), [
        { activity: "cycle", name: "7000000003", source: { provider: "garmin", externalId: "upload/7000000003" } },
        { activity: "cycle", name: "Early", source: page("501") },
        { activity: "cycle", name: "Lunch ride", source: page("502") },
        { activity: "cycle", name: "Lunch ride again", source: page("504") }
      ])
      assert.deepInclude((yield* moved(rider, bytes)).at(-1), { imported: 0, duplicates: 4 })
    }))

  it.effect("may have folders and nested archives, and no file stops another", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const innermost = yield* zipped([["deep.gpx", gpx(46)]])
      const nested = yield* zipped([["a/b.gpx", gpx(46.1)], ["twice.gpx", gpx(46.1)], [
        "in.zip",
        Buffer.from(innermost)
      ]])
      const bytes = yield* zipped([
        ["broken.gpx", "<gpx>"],
        ["UploadedFiles_0.zip", Buffer.from(nested)],
        ["not.zip", "no archive"],
        ["many.gpx", gpx(45).replace(/<trk>.*<.trk>/, (track) => track.repeat(101))],
        ["last.gpx", gpx(46.2)]
      ])
      const lines = yield* moved(rider, bytes)
      assert.deepStrictEqual(lines.map((line) => "file" in line ? [line.outcome, line.file] : line.outcome), [
        "begun",
        ["skipped", "broken.gpx"],
        ["imported", "UploadedFiles_0.zip/a/b.gpx"],
        ["duplicate", "UploadedFiles_0.zip/twice.gpx"],
        ["skipped", "UploadedFiles_0.zip/in.zip"],
        ["skipped", "not.zip"],
        ["skipped", "many.gpx"],
        ["imported", "last.gpx"],
        "ended"
      ])
      assert.include(skippedIn(lines)["UploadedFiles_0.zip/in.zip"], "nested archive")
      assert.strictEqual(
        skippedIn(lines)["many.gpx"],
        "Expected at most 100 tracks, the file has 101: divide it, or import it alone, each track by `track`"
      )
    }))

  it.effect("names what is left out of a file that is imported, once for all of its tracks", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const track = gpx(44).replace(/^<gpx[^>]*>|<.gpx>$/g, "")
      const two = gpx(44.5).replace("</gpx>", `${track}<foreign/></gpx>`)
      const whole = gpx(44.7).replaceAll(/<time>[^<]*<.time>/g, "")
      const bytes = yield* zipped([
        ["whole.gpx", whole],
        ["cut.fit", readFileSync(join(import.meta.dirname, "../support/cases/d2-cut-off.fit"))],
        ["two.gpx", two]
      ])
      const lines = (yield* moved(rider, bytes)).slice(1, -1)
      const foreign = { code: "dropped" as const, message: "foreign of gpx: a route has no place for it", count: 1 }
      const times = { ...foreign, message: "time of trkpt: a route has no place for it", count: 4 }
      const cut = {
        code: "dropped" as const,
        message: "FIT file: it ends early or is damaged, what could be read is kept",
        count: 1
      }
      assert.deepStrictEqual(
        lines.map((line) => line.outcome === "imported" ? [line.file, line.routeIds.length, line.warnings] : line),
        [["whole.gpx", 1, undefined], ["cut.fit", 1, [cut]], ["two.gpx", 2, [foreign, times]]]
      )
    }))

  it.effect("is sent by the command line as it is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { origin } = yield* TestServer
      const { token } = yield* mint(rider, "write")
      const folder = yield* temporaryDirectory
      const archive = join(folder, "export.zip")
      writeFileSync(archive, yield* zipped([["a.gpx", gpx(45)], ["b.gpx", "<gpx>"]]))
      const main = join(import.meta.dirname, "../../packages/cli/src/main.ts")
      const env = { ...process.env, RPS_URL: origin, RPS_TOKEN: token, RPS_CONFIG_DIR: folder }
      const output = yield* Effect.promise(() =>
        new Promise<string>((resolve) =>
          execFile(process.execPath, [main, "import", archive, "--tag", "moved"], { env }, (_, stdout, stderr) =>
            resolve(`${stdout}${stderr}`))
        )
      )
      assert.include(output, "a.gpx: imported\nb.gpx: skipped, ")
      assert.include(output, "1 imported, 0 already there, 1 skipped")
      assert.deepInclude((yield* routesOf(rider))[0], { name: "Ride", tags: ["moved"] })
    }))
})
