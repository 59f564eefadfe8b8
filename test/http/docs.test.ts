import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { openApiDocument } from "../../src/http/openapi/Document.ts"
import { anonymous } from "../support/Actors.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

const ROOT = join(import.meta.dirname, "../..")

const Report = Schema.decodeUnknownSync(Schema.Struct({ stdout: Schema.String }))

const Problems = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ problems: Schema.Array(Schema.Json) }))
)

const Configuration = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

layer(TestServer.layer())("the API page", (it) => {
  it.effect("may run its own file and script, ask our own origin, and nothing else", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { headers, status, text } = yield* visitor.get("//api")
      assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/html"])
      const [start = "", ...more] = text.split("<script>").slice(1).map((part) =>
        part.slice(0, part.indexOf("</script>"))
      )
      assert.include(text, "<html lang=\"en\">")
      assert.include(start, "createApiReference")
      const configuration = Configuration(/\.\.\.(\{.*\}),\s+content:/.exec(start)?.[1])
      assert.deepInclude(configuration, {
        withDefaultFonts: false,
        hideClientButton: true,
        telemetry: false,
        agent: { disabled: true },
        mcp: { disabled: true }
      })
      assert.deepStrictEqual(more, [])
      assert.strictEqual(
        headers.get("content-security-policy"),
        `default-src 'none'; script-src 'self' ${hashOf(start)}; style-src 'unsafe-inline'; img-src data:; `
          + "font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      )
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
    }))

  it.effect("has its scripts in a file that is kept for a year under a path with its hash", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { text } = yield* visitor.get("//api")
      const path = /<script src="(assets\/reference-[\w-]{16}\.js)"><\/script>/.exec(text)?.[1] ?? ""
      const { headers, status, ...file } = yield* visitor.get(`//${path}`)
      assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/javascript; charset=utf-8"])
      assert.strictEqual(headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.isAbove(file.text.length, 1_000_000)
      assert.strictEqual((yield* visitor.get("//assets/reference-AAAAAAAAAAAAAAAA.js")).status, 404)
    }))

  it.effect("has a valid document, whose examples fit their schemas: redocly's recommended rules find nothing", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryDirectory, "openapi.json")
      const lint = [join(ROOT, "node_modules/@redocly/cli/bin/cli.js"), "lint", "--format=json", file]
      const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
      const { problems } = yield* Effect.promise(async () => {
        await writeFile(file, JSON.stringify(openApiDocument()))
        // It ends with 1 where it found an error; its report is on standard output all the same.
        const { stdout } = await promisify(execFile)(process.execPath, lint, { cwd: ROOT, env }).catch(Report)
        return Problems(stdout)
      })
      assert.deepStrictEqual(problems, [])
    }))

  it.effect("has the OpenAPI document beside it, for its public address", () =>
    Effect.gen(function*() {
      const { body, headers, status } = yield* (yield* anonymous).get("//api/openapi.json")
      assert.deepStrictEqual([status, headers.get("content-type")], [200, "application/json"])
      assert.deepStrictEqual(body, JSON.parse(JSON.stringify(openApiDocument("http://localhost:3000"))))
      assert.strictEqual(headers.get("content-security-policy"), "default-src 'none'; frame-ancestors 'none'")
    }))

  it.effect("responds to HEAD without a body, and to other methods with those that are allowed", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (const path of ["//api", "//api/openapi.json"]) {
        const head = yield* visitor.call("HEAD", path)
        assert.deepStrictEqual([head.status, head.text], [200, ""])
        const posted = yield* visitor.post(path)
        assert.deepStrictEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD"])
      }
      assert.strictEqual((yield* visitor.get("//api/")).status, 404)
    }))
})

layer(TestServer.layer({ RATE_LIMITS_ENABLED: "true" }))("the API page's limit", (it) => {
  it.effect("is that of the default tier, by address", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { headers } = yield* visitor.call("HEAD", "//api/openapi.json")
      assert.strictEqual(headers.get("ratelimit-policy"), "\"GET /api/openapi.json\";q=300;w=60")
      // The contract is not packed, which would be most of the work.
      const plain = { headers: { "accept-encoding": "identity" } }
      yield* Effect.forEach(Array.from({ length: 299 }), () => visitor.call("HEAD", "//api/openapi.json", plain), {
        concurrency: 20,
        discard: true
      })
      const refused = yield* visitor.get("//api/openapi.json")
      assert.deepInclude(refused.body, { statusCode: 429, code: "RATE_LIMITED" })
      assert.strictEqual(refused.headers.get("retry-after"), "60")
    }))
})

const nowhere = Effect.gen(function*() {
  const visitor = yield* anonymous
  const answers = yield* Effect.forEach(["//api", "//api/openapi.json"], (path) => visitor.get(path))
  const notFound = { statusCode: 404, code: "NOT_FOUND", message: "No such path" }
  assert.deepStrictEqual(answers.map(({ body }) => body), [notFound, notFound])
})

layer(TestServer.layer({ API_DOCS_ENABLED: "false" }))("the API page, switched off", (it) => {
  it.effect("is not there", () => nowhere)
})

layer(TestServer.layer({ NODE_ENV: "production" }))("the API page in production", (it) => {
  it.effect("is not there", () => nowhere)
})

layer(TestServer.layer({ NODE_ENV: "production", API_DOCS_ENABLED: "true" }))(
  "the API page, enabled in production",
  (it) => {
    it.effect("is there in production", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* (yield* anonymous).call("HEAD", "//api")).status, 200)
      }))
  }
)
