import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { createServer, type RequestListener } from "node:http"
import { join } from "node:path"
import { zipped } from "../support/Archives.ts"
import { linesOf, person, rps, running } from "../support/CommandLine.ts"
import { listening } from "../support/Listening.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

const gpx = (name: string, latitude: number) =>
  `<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name><trkseg>`
  + `<trkpt lat="${latitude}" lon="9.5"/><trkpt lat="${latitude + 0.01}" lon="9.52"/></trkseg></trk></gpx>`

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
    }))

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

  it.effect("ends with a code that says what went wrong", () =>
    Effect.gen(function*() {
      const { run: ada } = yield* person
      const files = yield* temporaryDirectory
      yield* Effect.promise(() => writeFile(join(files, "one.gpx"), gpx("One", 47.1)))
      const imported = yield* ada("import", files)
      assert.strictEqual(imported.code, 0, imported.stderr)
      assert.strictEqual((yield* ada("tag", "--add", "alps")).code, 2)
      assert.strictEqual((yield* ada("no-such-command")).code, 2)
      const refused = yield* ada("ls", "--bbox", "1", "--json")
      assert.strictEqual(refused.code, 1)
      assert.deepInclude(JSON.parse(refused.stderr).error, { statusCode: 400 })
      assert.include((yield* ada("--help")).stdout, "Exit codes: 0 done")
    }))
})

/** A service of somebody else, and the settings of a command that trusts it. */
const elsewhere = Effect.fnUntraced(function*(listener: RequestListener) {
  const port = yield* listening(createServer(listener))
  return { RPS_URL: `http://127.0.0.1:${port}`, RPS_TOKEN: "x", RPS_CONFIG_DIR: yield* temporaryDirectory }
})

describe("the command line at a service that is slow or hostile", () => {
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
