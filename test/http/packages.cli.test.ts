import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { copyFile, mkdir, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { zipped } from "../support/Archives.ts"
import {
  elsewhere,
  hasTerminal,
  inFront,
  linesOf,
  person,
  rps,
  rpsInShell,
  rpsOnTerminal,
  running
} from "../support/CommandLine.ts"
import { listening } from "../support/Listening.ts"
import { idsIn } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

const gpxOf = (...tracks: ReadonlyArray<readonly [name: string, latitude: number]>) =>
  `<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">${
    tracks.map(([name, latitude]) =>
      `<trk><name>${name}</name><trkseg><trkpt lat="${latitude}" lon="9.5"/>`
      + `<trkpt lat="${latitude + 0.01}" lon="9.52"/></trkseg></trk>`
    ).join("")
  }</gpx>`

const gpx = (name: string, latitude: number) => gpxOf([name, latitude])

layer(TestServer.layer())("the command line", (it) => {
  it.effect("imports a directory once, tags, publishes, shares, and brings a backup back into another account", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      const copy = join(yield* temporaryDirectory, "copy")
      yield* Effect.promise(async () => {
        await mkdir(join(files, "below"))
        await writeFile(join(files, "one.gpx"), gpx("One", 47.1))
        await writeFile(join(files, "below/two.gpx"), gpx("Two", 47.3))
        await writeFile(join(files, "broken.gpx"), "<html>")
      })
      const first = yield* ada("import", files, "--tag", "ride")
      assert.deepStrictEqual([first.code, linesOf(first).at(-1)], [4, "2 imported, 0 already there, 1 failed"])
      const second = yield* ada("import", files)
      assert.strictEqual(linesOf(second).at(-1), "0 imported, 2 already there, 1 failed")

      assert.strictEqual((yield* ada("tag", "--tag", "ride", "--add", "alps", "--remove", "ride")).code, 0)
      const listed = linesOf(yield* ada("ls", "--tag", "alps", "--json"))
      const routes = listed.map((line) => JSON.parse(line))
      assert.deepStrictEqual(routes.map(({ name, tags }) => [name, tags]), [["One", ["alps"]], ["Two", ["alps"]]])
      const later = yield* ada("ls", "--recorded-after", "2100-01-01T00:00:00Z")
      assert.deepStrictEqual([later.code, later.stdout], [0, ""])
      const [id] = routes.map((route) => String(route.id))
      assert(id !== undefined)

      assert.strictEqual((yield* ada("share", id)).code, 1)
      assert.strictEqual((yield* ada("publish", id, "--as", "unlisted")).code, 2)
      assert.strictEqual((yield* ada("publish", id, "--as", "unlisted", "--yes")).code, 0)
      const link = yield* ada("share", id, "--expires", "7d")
      assert.match(link.stdout, /\/r\/[0-9a-f]{32}\n$/)

      assert.strictEqual((yield* ada("backup", copy)).stdout, "4 saved, 0 deleted since the last time\n")
      assert.strictEqual((yield* ada("backup", copy)).stdout, "0 saved, 0 deleted since the last time\n")
      assert.isTrue(existsSync(join(copy, "routes", `${id}.gpx`)))
      assert.strictEqual(readdirSync(join(copy, "routes")).length, 4)

      const { run: bob } = yield* person
      const restored = yield* bob("restore", copy)
      assert.strictEqual(restored.stdout, "2 routes restored, 0 already there, 0 refused\n", restored.stderr)
      assert.strictEqual((yield* bob("restore", copy)).stdout, "0 routes restored, 2 already there, 0 refused\n")
      assert.strictEqual(linesOf(yield* bob("ls", "--tag", "alps")).length, 2)
    }))

  it.effect("tags what an earlier run has imported and not tagged, and says that nothing was done", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
      const first = yield* ada("import", files, "--tag", "Schöne Tour")
      assert.deepStrictEqual([first.code, linesOf(first).at(-1)], [1, "0 imported, 0 already there, 1 failed"])
      assert.include(first.stdout, "\"schoene-tour\"")
      const second = yield* ada("import", files, "--tag", "schoene-tour")
      assert.deepStrictEqual([second.code, linesOf(second).at(-1)], [0, "0 imported, 1 already there, 0 failed"])
      const tagged = linesOf(yield* ada("ls", "--tag", "schoene-tour"))
      assert.strictEqual(tagged.length, 1)
      assert.strictEqual((yield* ada("tag", "--all", "--add", "Schöne Tour")).code, 1)
      assert.strictEqual((yield* ada("tag", "--all", "--remove", "Schoene Tour")).code, 0)
      assert.strictEqual((yield* ada("ls", "--tag", "schoene-tour")).stdout, "")
      const none = yield* ada("import", yield* temporaryDirectory)
      assert.deepStrictEqual([none.code, none.stderr.includes("no file of a route")], [1, true])
    }))

  it.effect("keeps the tags that another client sets while it adds its own", () =>
    Effect.gen(function*() {
      const { env, rider } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
      const edits = [["mine"]]
      let route = ""
      const RPS_URL = yield* inFront(({ method, url = "" }) => {
        if (method === "PATCH") route = url.replace("/api/v1", "")
        const isWrite = method === "PATCH" || url.endsWith("/batch")
        const tags = isWrite ? edits.pop() : undefined
        return tags === undefined ? Effect.void : rider.patch(route, { tags })
      })
      const imported = yield* rps({ ...env, RPS_URL }, ["import", files, "--tag", "ride"])
      assert.strictEqual(imported.code, 0, imported.stderr)
      assert.deepInclude((yield* rider.get(route)).body, { tags: ["mine", "ride"] })
      edits.push(["mine", "ours"], ["ours"])
      const tagged = yield* rps({ ...env, RPS_URL }, ["tag", "--all", "--add", "alps"])
      assert.deepStrictEqual([tagged.code, tagged.stdout.match(/done/g)?.length], [0, 1], tagged.stderr)
      assert.deepInclude((yield* rider.get(route)).body, { tags: ["mine", "ours", "alps"] })
    }).pipe(Effect.scoped))

  it.effect("imports all tracks of a file, also where the service names no more than the first 100", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      const tracks = Array.from({ length: 101 }, (_, index) => [`Track ${index}`, 40 + index / 10] as const)
      yield* Effect.promise(() => writeFile(join(files, "all.gpx"), gpxOf(...tracks)))
      const { code, stderr, stdout } = yield* ada("import", files, "--json")
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.strictEqual(new Set(JSON.parse(stdout.split("\n")[0] ?? "").ids).size, 101)
    }))

  it.effect("imports files that are compressed one by one, and leaves out hidden ones and what macOS adds", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(async () => {
        for (const hidden of [".trash", "__MACOSX"]) {
          await mkdir(join(files, hidden))
          await writeFile(join(files, hidden, "two.gpx"), "x")
        }
        await writeFile(join(files, "._one.GPX.gz"), "x")
        await writeFile(join(files, "one.GPX.gz"), gzipSync(gpx("One", 47.1)))
      })
      const imported = yield* ada("import", files)
      assert.strictEqual(imported.stdout, "one.GPX.gz: imported\n1 imported, 0 already there, 0 failed\n")
    }))

  it.effect("imports one file of a route by its path, and leaves its directory as it is", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
      for (const said of ["imported\n1 imported, 0", "already there\n0 imported, 1"]) {
        const imported = yield* ada("import", join(files, "one.gpx"), "--tag", "ride")
        assert.strictEqual(imported.stdout, `one.gpx: ${said} already there, 0 failed\n`, imported.stderr)
      }
      assert.strictEqual(linesOf(yield* ada("ls", "--tag", "ride")).length, 1)
      assert.deepStrictEqual(readdirSync(files), ["one.gpx"])
    }))

  it.effect("imports JSON and XML by their paths, and passes over them in a directory, where they are seldom routes", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      const line = JSON.stringify({ type: "LineString", coordinates: [[9, 47], [9.1, 47.1]] })
      yield* Effect.promise(async () => {
        await writeFile(join(files, "map.json"), line)
        await writeFile(join(files, "tour.XML.gz"), gzipSync(gpx("One", 47.1)))
      })
      for (const file of ["map.json", "tour.XML.gz"]) {
        const { stderr, stdout } = yield* ada("import", join(files, file))
        assert.strictEqual(stdout, `${file}: imported\n1 imported, 0 already there, 0 failed\n`, stderr)
      }
      assert.include((yield* ada("import", files)).stderr, "no file of a route")
    }))

  it.effect("prints below a file and a file of a ZIP what the service has left out of it", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      const cut = join(import.meta.dirname, "../support/cases/d2-cut-off.fit")
      const lost = "FIT file: it ends early or is damaged, what could be read is kept"
      const skied = (text: string) => text.replaceAll("<trkseg>", "<type>skiing</type><foreign/><trkseg>")
      const other = "activity: it is none of run, cycle and walk"
      const archive = join(yield* temporaryDirectory, "rides.zip")
      const bytes = yield* zipped([["cut.fit", readFileSync(cut)], ["one.gpx", skied(gpx("One", 47.1))]])
      yield* Effect.promise(async () => {
        await copyFile(cut, join(files, "cut.fit"))
        await writeFile(join(files, "two.gpx"), skied(gpxOf(["Two", 47.3], ["Three", 47.5])))
        await writeFile(archive, bytes)
      })
      const [zip, folder] = [yield* ada("import", archive), yield* ada("import", files)]
      assert.deepStrictEqual([zip.stdout, folder.stdout], [
        `cut.fit: imported\n  ${lost}\none.gpx: imported\n  ${other}\n2 imported, 0 already there, 0 skipped\n`,
        `cut.fit: already there\ntwo.gpx: imported\n  ${other}\n1 imported, 1 already there, 0 failed\n`
      ])
      for (const path of [archive, files]) {
        const [first = ""] = linesOf(yield* (yield* person).run("import", path, "--json"))
        assert.deepInclude(JSON.parse(first), {
          file: "cut.fit",
          warnings: [{ code: "dropped", message: lost, count: 1 }]
        })
      }
    }))

  it.effect("imports what is in folders that have names of files, and goes on where it cannot keep what it did", () =>
    Effect.gen(function*() {
      const { env } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(async () => {
        await mkdir(join(files, "tour.gpx"))
        await writeFile(join(files, "tour.gpx/one.gpx"), gpx("One", 47.1))
        await writeFile(join(files, "two.gpx"), gpx("Two", 47.3))
      })
      const unkept = rpsInShell(env, `ulimit -f 0; rps import '${files}'`)
      const [first, second] = [yield* unkept, yield* unkept]
      assert.deepStrictEqual([first.code, linesOf(first).at(-1)], [0, "2 imported, 0 already there, 0 failed"])
      assert.match(first.stderr, /^EFBIG: .*: the next run sends all files again\n$/)
      assert.deepStrictEqual([second.code, linesOf(second).at(-1)], [0, "0 imported, 2 already there, 0 failed"])
    }))

  it.effect("prints nothing but JSON with --json, one value a line", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const { env, rider } = yield* person
      const target = yield* person
      const files = yield* temporaryDirectory
      const copy = join(yield* temporaryDirectory, "copy")
      yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
      const json = (...words: ReadonlyArray<string>) =>
        Effect.map(rps({ ...env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, [...words, "--json"]), (ended) => {
          const lines = `${ended.stdout}${ended.stderr}`.trimEnd().split("\n")
          return [ended.code, lines.map((line) => Object.keys(JSON.parse(line)))]
        })
      assert.deepStrictEqual(yield* json("import", files), [
        0,
        [["file", "ids", "isNew"], ["imported", "present", "failed"]]
      ])
      const [id] = idsIn((yield* rider.get("/routes")).body)
      assert.strictEqual((yield* json("ls"))[0], 0)
      assert.deepStrictEqual(yield* json("tag", "--all", "--add", "alps"), [0, [["id", "status"]]])
      assert.deepStrictEqual(yield* json("publish", String(id), "--as", "unlisted", "--yes"), [0, [["id", "status"]]])
      assert.strictEqual((yield* json("share", String(id)))[0], 0)
      assert.deepStrictEqual(yield* json("share", "999999999"), [1, [["error"]]])
      assert.deepStrictEqual(yield* json("backup", copy), [0, [["saved", "deleted"]]])
      assert.deepStrictEqual(yield* json("restore", copy), [0, [["restored", "present", "failed"]]])
      assert.deepStrictEqual(yield* json("mirror", "--to", origin), [0, [["copied", "deleted", "refused"]]])
      const watch = yield* running(env, ["watch", "--once", "--json"], "{\"note\":\"Watching for changes\"}\n")
      yield* rider.patch(`/routes/${id}`, { name: "Changed" })
      assert.deepInclude(JSON.parse((yield* watch.ended).stdout), { type: "route", id, change: "upserted" })
    }).pipe(Effect.scoped))

  it.effect.skipIf(!hasTerminal)(
    "draws its progress on a terminal, within its width, and nowhere else",
    () =>
      Effect.gen(function*() {
        const { env, run } = yield* person
        const files = yield* temporaryDirectory
        const copy = join(yield* temporaryDirectory, "copy")
        const long = `${"a long name ".repeat(8)}.gpx`
        yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
        yield* Effect.promise(() => writeFile(join(files, long), gpx("Two", 47.3)))
        const shown = yield* rpsOnTerminal(env, ["import", files])
        const drawn = shown.stdout.split(/[\r\n]+/).map((text) => text.replace("\u001b[K", ""))
        const name = long.slice(0, 79 - "[------------------------] 0 of 2 ".length)
        assert.deepStrictEqual(drawn.filter((text) => text !== ""), [
          `[------------------------] 0 of 2 ${name}`,
          `${long}: imported`,
          "[############------------] 1 of 2 one.gpx",
          "one.gpx: imported",
          "[########################] 2 of 2 files",
          "2 imported, 0 already there, 0 failed"
        ])
        assert.include((yield* rpsOnTerminal(env, ["backup", copy])).stdout, "[########################] 3 of 3 ")
        const piped = yield* run("backup", `${copy}2`)
        assert.deepStrictEqual([piped.code, piped.stderr], [0, ""])
      })
  )

  it.effect("writes no control characters of names to the terminal", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const archive = join(yield* temporaryDirectory, "rides.zip")
      const bytes = yield* zipped([["a\u001b]0;title\u0007\u009b2J\n.txt", "x"]])
      yield* Effect.promise(() => writeFile(archive, bytes))
      const { stdout } = yield* ada("import", archive)
      assert.deepStrictEqual(stdout.split("\n"), [
        "a?]0;title??2J?.txt: skipped, its name is not that of a route file",
        "0 imported, 0 already there, 1 skipped",
        ""
      ])
    }))

  it.effect("ends an import of a ZIP with a code of its own where a file of a route was skipped", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const archive = join(yield* temporaryDirectory, "rides.zip")
      const codes: Array<number> = []
      for (const broken of ["photo.jpg", "two.GPX.gz", "three.fit"]) {
        const bytes = yield* zipped([["one.gpx", gpx("One", 47.1)], [broken, "x"]])
        yield* Effect.promise(() => writeFile(archive, bytes))
        codes.push((yield* ada("import", archive)).code)
      }
      assert.deepStrictEqual(codes, [0, 4, 4])
    }))

  it.effect("ends with a code that says what went wrong", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
      const imported = yield* ada("import", files)
      assert.strictEqual(imported.code, 0, imported.stderr)
      assert.strictEqual((yield* ada("tag", "--add", "alps")).code, 2)
      assert.strictEqual((yield* ada("tag", "--all")).code, 2)
      assert.strictEqual((yield* ada("no-such-command")).code, 2)
      const refused = yield* ada("ls", "--bbox", "1", "--json")
      assert.strictEqual(refused.code, 1)
      assert.deepInclude(JSON.parse(refused.stderr).error, { statusCode: 400 })
      assert.include((yield* ada("--help")).stdout, "Exit codes: 0 done")
      for (const command of ["ls", "tag"]) assert.include((yield* ada(command, "--help")).stdout, "--bbox=")
    }))
})

describe("the command line without an account", () => {
  test.live("ends wrong usage with --json in one line of JSON, and asks nothing", () =>
    Effect.gen(function*() {
      const env = { RPS_CONFIG_DIR: yield* temporaryDirectory, RPS_PASSWORD: undefined }
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [[], "no command: rps --help lists them"],
        [["no-such-command"], "Unknown subcommand \"no-such-command\" for \"rps\""],
        [["ls", "--nope"], "Unrecognized flag: --nope in command rps ls"],
        ...["import", "backup", "restore"].map((command) =>
          [
            [command, ""],
            `Invalid value for argument <directory>: "${process.cwd()}". Expected a path, not an empty argument`
          ] as const
        ),
        [["share"], "Missing required argument: id"],
        [
          ["publish", "1", "--as", "secret"],
          "Invalid value for flag --as: \"secret\". Expected: \"public\" | \"unlisted\" | \"private\""
        ],
        [["login", "ftp://x"], "url: \"ftp://x\" is not accepted: expected such as https://routes.example.com"],
        [["login", "http://localhost"], "no account: add --email, or set RPS_TOKEN to a token"],
        [
          ["login", "http://localhost", "--email", "ada@example.com"],
          "no password: set RPS_PASSWORD, or RPS_TOKEN to a token"
        ]
      ]
      for (const [words, message] of cases) {
        for (const flag of ["--json", "--json=true"]) {
          const { code, stderr, stdout } = yield* rps(env, [...words, flag])
          assert.deepStrictEqual([code, stdout, stderr], [2, "", `${JSON.stringify({ error: { message } })}\n`])
        }
      }
      const inWords = yield* rps(env, ["ls", "--nope"])
      assert.deepStrictEqual([inWords.code, inWords.stdout.includes("USAGE")], [2, true])
      assert.include(inWords.stderr, "Unrecognized flag: --nope")
      assert.strictEqual((yield* rps(env, ["--version", "--json"])).stdout, "{\"version\":\"0.2.0\"}\n")
    }).pipe(Effect.scoped))
})

describe("the command line at a service that is slow or hostile", () => {
  test.live("says that it waits, and for how long", () =>
    Effect.gen(function*() {
      const statuses = [429, 503]
      const env = yield* elsewhere((_, response) => {
        const status = statuses.shift() ?? 200
        response.writeHead(status, { "content-type": "application/json", "retry-after": "0" })
        response.end("[]")
      })
      const { code, stderr } = yield* rps(env, ["ls", "--json"])
      assert.deepStrictEqual([code, stderr.trimEnd().split("\n").map((line) => JSON.parse(line).note)], [0, [
        `${env.RPS_URL} responded 429: trying again in 1 s`,
        `${env.RPS_URL} responded 503: trying again in 1 s`
      ]])
      const away = yield* Effect.scoped(listening(createServer()))
      const silent = yield* running({ ...env, RPS_URL: `http://127.0.0.1:${away}` }, ["ls"], "trying again in 1 s\n")
      yield* silent.interrupt
      assert.strictEqual((yield* silent.ended).code, 130)
    }).pipe(Effect.scoped))

  test.live.skipIf(!existsSync("/proc"))("says that a directory takes no backup", () =>
    Effect.gen(function*() {
      const env = yield* elsewhere((request, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify(
          request.url === "/api/v1/me/credential" ? { user: { id: 1 } } : { changes: [], cursor: "1", hasMore: false }
        ))
      })
      const { code, stderr } = yield* rps(env, ["backup", "/proc/none/below"])
      assert.deepStrictEqual([code, stderr], [1, "rps: ENOENT: no such file or directory, mkdir '/proc/none'\n"])
    }).pipe(Effect.scoped))

  test.live("prints each file of a ZIP while the service is still importing", () =>
    Effect.gen(function*() {
      let end = () => {}
      const env = yield* elsewhere((request, response) => {
        request.resume()
        response.writeHead(200, { "content-type": "application/x-ndjson" })
        response.write("{\"outcome\":\"imported\",\"file\":\"one.gpx\",\"routeIds\":[1]}\n{\"outcome\":")
        end = () => response.end("\"ended\",\"imported\":1,\"duplicates\":0,\"skipped\":0}\n")
      })
      const archive = join(env.RPS_CONFIG_DIR, "rides.zip")
      yield* Effect.promise(() => writeFile(archive, "any"))
      const { ended } = yield* running(env, ["import", archive], "one.gpx: imported\n")
      end()
      const { code, stdout } = yield* ended
      assert.deepStrictEqual([code, stdout], [
        0,
        "one.gpx: imported\n1 imported, 0 already there, 0 skipped\n"
      ])
    }).pipe(Effect.scoped))

  test.live("says what it has changed where the service is away then", () =>
    Effect.gen(function*() {
      const routes = Array.from({ length: 101 }, (_, id) => ({ id, name: "x", visibility: "private", tags: [] }))
      let batches = 0
      const env = yield* elsewhere((request, response) => {
        request.resume()
        if (request.method === "POST" && batches++ > 0) return response.writeHead(401).end("{}")
        response.writeHead(200, { "content-type": "application/json" })
        return response.end(
          JSON.stringify(request.method === "POST" ? { results: routes.slice(1).map(() => ({ status: 200 })) } : routes)
        )
      })
      const { code, stdout } = yield* rps(env, ["publish", "--all", "--yes"])
      assert.deepStrictEqual([code, stdout.match(/  done\n/g)?.length], [4, 100])
    }).pipe(Effect.scoped))

  test.live("writes nothing outside of the directory of a backup, whatever the ids are", () =>
    Effect.gen(function*() {
      for (const [type, id] of [["route", "../../escaped"], ["route", 1.5], ["constructor", 1]]) {
        const change = { type, id, change: "upserted", version: 1, collection: { name: "x" } }
        const env = yield* elsewhere((request, response) => {
          response.writeHead(200, { "content-type": "application/json" })
          response.end(JSON.stringify(
            request.url === "/api/v1/me/credential"
              ? { user: { id: 1 } }
              : { changes: [change], cursor: "1", hasMore: false }
          ))
        })
        const { code, stderr } = yield* rps(env, ["backup", join(env.RPS_CONFIG_DIR, "a/copy")])
        assert.deepStrictEqual([code, readdirSync(env.RPS_CONFIG_DIR)], [1, []], stderr)
      }
    }).pipe(Effect.scoped))
})
