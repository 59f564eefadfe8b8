import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { COMPILE_CACHE } from "../support/CompileCache.ts"
import { listening } from "../support/Listening.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const SCRIPT = join(import.meta.dirname, "../../tools/dependencies.ts")

const PUBLISHED = new Map([["/a-library", ["1.2.3", "1.2.4", "1.3.0", "2.0.0"]], ["/another", ["0.5.0", "0.6.0"]]])

const packageAt = (path: string) => {
  const versions = PUBLISHED.get(path)
  const name = path.slice(1)
  return versions && {
    name,
    "dist-tags": { latest: versions.at(-1) },
    versions: Object.fromEntries(versions.map((version) => [version, { name, version, dist: {} }]))
  }
}

const registry = Effect.map(
  listening(createServer(({ url = "" }, response) => {
    const found = packageAt(url)
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" })
    response.end(JSON.stringify(found ?? {}))
  })),
  (port) => `http://127.0.0.1:${port}/`
)

/** Returns what the check prints of these versions, and the code that it ends with. */
const checked = Effect.fnUntraced(function*(registry: string, dependencies: Readonly<Record<string, string>>) {
  const cwd = yield* temporaryDirectory
  const { PATH = "" } = process.env
  const env = { PATH, ...COMPILE_CACHE, HOME: cwd, npm_config_registry: registry, npm_config_fetch_retries: "0" }
  return yield* Effect.promise(async () => {
    await writeFile(join(cwd, "package.json"), JSON.stringify({ dependencies: {}, devDependencies: dependencies }))
    return new Promise<readonly [string, number | string | null | undefined]>((resolve) =>
      void execFile(
        process.execPath,
        [SCRIPT],
        { cwd, env },
        (error, stdout) => resolve([stdout, error === null ? 0 : error.code])
      )
    )
  })
})

it.live("a dependency that is a patch behind fails the check of dependencies by name; a newer minor does not", () =>
  Effect.gen(function*() {
    const url = yield* registry
    const behind = { "a-library": "1.2.3", another: "0.5.0" }
    assert.deepStrictEqual(yield* checked(url, behind), ["a-library 1.2.3 is behind 1.2.4\n", 1])
    assert.deepStrictEqual(yield* checked(url, { ...behind, "a-library": "1.2.4" }), ["", 0])
  }))

it.live("the check of dependencies fails without a registry, and where the registry has no such package", () =>
  Effect.gen(function*() {
    const [unknown, code] = yield* checked(yield* registry, { "no-such-library": "1.0.0" })
    assert.match(unknown, /no-such-library/)
    const [unreachable, unreachableCode] = yield* checked("http://127.0.0.1:9/", { "a-library": "1.2.3" })
    assert.match(unreachable, /127\.0\.0\.1:9/)
    assert.deepStrictEqual([code, unreachableCode], [1, 1])
  }))
