import { assert, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { deflateRawSync, gzipSync } from "node:zlib"
import { MAX_ARCHIVE_FILES } from "../../src/schema/Archive.ts"
import { MAX_UNPACKED_BYTES } from "../../src/schema/Import.ts"
import { MAX_NAME } from "../../src/schema/Route.ts"
import { MAX_UNPACKED_ROUTES, ZipImportLine } from "../../src/schema/ZipImport.ts"
import { readActivities, readSummaries } from "../../src/services/archive/Sources.ts"
import { type Actor, signedIn } from "../support/Actors.ts"
import { archiveOf, imported, importedAfter, importedByPage, zipped } from "../support/Archives.ts"
import { archiveOfPacked, deflated, spaces } from "../support/Bombs.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

/** So many blocks of 4 MiB each are more than a file may have. */
const LARGE_BLOCKS = 9

const gpx = (lat: number) =>
  `<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Ride ${lat}</name><trkseg>`
  + `<trkpt lat="${lat}" lon="9.5"/><trkpt lat="${lat + 0.01}" lon="9.51"/></trkseg></trk></gpx>`

const linesOf = (text: string) =>
  text.trim().split("\n").map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(ZipImportLine))(line))

const sent = (actor: Actor, bytes: Uint8Array, query = "", headers: Readonly<Record<string, string>> = {}) =>
  actor.post(`/users/me/import${query}`, undefined, {
    raw: Uint8Array.from(bytes),
    headers: { "content-type": "application/zip", ...headers }
  })

const outcomesOf = (text: string) =>
  linesOf(text).flatMap((line) =>
    "file" in line ? [[line.file, line.outcome === "skipped" ? line.reason : line.outcome]] : []
  )

const CENTRAL = Buffer.from([0x50, 0x4b, 0x01, 0x02])

/** Changes bytes of the central header of a file, at an offset from its beginning. */
const withHeader = (zip: Uint8Array, name: string, change: (header: Buffer) => void) => {
  const bytes = Buffer.from(zip)
  for (let at = bytes.indexOf(CENTRAL); at !== -1; at = bytes.indexOf(CENTRAL, at + 4)) {
    const length = bytes.readUInt16LE(at + 28)
    if (bytes.toString("utf8", at + 46, at + 46 + length) === name) change(bytes.subarray(at))
  }
  return bytes
}

const TOO_LONG = `it has more than ${MAX_UNPACKED_BYTES} bytes`

layer(TestServer.layer({ MAX_ROUTES_PER_USER: "2" }))("a hostile ZIP of route files", (it) => {
  it.effect("has its encrypted files, links, paths and wrong sizes skipped, and the others imported", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const table = `${"f".repeat(256)}/activities.csv`
      const plain = archiveOfPacked([
        deflated("../../etc/up.gpx", gpx(1)),
        deflated("/root.gpx", gpx(2)),
        deflated("C:\\windows.gpx", gpx(3)),
        deflated("secret.gpx", gpx(4)),
        deflated("link.gpx", gpx(5)),
        deflated("method.gpx", gpx(6)),
        deflated(table, "1,,,,,activities/1.gpx"),
        deflated("longer.gpx", gpx(8)),
        deflated("shorter.gpx", gpx(9)),
        deflated("good.gpx", gpx(7))
      ])
      const encrypted = withHeader(plain, "secret.gpx", (header) => header.writeUInt16LE(1, 8))
      const linked = withHeader(encrypted, "link.gpx", (header) => {
        header.writeUInt8(3, 5)
        header.writeUInt32LE(0o120777 * 0x10000, 38)
      })
      const other = withHeader(linked, "method.gpx", (header) => header.writeUInt16LE(99, 10))
      const longer = withHeader(other, "longer.gpx", (header) => header.writeUInt32LE(100, 24))
      const bytes = withHeader(longer, "shorter.gpx", (header) => header.writeUInt32LE(1000, 24))
      const { status, text } = yield* sent(rider, bytes)
      assert.strictEqual(status, 200, text)
      const outside = "its name leads out of the archive"
      assert.deepStrictEqual(outcomesOf(text).map(([file, word]) => [file, word?.slice(0, 60)]), [
        ["../../etc/up.gpx", outside],
        ["/root.gpx", outside],
        ["C:/windows.gpx", outside],
        ["secret.gpx", "it is encrypted"],
        ["link.gpx", "it is a symbolic link"],
        ["method.gpx", "The file cannot be read: unsupported compression method: 99"],
        [table, "its name is not that of a route file"],
        ["longer.gpx", "The file cannot be read: it has not the 100 bytes that the d"],
        ["shorter.gpx", "The file cannot be read: it has not the 1000 bytes that the "],
        ["good.gpx", "imported"]
      ])
    }))

  it.effect("has what unpacks to more than 32 MiB skipped, whatever its ratio and however it is packed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const inner = archiveOfPacked([spaces("inner.gpx", LARGE_BLOCKS)])
      const bytes = archiveOfPacked([
        spaces("bomb.gpx", LARGE_BLOCKS),
        { name: "bomb.gpx.gz", packed: deflated("", "").packed, size: 0 },
        spaces("bomb.zip", 200),
        deflated("good.gpx", gpx(11))
      ])
      const { text } = yield* sent(rider, bytes)
      const outcomes = Object.fromEntries(outcomesOf(text))
      assert.strictEqual(outcomes["bomb.gpx"], TOO_LONG)
      assert.strictEqual(outcomes["bomb.zip"], "it has more than 536870912 bytes")
      assert.strictEqual(outcomes["good.gpx"], "imported")
      const gzip = yield* zipped([
        ["bomb.gpx.gz", gzipSync(Buffer.alloc(MAX_UNPACKED_BYTES + 1, " "))],
        ["nested.zip", Buffer.from(inner)]
      ])
      assert.deepStrictEqual(outcomesOf((yield* sent(rider, gzip)).text), [
        ["bomb.gpx.gz", TOO_LONG],
        ["nested.zip/inner.gpx", TOO_LONG]
      ])
    }))

  it.effect("has no more files than 50,000 with those of nested archives, also of one that names an export", () =>
    Effect.gen(function*() {
      const { packed, size } = deflated("", "")
      const names = ["routes.json", ...Array.from({ length: 49_999 }, (_, index) => String(index))]
      const nested = Buffer.from(archiveOfPacked(names.map((name) => ({ name, packed, size }))))
      const bytes = archiveOfPacked([
        { name: "many.zip", packed: deflateRawSync(nested), size: nested.length },
        deflated("note.txt", "x")
      ])
      const tooMany = archiveOfPacked([...names.slice(1), "a", "b"].map((name) => ({ name, packed, size })))
      // The rider signs in after the archives are made, which takes longer than a connection may be idle.
      const rider = yield* signedIn
      const { text } = yield* sent(rider, bytes)
      assert.deepStrictEqual(outcomesOf(text), [
        ["many.zip", "with it there are more than 50000 files"],
        ["note.txt", "its name is not that of a route file"]
      ])
      const refused = yield* sent(rider, tooMany)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "it has more than 50000 files")
    }))

  it.effect("has each file of gzip that fails counted as the most that one unpacks to", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const broken = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0])
      const most = MAX_UNPACKED_ROUTES / MAX_UNPACKED_BYTES
      const bytes = yield* zipped([
        ...Array.from({ length: most }, (_, index) => [`${index}.gpx.gz`, broken] as const),
        ["last.gpx", gpx(12)]
      ])
      const outcomes = outcomesOf((yield* sent(rider, bytes)).text)
      assert.deepStrictEqual(outcomes[0], ["0.gpx.gz", "Malformed gzip"])
      assert.deepStrictEqual(outcomes.at(-1), [
        "last.gpx",
        `the files before it unpack to ${MAX_UNPACKED_ROUTES} bytes, the most of an archive`
      ])
    }))

  it.effect("over the quota has the rest skipped with the reason, and what is there stays", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bytes = yield* zipped([21, 22, 23, 24].map((lat) => [`${lat}.gpx`, gpx(lat)] as const))
      const { text } = yield* sent(rider, bytes)
      const full = "the account has as many routes as it may have"
      assert.deepStrictEqual(outcomesOf(text), [
        ["21.gpx", "imported"],
        ["22.gpx", "imported"],
        ["23.gpx", full],
        ["24.gpx", full]
      ])
      assert.deepInclude(linesOf(text).at(-1), { outcome: "ended", imported: 2, skipped: 2 })
    }))
})

it.effect("a table of Strava has no more activities than an archive has files, and none of a long name", () =>
  Effect.gen(function*() {
    const table = Buffer.from("1,,,,,activities/1.gpx\n".repeat(MAX_ARCHIVE_FILES + 1))
    const activities = yield* Effect.promise(async () => readActivities.run(table))
    assert.strictEqual(activities.length, MAX_ARCHIVE_FILES)
    const long = Buffer.from(`1,,,,,activities/${"x".repeat(256)}\n`)
    assert.deepStrictEqual(yield* Effect.promise(async () => readActivities.run(long)), [])
  }))

it.effect("a list of Garmin has the beginnings of names only, which a route has room for", () =>
  Effect.gen(function*() {
    const activity = { activityId: 1, name: `  ${"n".repeat(100_000)}`, beginTimestamp: 0 }
    const list = Buffer.from(JSON.stringify([{ summarizedActivitiesExport: [activity] }]))
    const [only] = yield* Effect.promise(async () => readSummaries.run(list))
    assert.strictEqual(only?.name, "n".repeat(2 * MAX_NAME))
  }))

layer(TestServer.layer())("an import of route files", (it) => {
  it.effect("reads no list of Garmin after as many activities as an archive has files", () =>
    Effect.gen(function*() {
      const list = (count: number, name: string, beginTimestamp: number) => {
        const activity = { activityId: 501, name, beginTimestamp }
        return JSON.stringify([{ summarizedActivitiesExport: Array.from({ length: count }, () => activity) }])
      }
      const recorded = gpx(45).replace("creator=\"x\"", "creator=\"Garmin\"")
        .replaceAll("/>", "><time>2025-06-01T08:00:00Z</time></trkpt>")
      const bytes = yield* zipped([
        ["1_summarizedActivities.json", list(MAX_ARCHIVE_FILES, "x", 0)],
        ["2_summarizedActivities.json", list(1, "Not read", Date.UTC(2025, 5, 1, 8))],
        ["UploadedFiles_0/a_7000000001.gpx", recorded]
      ])
      const rider = yield* signedIn
      assert.deepInclude(linesOf((yield* sent(rider, bytes)).text).at(-1), { outcome: "ended", imported: 1 })
      assert.include((yield* rider.get("/routes?geometry=none")).text, "upload/7000000001")
    }))

  it.effect("is for tokens that may write, which confirm public routes, and an account's archive is for sessions", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [reader, writer] = [yield* scriptOf(rider, "read"), yield* scriptOf(rider, "write")]
      const bytes = yield* zipped([["a.gpx", gpx(31)]])
      assert.strictEqual((yield* sent(reader, bytes)).status, 403)
      assert.strictEqual((yield* sent(writer, bytes, "?visibility=public")).status, 428)
      const confirmed = yield* sent(writer, bytes, "?visibility=public", { "x-service-confirm": "true" })
      assert.deepStrictEqual(outcomesOf(confirmed.text), [["a.gpx", "imported"]])
      const { body, status } = yield* sent(writer, yield* archiveOf(rider))
      assert.strictEqual(status, 403)
      assert.nestedInclude(body, { "details.reason": "session_required" })
      assert.match(String(Object(body).message), /upload it on the page "Export and import"/)
      assert.strictEqual((yield* imported(rider, yield* archiveOf(rider))).status, 201)
    }))

  it.effect("refuses wrong parameters before it reads, and a body that is no ZIP", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const query of ["?duplicates=maybe", "?visibility=x", "?tags=%20", "?collection=", "?other=1"]) {
        assert.strictEqual((yield* sent(rider, Buffer.from("x"), query)).status, 400, query)
      }
      assert.strictEqual((yield* sent(rider, Buffer.from("no archive"))).status, 400)
    }))

  it.effect("stops with a reason where the session ends or the account is to be deleted meanwhile", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bytes = yield* zipped([["a.gpx", gpx(41)], ["b.gpx", gpx(42)]])
      const out = yield* importedAfter(rider, bytes, rider.post("/auth/logout"))
      assert.deepInclude(linesOf(out.text).at(-1), { outcome: "stopped", statusCode: 401 })
      const leaver = yield* signedIn
      const gone = yield* importedAfter(leaver, bytes, leaver.delete("/users/me"))
      assert.deepInclude(linesOf(gone.text).at(-1), { outcome: "stopped", statusCode: 401 })
    }))

  it.effect("goes on after the token that it came with has expired, as long as the session lives", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bytes = yield* zipped([["a.gpx", gpx(43)], ["b.gpx", gpx(44)]])
      yield* TestClock.adjust("14 minutes")
      yield* TestClock.adjust("58 seconds")
      const { text } = yield* importedAfter(rider, bytes, TestClock.adjust("3 seconds"))
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.deepInclude(linesOf(text).at(-1), { outcome: "ended", imported: 2 })
    }))

  it.effect("by the page lists each file with its routes, and escapes their names", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bytes = yield* zipped([
        ["<b>.gpx", gpx(51).replace("</gpx>", "<foreign/></gpx>")],
        ["<i>.txt", "x"],
        ["cut.fit", readFileSync(join(import.meta.dirname, "../support/cases/d2-cut-off.fit"))]
      ])
      const fields = { visibility: "unlisted", tags: "moved, alps", collection: "From elsewhere" }
      const page = yield* importedByPage(rider, bytes, fields)
      assert.strictEqual(page.status, 200)
      assert.match(page.text, /&lt;b&gt;\.gpx.*\s.*Imported: <a href="\.\.\/me\/routes\/\d+">/)
      assert.include(page.text, "Skipped: its name is not that of a route file")
      assert.include(page.text, "<br>Left out: FIT file (1): it ends early or is damaged, what could be read is kept.")
      assert.notInclude(page.text, "foreign")
      assert.notMatch(page.text, /<li[^>]* role=/, "a role in place of that of the item")
      assert.include(page.text, "Done: 2 files imported, 0 here already, 1 skipped.")
      assert.isTrue(page.text.trimEnd().endsWith("</html>"))
      const { text } = yield* rider.get("/routes?geometry=none")
      assert.include(text, "\"visibility\":\"unlisted\",\"tags\":[\"moved\",\"alps\"]")
      assert.include((yield* rider.get("/collections")).text, "From elsewhere")
    }))
})
