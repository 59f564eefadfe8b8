import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { readdir, readlink } from "node:fs/promises"
import { anonymous, signedIn } from "../support/Actors.ts"
import {
  archiveOf,
  exported,
  filesOf,
  imported,
  importedAfter,
  issuesOf,
  manifestOf,
  sealed,
  unzipped
} from "../support/Archives.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const MIB = 1024 * 1024

/** The attacker has an archive of one route, unpacked. */
const attacker = Effect.gen(function*() {
  const rider = yield* signedIn
  yield* rider.post("/routes", newRoute({ name: "first" }))
  return { rider, files: yield* unzipped((yield* exported(rider)).bytes) }
})

layer(TestServer.layer())("a hostile archive", (it) => {
  it.effect("of nothing but line feeds is refused at the first of them", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const bytes = yield* sealed({ ...files, "routes.json": "[" + "\n".repeat(7 * MIB) })
      const { body } = yield* imported(rider, bytes)
      assert.deepStrictEqual(issuesOf(body), [{ path: "body.routes.json:2", message: "Expected an element" }])
    }))

  it.effect("with more elements than it says is refused at the first of them", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const [, first] = (files["routes.json"] ?? "").split("\n")
      const bytes = yield* sealed({ ...files, "routes.json": `[\n${first},\n${"{},\n".repeat(MIB)}` })
      const message = "Expected 1 elements, as the manifest says"
      assert.deepStrictEqual(issuesOf((yield* imported(rider, bytes)).body), [{ path: "body.routes.json:3", message }])
    }))

  it.effect("with an instant that no calendar has is refused before anything is stored", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const routes = files["routes.json"] ?? ""
      for (const instant of ["0000-01-01T00:00:00.000Z", "2025-02-30T00:00:00.000Z"]) {
        const changed = routes.replace(/"createdAt":"[^"]+"/, `"createdAt":"${instant}"`)
        const { body, status } = yield* imported(rider, yield* sealed({ ...files, "routes.json": changed }))
        assert.strictEqual(status, 400, instant)
        assert.deepStrictEqual(issuesOf(body).map(({ path }) => path), ["body.routes.json:2.createdAt"])
      }
    }))

  it.effect("with a line or a file that would keep a parser busy is refused unparsed", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const routes = files["routes.json"] ?? ""
      const deep = `${"[".repeat(2 * MIB)}${"]".repeat(2 * MIB)}`
      const wide = `[${"[],".repeat(2 * MIB)}0]`
      const problems: ReadonlyArray<readonly [extra: string, message: string]> = [
        [deep, "Expected at most 16 levels"],
        [wide, "values in all"]
      ]
      for (const [extra, message] of problems) {
        const route = yield* sealed({ ...files, "routes.json": routes.replace("\n{", `\n{"extra":${extra},`) })
        const profile = yield* sealed({ ...files, "profile.json": extra })
        for (const [path, bytes] of [["routes.json:2", route], ["profile.json", profile]] as const) {
          const [issue, ...others] = issuesOf((yield* imported(rider, bytes)).body)
          assert.strictEqual(issue?.path, `body.${path}`)
          assert.include(issue?.message, message)
          assert.deepStrictEqual(others, [])
        }
      }
    }))

  it.effect("with a profile of more than 8 MiB is refused before the profile is unpacked", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const bytes = yield* sealed({ ...files, "profile.json": `[${"0,".repeat(7 * MIB)}0]` })
      assert.deepStrictEqual(issuesOf((yield* imported(rider, bytes)).body), [
        { path: "body.profile.json", message: "Expected at most 8388608 bytes" }
      ])
    }))

  it.effect("is taken where its brackets belong to a text and its route has all the positions that one may have", () =>
    Effect.gen(function*() {
      const { files } = yield* attacker
      const heir = yield* signedIn
      const geometry = JSON.stringify(
        Array.from({ length: 100_000 }, () => [-179.12345678901235, 47.12345678901235, 1234.5678])
      )
      const name = JSON.stringify("\\\"[[[[[[[[[[[[[[[[[[\\")
      const routes = (files["routes.json"] ?? "").replace("\"first\"", () => `${name},"geometry":${geometry}`)
      assert.strictEqual((yield* imported(heir, yield* sealed({ ...files, "routes.json": routes }))).status, 201)
    }))

  it.effect("that names one file many times is refused unread", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const { files: named } = manifestOf(files)
      const bytes = yield* sealed(files, { files: Array.from({ length: 3 }, () => named).flat() })
      assert.deepStrictEqual(issuesOf((yield* imported(rider, bytes)).body), [
        { path: "body.manifest.json.files", message: "Expected each file once" }
      ])
    }))

  it.effect("with a collection of too many routes of others is refused, and imports nothing", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const heir = yield* signedIn
      yield* rider.post("/collections", { name: "All" })
      const { "collections.json": collections = "" } = yield* unzipped((yield* exported(rider)).bytes)
      const others = Array.from({ length: 30_000 }, (_, id) => ({ id: id + 1, shareToken: "0".repeat(32) }))
      const line = collections.replace("\"others\":[]", `"others":${JSON.stringify(others)}`)
      const counts = { ...manifestOf(files).counts, collections: 1 }
      const answer = yield* imported(heir, yield* sealed({ ...files, "collections.json": line }, { counts }))
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(issuesOf(answer.body).map(({ path }) => path), ["body.collections.json:2.others"])
      assert.deepStrictEqual((yield* heir.get("/routes")).body, [])
    }))

  it.effect("leaves no file open, nor does one that is broken off", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const whole = yield* sealed(files)
      for (const bytes of [whole, whole.slice(0, -100), yield* sealed({ ...files, "routes.json": "[\n\n" })]) {
        yield* imported(rider, bytes)
      }
      yield* Effect.timeoutOption(importedAfter(rider, whole, Effect.never), "100 millis").pipe(TestClock.withLive)
      yield* Effect.eventually(Effect.filterOrFail(openArchives, (open) => open.length === 0)).pipe(TestClock.withLive)
    }))
})

/** Lists the archives that this process has open, where the system tells. */
const openArchives = Effect.promise(async () => {
  const descriptors = await readdir("/proc/self/fd").catch(() => [])
  const paths = await Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")))
  return paths.filter((path) => path.includes("route-planning-service-"))
})

/** Returns the archive with other uncompressed sizes in its directory, from the first file on. */
const resized = (archive: Uint8Array, ...sizes: ReadonlyArray<number>) => {
  const bytes = Buffer.from(archive)
  const header = Buffer.from("PK\u0001\u0002")
  sizes.reduce((from, size) => {
    const start = bytes.indexOf(header, from)
    bytes.writeUInt32LE(size, start + 24)
    return start + header.length
  }, 0)
  return bytes
}

layer(TestServer.layer())("an archive that is not what it claims", (it) => {
  it.effect("is not kept busy by an archive that unpacks to more than its directory says, or to too much", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = yield* filesOf(rider)
      const { files: [profile, ...others] } = manifestOf(files)
      assert.strictEqual(profile?.name, "profile.json")
      const lying = yield* sealed(files, { files: [{ name: "", sha256: "", ...profile, size: 3 }, ...others] })
      const more = yield* imported(rider, resized(lying, 3))
      assert.strictEqual(more.status, 400)
      assert.include(more.text, "profile.json: The file cannot be read")
      const much = yield* imported(rider, resized(yield* archiveOf(rider), 2 ** 28, 2 ** 28))
      assert.strictEqual(much.status, 400)
      assert.include(much.text, "what is read of it unpacks to more than 536870912 bytes")
    }))

  it.effect("is refused before it is read when it is no ZIP archive by its type, or longer than 512 MiB", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { origin } = yield* TestServer
      const archive = yield* archiveOf(rider)
      assert.strictEqual((yield* imported(rider, archive, "application/json")).status, 415)
      assert.strictEqual((yield* imported(rider, archive, "application/x-zip-compressed")).status, 201)
      assert.strictEqual((yield* (yield* anonymous).post("/users/me/import")).status, 401)
      const long = requestHead("POST /api/v1/users/me/import", {
        cookie: rider.cookie,
        "content-type": "application/zip",
        "content-length": String(512 * 1024 * 1024 + 1)
      })
      const answer = yield* sendRaw(origin, long)
      assert.strictEqual(answer.status, 413)
      assert.include(answer.body, "\"limitBytes\":536870912")
    }))
})
