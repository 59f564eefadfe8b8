import { assert, describe, it as test } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { replaceFile } from "../../packages/cli/src/Files.ts"
import { elsewhere, rps, rpsInShell } from "../support/CommandLine.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

describe("the command line at its limits", () => {
  test.live("restores a backup that has more routes than fit in memory", () =>
    Effect.gen(function*() {
      const copy = yield* temporaryDirectory
      const geometry = JSON.stringify(
        Array.from({ length: 100_000 }, (_, n) => [9.1 + n / 1e5, 47.1 + (n * 7 % 9999) / 1e5])
      )
      mkdirSync(join(copy, "routes"))
      writeFileSync(join(copy, "backup.json"), JSON.stringify({ origin: "https://other.example", userId: 1 }))
      for (let id = 1; id <= 28; id++) {
        const route = JSON.stringify({ id, name: "Long", waypoints: [], createdAt: new Date(id).toISOString() })
        writeFileSync(join(copy, "routes", `${id}.json`), `${route.slice(0, -1)},"geometry":${geometry}}`)
      }
      let made = 0
      const env = yield* elsewhere(async (request, response) => {
        let text = ""
        for await (const bytes of request) text += String(bytes)
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({
          user: { id: 1 },
          changes: [],
          cursor: "1",
          hasMore: false,
          results: (text.match(/"op":"create"/g) ?? []).map(() => ({
            op: "create",
            status: 201,
            route: { id: ++made }
          }))
        }))
      })
      const { stderr, stdout } = yield* rps({ ...env, NODE_OPTIONS: "--max-old-space-size=128" }, ["restore", copy])
      assert.strictEqual(stdout, "28 routes restored, 0 already there, 0 refused\n", stderr)
    }).pipe(Effect.scoped))

  test.live.skipIf(!existsSync("/dev/full"))(
    "fails where nobody reads its results, and where they do not fit",
    () =>
      Effect.gen(function*() {
        const routes = Array.from(
          { length: 5000 },
          (_, id) => ({ id, name: "x".repeat(50), visibility: "private", tags: [] })
        )
        const env = yield* elsewhere((_, response) =>
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(routes))
        )
        const full = yield* rpsInShell(env, "rps --help > /dev/full; echo $?; rps ls > /dev/full; echo $?")
        const message = "rps: ENOSPC: no space left on device, write\n"
        assert.deepStrictEqual([full.stdout, full.stderr], ["1\n1\n", message.repeat(2)])
        const ended = "echo ${PIPESTATUS[0]}"
        const closed = yield* rpsInShell(
          env,
          `rps ls | head -n 1; ${ended}; rps ls 2>&1 | true; ${ended}`
        )
        assert.deepStrictEqual([closed.stdout.split("\n").slice(1), closed.stderr], [["141", "141", ""], ""])
      }).pipe(Effect.scoped)
  )
})

describe("a directory of the command line", () => {
  const env = elsewhere((_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ user: { id: 1 } }))
  )

  test.live("that is an unpacked archive of an account is not imported without its names", () =>
    Effect.gen(function*() {
      const archives = [
        ["", "activities.csv"],
        ["/export_1", "export_1/activities.csv"],
        ["", "manifest.json", "routes.json"]
      ] as const
      for (const [folder, ...names] of archives) {
        const files = yield* temporaryDirectory
        for (const path of ["activities", "export_1/activities"]) mkdirSync(join(files, path), { recursive: true })
        for (const name of ["one.gpx", ...names]) writeFileSync(join(files, name), "")
        const { code, stderr, stdout } = yield* rps(yield* env, ["import", files])
        assert.deepStrictEqual([code, stdout], [2, ""])
        const message = "an archive of an account: import its ZIP, or a ZIP of this folder, which has the names"
        assert.include(stderr, `${files}${folder}: ${message}`)
      }
      const garmin = yield* temporaryDirectory
      mkdirSync(join(garmin, ".trash/activities"), { recursive: true })
      for (const name of ["one.gpx", "activities.csv", ".trash/activities.csv"]) writeFileSync(join(garmin, name), "")
      assert.notInclude((yield* rps(yield* env, ["import", garmin])).stderr, "archive")
    }).pipe(Effect.scoped))

  test.live("with many files has a note that a ZIP of them is imported at once", () =>
    Effect.gen(function*() {
      const files = yield* temporaryDirectory
      for (let n = 0; n < 100; n++) writeFileSync(join(files, `${n}.gpx`), "<gpx/>")
      const words = "its files are imported one by one: a ZIP of them is imported at once"
      assert.notInclude((yield* rps(yield* env, ["import", files])).stderr, words)
      writeFileSync(join(files, "100.gpx"), "<gpx/>")
      assert.include((yield* rps(yield* env, ["import", files])).stderr, words)
    }).pipe(Effect.scoped))
})

describe("a file of the command line", () => {
  test.live("is named where it is damaged", () =>
    Effect.gen(function*() {
      const files = yield* temporaryDirectory
      const journal = join(files, ".rps-import.json")
      writeFileSync(journal, "{")
      writeFileSync(join(files, "one.gpx"), "<gpx/>")
      const env = yield* elsewhere((_, response) =>
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ user: { id: 1 } }))
      )
      const { code, stderr } = yield* rps(env, ["import", files])
      const message = `rps: ${journal}: not a file of an import: remove it, and run rps import again\n`
      assert.deepStrictEqual([code, stderr], [1, message])
    }).pipe(Effect.scoped))

  test.live("is one whole text where several replace it at once", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const file = join(directory, "state.json")
      const texts = Array.from({ length: 20 }, (_, index) => "x".repeat(index * 1000))
      yield* Effect.promise(() => Promise.all(texts.map((text) => replaceFile(file, text))))
      assert.include(texts, readFileSync(file, "utf8"))
      assert.deepStrictEqual(readdirSync(directory), ["state.json"])
    }).pipe(Effect.scoped))
})

describe("the command line at an address that is not the service", () => {
  test.live("names the address that it leads to, before it sends the password", () =>
    Effect.gen(function*() {
      const target = yield* elsewhere((_, response) =>
        response.writeHead(401, { "content-type": "application/json" }).end("{\"message\":\"Sign in first\"}")
      )
      let received = ""
      const env = yield* elsewhere((request, response) => {
        request.on("data", (bytes) => received += String(bytes))
        response.writeHead(308, { location: `${target.RPS_URL}${request.url}` }).end()
      })
      const login = ["login", env.RPS_URL, "--email", "ada@example.com"]
      for (const words of [["ls"], login]) {
        const { code, stderr } = yield* rps({
          ...env,
          RPS_TOKEN: words === login ? undefined : "x",
          RPS_PASSWORD: "secret"
        }, words)
        assert.deepStrictEqual([code, stderr], [5, `rps: ${env.RPS_URL} leads to ${target.RPS_URL}: use that\n`])
      }
      assert.strictEqual(received, "")
    }).pipe(Effect.scoped))

  test.live("says that a portal has responded, and keeps the login that it has", () =>
    Effect.gen(function*() {
      const env = yield* elsewhere((request, response) => {
        request.resume()
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(
          "<title>Welcome to our network</title>"
        )
      })
      const { RPS_CONFIG_DIR, RPS_URL } = env
      const file = join(RPS_CONFIG_DIR, "logins.json")
      const logins = JSON.stringify({ current: RPS_URL, tokens: { [RPS_URL]: "kept" } })
      writeFileSync(file, logins)
      const words = [["ls"], ["login", RPS_URL], ["restore", RPS_CONFIG_DIR]]
      writeFileSync(join(RPS_CONFIG_DIR, "backup.json"), JSON.stringify({ origin: RPS_URL, userId: 1 }))
      for (const line of words) {
        const { code, stderr, stdout } = yield* rps(env, line)
        const message = `rps: ${RPS_URL} responded with a page: is this the address of the service?\n`
        assert.deepStrictEqual([code, stdout, stderr], [5, "", message])
      }
      const signedIn = yield* rps({ ...env, RPS_TOKEN: undefined, RPS_PASSWORD: "x" }, [
        "login",
        RPS_URL,
        "--email",
        "a@b.ch"
      ])
      assert.strictEqual(signedIn.code, 5)
      assert.strictEqual(readFileSync(file, "utf8"), logins)
    }).pipe(Effect.scoped))
})

describe("the command line with the variables of a cron job", () => {
  test.live("reads no logins where it has an address and a token, and takes an empty variable for none", () =>
    Effect.gen(function*() {
      const env = yield* elsewhere((_, response) =>
        response.writeHead(200, { "content-type": "application/json" }).end("[]")
      )
      writeFileSync(join(env.RPS_CONFIG_DIR, "logins.json"), "{")
      assert.deepStrictEqual(yield* rps(env, ["ls"]), { code: 0, stdout: "", stderr: "" })
      const logins = { current: env.RPS_URL, tokens: { [env.RPS_URL]: "kept" } }
      writeFileSync(join(env.RPS_CONFIG_DIR, "logins.json"), JSON.stringify(logins))
      const unset = yield* rps({ ...env, RPS_URL: "", RPS_TOKEN: "" }, ["ls"])
      assert.deepStrictEqual(unset, { code: 0, stdout: "", stderr: "" })
    }).pipe(Effect.scoped))
})

describe("the command line at services below the paths of one host", () => {
  test.live("calls each one there, and takes none for another", () =>
    Effect.gen(function*() {
      const called = new Set<string>()
      const env = yield* elsewhere((request, response) => {
        called.add((request.url ?? "").split("/api/")[0] ?? "")
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({ user: { id: 1, handle: "ada" }, expiresAt: null, changes: [], cursor: "1" }))
      })
      const { RPS_CONFIG_DIR, RPS_URL } = env
      writeFileSync(join(RPS_CONFIG_DIR, "backup.json"), JSON.stringify({ origin: RPS_URL, userId: 1 }))
      for (const path of ["", "/one/", "/two?from=mail#top"]) {
        assert.strictEqual((yield* rps(env, ["login", `${RPS_URL}${path}`])).code, 0)
        const restored = yield* rps({ ...env, RPS_URL: `${RPS_URL}${path}` }, ["restore", RPS_CONFIG_DIR])
        assert.strictEqual(restored.code, 0, restored.stderr)
      }
      assert.deepStrictEqual([...called], ["", "/one", "/two"])
      const { current, tokens } = JSON.parse(readFileSync(join(RPS_CONFIG_DIR, "logins.json"), "utf8"))
      assert.deepStrictEqual([current, Object.keys(tokens)], [
        `${RPS_URL}/two`,
        ["", "/one", "/two"].map((path) => `${RPS_URL}${path}`)
      ])
      const host = `127.0.0.1-${new URL(RPS_URL).port}`
      assert.sameMembers(
        readdirSync(join(RPS_CONFIG_DIR, "restored")),
        ["", "%2Fone", "%2Ftwo"].map((path) => `${host}${path}-1.json`)
      )
    }).pipe(Effect.scoped))
})

describe("the command line where the feed no longer knows what has changed", () => {
  test.live("watches on from now, and says that changes may be missing", () =>
    Effect.gen(function*() {
      const change = { type: "route", id: 7, change: "deleted" }
      const env = yield* elsewhere((request, response) => {
        const query = new URL(request.url ?? "", "http://localhost").searchParams
        const isExpired = query.get("cursor") === "1"
        response.writeHead(isExpired ? 410 : 200, { "content-type": "application/json" })
        const cursor = expired ? "2" : "1"
        expired ||= isExpired
        response.end(JSON.stringify({ changes: query.has("wait") ? [change] : [], cursor, hasMore: false }))
      })
      let expired = false
      assert.deepStrictEqual(yield* rps(env, ["watch", "--once"]), {
        code: 0,
        stdout: "route 7 deleted\n",
        stderr: "Watching for changes\nChanges may have been missed: watching from now on\n"
      })
    }).pipe(Effect.scoped))
})

describe("the command line where a minute has few requests", () => {
  test.live("lists 200 routes a page, and reads routes by their ids one after another", () =>
    Effect.gen(function*() {
      const urls: Array<string> = []
      const env = yield* elsewhere((request, response) => {
        urls.push(request.url ?? "")
        const isList = request.url?.includes("limit=200") === true
        response.writeHead(isList ? 200 : 404, { "content-type": "application/json" }).end("[]")
      })
      assert.strictEqual((yield* rps(env, ["ls"])).code, 0)
      assert.strictEqual((yield* rps(env, ["tag", "1", "2", "3", "--add", "alps"])).code, 1)
      assert.lengthOf(urls, 2)
    }).pipe(Effect.scoped))
})

describe("the command line on a line that breaks", () => {
  test.live("makes a link where the first response to it is lost", () =>
    Effect.gen(function*() {
      const keys: Array<unknown> = []
      const env = yield* elsewhere((request, response) => {
        request.resume()
        if (request.method === "POST" && keys.push(request.headers["idempotency-key"]) === 1) return response.destroy()
        response.writeHead(200, { "content-type": "application/json" })
        return response.end(JSON.stringify({ visibility: "public", token: "t" }))
      })
      const { code, stderr } = yield* rps(env, ["share", "1"])
      assert.strictEqual(code, 0, stderr)
      assert.deepStrictEqual([keys.length, new Set(keys).size], [2, 1])
    }).pipe(Effect.scoped))

  test.live("ends an import at the first file where a front does not reach the service", () =>
    Effect.gen(function*() {
      const files = yield* temporaryDirectory
      for (const name of ["one.gpx", "two.gpx"]) writeFileSync(join(files, name), "<gpx/>")
      const sent = new Set<unknown>()
      const env = yield* elsewhere((request, response) => {
        request.resume()
        const isImport = request.url === "/api/v1/routes/import"
        if (isImport) sent.add(request.headers["content-disposition"])
        const headers = { "content-type": "application/json", "retry-after": "0" }
        response.writeHead(isImport ? 502 : 200, headers).end(JSON.stringify({ user: { id: 1 } }))
      })
      assert.deepStrictEqual([(yield* rps(env, ["import", files])).code, sent.size], [5, 1])
    }).pipe(Effect.scoped))

  test.live("says that an import of a ZIP has to be repeated", () =>
    Effect.gen(function*() {
      const env = yield* elsewhere((request, response) => {
        request.resume()
        response.writeHead(200, { "content-type": "application/x-ndjson" })
        response.write("{\"outcome\":\"imported\",\"file\":\"one.gpx\"}\n", () => response.destroy())
      })
      const archive = join(env.RPS_CONFIG_DIR, "rides.zip")
      writeFileSync(archive, "any")
      const { code, stderr } = yield* rps(env, ["import", archive])
      assert.deepStrictEqual([code, stderr], [5, "rps: the connection broke: import the same file again\n"])
    }).pipe(Effect.scoped))
})
