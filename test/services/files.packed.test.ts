import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { deflateRawSync, gzipSync } from "node:zlib"
import { publicErrorOf } from "../../src/http/response/PublicErrors.ts"
import { draftsOf, type TrackChoice } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { isPacked, partsOfForm } from "../../src/services/files/PackedFile.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { zipped } from "../support/Archives.ts"
import { archiveOfPacked } from "../support/Bombs.ts"

const MIB = 1024 * 1024

interface Sent {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly name?: string
}

const draftOf = (bytes: Uint8Array, { contentEncoding, contentType, name }: Sent = {}) =>
  readPacked({ name, contentType, bytes }, contentEncoding)

/** Returns the routes of a file, one for each track. */
const routesOf = Effect.fnUntraced(function*(bytes: Uint8Array, sent: Sent = {}) {
  const { draft } = yield* draftOf(bytes, sent)
  const drafts = yield* draftsOf(draft, { split: true, join: false, track: undefined })
  return yield* Effect.forEach(drafts, finish)
})

const namesOf = (bytes: Uint8Array, sent: Sent = {}) =>
  Effect.map(routesOf(bytes, sent), (routes) => routes.map(({ document }) => document.name))

const refusalOf = (bytes: Uint8Array, sent: Sent = {}) =>
  Effect.map(Effect.flip(routesOf(bytes, sent)), (error) => {
    const { message, statusCode } = publicErrorOf(error)
    return `${statusCode} ${message}`
  })

const gpx = (name: string, declaration = "") =>
  `${declaration}<gpx version="1.1" creator="x"><trk><name>${name}</name><trkseg><trkpt lat="1" lon="2"/></trkseg></trk></gpx>`

const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>`

const bytesOf = (text: string, encoding: BufferEncoding = "utf8") => Buffer.from(text, encoding)

const form = (files: ReadonlyArray<readonly [name: string, bytes: Uint8Array]>) =>
  Buffer.concat([
    bytesOf("--frontier\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nno file\r\n"),
    ...files.flatMap(([name, bytes]) => [
      bytesOf(
        `--frontier\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: image/x\r\n\r\n`
      ),
      bytes,
      bytesOf("\r\n")
    ]),
    bytesOf("--frontier--\r\n")
  ])

/** Returns what each route of an archive says that it lost. */
const droppedOf = Effect.fnUntraced(function*(archive: Uint8Array, choice: Partial<TrackChoice>) {
  const { draft } = yield* draftOf(archive)
  const drafts = yield* draftsOf(draft, { split: false, join: false, track: undefined, ...choice })
  return drafts.map(({ dropped }) => dropped.map(({ what }) => what))
})

const FORM = { contentType: "multipart/form-data; boundary=frontier" }

describe("a file", () => {
  it.effect("is read in the encoding that it declares, or that its bytes show", () =>
    Effect.gen(function*() {
      const wide = bytesOf(`\ufeff${gpx("Zürich €", declared("UTF-16"))}`, "utf16le")
      const encodings: ReadonlyArray<readonly [Uint8Array, Sent]> = [
        [bytesOf(gpx("Zürich €", declared("UTF-8"))), {}],
        [bytesOf(`\ufeff${gpx("Zürich €", declared("ISO-8859-1"))}`), {}],
        [bytesOf(gpx("Zürich \u0080", declared("windows-1252")), "latin1"), {}],
        [bytesOf(gpx("Zürich \u0080"), "latin1"), { contentType: "application/gpx+xml; charset=windows-1252" }],
        [wide, {}],
        [wide.subarray(2), {}],
        [Buffer.from(wide).swap16(), {}],
        [bytesOf(gpx("Zürich €", declared("UTF-16"))), {}]
      ]
      for (const [bytes, sent] of encodings) assert.deepStrictEqual(yield* namesOf(bytes, sent), ["Zürich €"])
      const latin = bytesOf(gpx("Zürich", declared("ISO-8859-1")), "latin1")
      assert.deepStrictEqual(yield* namesOf(latin), ["Zürich"])
      assert.match(yield* refusalOf(bytesOf(gpx("ü", declared("EBCDIC-X")), "latin1")), /^415 The encoding EBCDIC-X/)
      assert.match(yield* refusalOf(bytesOf(gpx("ü"), "latin1")), /^400 body: Expected valid UTF-8/)
    }))

  it.effect("is read whatever encoding it declares if its bytes are UTF-8, and in other spellings of those that are known", () =>
    Effect.gen(function*() {
      const labelled = (label: string, encoding: BufferEncoding) => bytesOf(gpx("Käse", declared(label)), encoding)
      for (const label of ["cp437", "ibm850", "none", "x-user"]) {
        assert.deepStrictEqual(yield* namesOf(labelled(label, "utf8")), ["Käse"], label)
        const error = yield* Effect.flip(routesOf(labelled(label, "latin1")))
        assert.deepInclude(error, { _tag: "UnknownEncoding", encoding: label })
      }
      for (const label of ["Windows1252", "cp-1252", "win-1252", "8859-1", "ISO8859_1", "latin-1"]) {
        assert.deepStrictEqual(yield* namesOf(labelled(label, "latin1")), ["Käse"], label)
      }
    }))

  it.effect("of several that are split has the warnings of its own, and the first those of what is not read", () =>
    Effect.gen(function*() {
      const timed = gpx("Timed").replace("lon=\"2\"/>", "lon=\"2\"><time>2026-01-01T08:00:00Z</time><hr>1</hr></trkpt>")
      const archive = yield* zipped([["a.gpx", gpx("Plain")], ["b.gpx", timed], ["c.txt", "none"]])
      const own = ["time of trkpt", "hr of trkpt"]
      assert.deepStrictEqual(yield* droppedOf(archive, { split: true }), [["file c.txt"], own])
      assert.deepStrictEqual(yield* droppedOf(archive, { join: true }), [["file c.txt", ...own]])
      assert.deepStrictEqual(yield* droppedOf(archive, { track: 1 }), [["file c.txt", ...own, "tracks"]])
    }))

  it.effect("of several that has too many tracks says that its waypoints are in none of them", () =>
    Effect.gen(function*() {
      const track = "<trk><trkseg><trkpt lat=\"1\" lon=\"2\"/></trkseg></trk>"
      const many = `<gpx version="1.1" creator="x"><wpt lat="1" lon="2"/>${track.repeat(101)}</gpx>`
      const archive = yield* zipped([["a.gpx", gpx("Plain")], ["b.gpx", many]])
      assert.deepStrictEqual(yield* droppedOf(archive, { track: 0 }), [["tracks"]])
      assert.deepStrictEqual(yield* droppedOf(archive, { track: 1 }), [["waypoints", "tracks"]])
    }))

  it.effect("may be compressed, in an archive, or in a form, alone or with others", () =>
    Effect.gen(function*() {
      const [a, b] = [bytesOf(gpx("A")), bytesOf(gpx("B"))]
      const zip = yield* zipped(
        new Map([["docs/a.gpx", a], ["b.gpx.gz", gzipSync(b)], ["__MACOSX/._a.gpx", a], [
          "c.png",
          bytesOf("\u0089PNG")
        ]])
      )
      assert.deepStrictEqual(yield* namesOf(gzipSync(a)), ["A"])
      assert.deepStrictEqual(yield* namesOf(gzipSync(a), { contentEncoding: "gzip" }), ["A"])
      assert.deepStrictEqual(yield* namesOf(gzipSync(gzipSync(a)), { contentEncoding: "gzip" }), ["A"])
      const latin = gzipSync(bytesOf(gpx("Zürich"), "latin1"))
      const typed = { contentType: "application/gpx+xml; charset=iso-8859-1", contentEncoding: "gzip" }
      assert.deepStrictEqual(yield* namesOf(latin, typed), ["Zürich"])
      assert.deepStrictEqual(yield* namesOf(zip), ["A", "B"])
      const sent = form([["a.gpx", a], ["b.gpx", gzipSync(b)]])
      assert.deepStrictEqual(yield* namesOf(sent, FORM), ["A", "B"])
      assert.deepStrictEqual(yield* namesOf(gzipSync(sent), { ...FORM, contentEncoding: "gzip" }), ["A", "B"])
      const { draft } = yield* draftOf(zip)
      assert.deepStrictEqual(draft.tracks.map(({ file }) => file), ["docs/a.gpx", "b.gpx.gz"])
      assert.deepStrictEqual(draft.dropped, [{ what: "file c.png", why: "its format is not read", count: 1 }])
    }))

  it.effect("has the name of its file where it has none of its own", () =>
    Effect.gen(function*() {
      const file = bytesOf(gpx(""))
      assert.deepStrictEqual(yield* namesOf(file, { name: "C:\\rides\\Monday.gpx.gz" }), ["Monday"])
      assert.deepStrictEqual(yield* namesOf(form([["Tuesday.gpx", file]]), FORM), ["Tuesday"])
      assert.deepStrictEqual(yield* namesOf(form([["a.gpx", file], ["b.gpx", file]]), FORM), ["a", "b"])
      assert.deepStrictEqual(yield* namesOf(bytesOf(gpx("Own")), { name: "Monday.gpx" }), ["Own"])
      const tcx = (id: string) =>
        bytesOf(
          `<TrainingCenterDatabase><Activities><Activity><Id>${id}</Id><Lap><Track><Trackpoint><Position><LatitudeDegrees>1`
            + "</LatitudeDegrees><LongitudeDegrees>2</LongitudeDegrees></Position></Trackpoint></Track></Lap></Activity>"
            + "</Activities></TrainingCenterDatabase>"
        )
      assert.deepStrictEqual(yield* namesOf(tcx("2024-05-01T06:00:00Z"), { name: "Morning_Ride.tcx" }), [
        "Morning_Ride"
      ])
      assert.deepStrictEqual(yield* namesOf(tcx("Ride 1"), { name: "Morning_Ride.tcx" }), ["Ride 1"])
    }))

  it.effect("of a ZIP is read whatever bytes its name has, and is left out where that leads out of the archive", () =>
    Effect.gen(function*() {
      const archiveOf = (name: Buffer) => {
        const placeholder = "_".repeat(name.length)
        const packed = deflateRawSync(gpx(""))
        const files = [placeholder, "b.gpx"].map((name) => ({ name, packed, size: gpx("").length }))
        return Buffer.from(
          Buffer.from(archiveOfPacked(files)).toString("latin1").replaceAll(placeholder, name.toString("latin1")),
          "latin1"
        )
      }
      const names: ReadonlyArray<readonly [Buffer, string]> = [
        [bytesOf("Höhe.gpx"), "Höhe"],
        [Buffer.from([0x48, 0x94, ...bytesOf("he.gpx")]), "Höhe"],
        // A character of Shift JIS ends with the byte of a backslash.
        [Buffer.from([0x83, 0x5c, ...bytesOf(".gpx")]), "Imported route"],
        [bytesOf("./a.gpx"), "a"],
        [bytesOf("rides\\a.gpx"), "a"]
      ]
      for (const [name, expected] of names) assert.deepStrictEqual(yield* namesOf(archiveOf(name)), [expected, "b"])
      for (const name of ["../a.gpx", "/a.gpx", "C:\\a.gpx"]) {
        assert.deepStrictEqual(yield* namesOf(archiveOf(bytesOf(name))), ["b"])
      }
    }))

  it.effect("that is not read is 415, and the response names what is", () =>
    Effect.gen(function*() {
      for (const bytes of [bytesOf("hello"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]), gzipSync("hello")]) {
        assert.match(yield* refusalOf(bytes), /^415 .*GPX, GeoJSON, TCX.*KML.*gzip.*ZIP.*multipart/)
      }
      assert.match(yield* refusalOf(form([]), FORM), /^415/)
      assert.match(yield* refusalOf(bytesOf("--frontier\r\n"), FORM), /^400 body: Malformed multipart/)
      assert.match(yield* refusalOf(bytesOf("hello"), { contentEncoding: "gzip" }), /^400 body: Malformed gzip/)
      assert.match(yield* refusalOf(form([["a.gpx", bytesOf("<gpx>")]]), FORM), /^400 body.a.gpx: Malformed XML/)
      const secret = Buffer.from(yield* zipped(new Map([["a.gpx", bytesOf(gpx("A"))]])))
      for (const flags of [6, secret.indexOf("PK\u0001\u0002") + 8]) secret.writeUInt16LE(1, flags)
      assert.strictEqual(yield* refusalOf(secret), "400 body.a.gpx: The archive cannot be read: a.gpx is encrypted")
    }))

  it.effect("that is the archive of an account is refused, with the way to import it", () =>
    Effect.gen(function*() {
      const expected = "400 body: The archive cannot be read: it is an archive of an account: "
        + "import it with POST /users/me/import, on the page \"Export and import\""
      const archives = [
        ["manifest.json", "routes.json", "gpx/a.gpx"],
        ["export/manifest.json", "export/routes.json", "export/gpx/a.gpx"],
        ["activities.csv", "activities/1.gpx"],
        ["export_1/activities.csv", "export_1/activities/1.gpx"]
      ]
      for (const names of archives) {
        const archive = yield* zipped(names.map((name) => [name, gpx("A")]))
        assert.strictEqual(yield* refusalOf(archive), expected)
        assert.strictEqual(yield* refusalOf(form([["a.zip", archive]]), FORM), expected)
      }
      for (const names of [["a/manifest.json", "routes.json", "b.gpx"], ["activities.csv", "activity_1.gpx"]]) {
        const others = yield* zipped(names.map((name) => [name, gpx(name)]))
        assert.deepStrictEqual(yield* namesOf(others), names)
      }
    }))

  it.effect("is not unpacked beyond 32 MiB, nor several together", () =>
    Effect.gen(function*() {
      const bomb = Buffer.alloc(64 * MIB)
      assert.match(yield* refusalOf(gzipSync(bomb)), /^413/)
      assert.match(yield* refusalOf(yield* zipped(new Map([["a.gpx", bomb]]))), /^413/)
      const half = gzipSync(Buffer.alloc(12 * MIB, " "))
      assert.match(yield* refusalOf(form([["a", half], ["b", half], ["c", half]]), FORM), /^413/)
      const many = new Map(Array.from({ length: 101 }, (_, at) => [`${at}.gpx`, bytesOf("<gpx/>")]))
      assert.match(
        yield* refusalOf(yield* zipped(many)),
        /^400 .*more than 100 files: import it with POST .users.me.import/
      )
      const some = yield* zipped(new Map([...many].slice(0, 60)))
      assert.match(yield* refusalOf(form([["a.zip", some], ["b.zip", some]]), FORM), /^400 .*more than 100 files/)
      assert.match(yield* refusalOf(gzipSync(gzipSync(gzipSync(gpx("A"))))), /^415/)
    }))
})

describe("the bytes of an upload", () => {
  it("are packed by their signature or their type", () => {
    const fit = (at: number) => Buffer.concat([Buffer.alloc(at), bytesOf(".FIT")])
    const packed: ReadonlyArray<readonly [bytes: Uint8Array, contentType: string | undefined, isPacked: boolean]> = [
      [Buffer.from([0x1f, 0x8b, 8]), undefined, true],
      [bytesOf("PK\u0003\u0004"), undefined, true],
      [bytesOf("PK\u0005\u0006"), undefined, true],
      [fit(8), undefined, true],
      [bytesOf("--frontier"), FORM.contentType, true],
      [bytesOf("--frontier"), "application/gpx+xml", false],
      [fit(9), undefined, false],
      [bytesOf("PK\u0003"), undefined, false],
      [bytesOf("<gpx/>"), undefined, false]
    ]
    for (const [bytes, contentType, expected] of packed) {
      assert.strictEqual(isPacked(bytes, contentType), expected, bytes.toString())
    }
  })

  it.effect("may be a form with fields of at most 64 KiB each", () =>
    Effect.gen(function*() {
      const formWith = (length: number) =>
        bytesOf(
          `--frontier\r\nContent-Disposition: form-data; name="a"\r\n\r\n${"x".repeat(length)}\r\n--frontier--\r\n`
        )
      const { fields, files } = yield* partsOfForm(formWith(65_536), FORM.contentType)
      assert.deepStrictEqual([fields["a"]?.length, files.length], [65_536, 0])
      assert.include(
        (yield* Effect.flip(partsOfForm(formWith(65_537), FORM.contentType))).message,
        "it has more than 100 parts, or a field of more than 65536 bytes"
      )
    }))
})
