import { assert, describe, it as test } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { elsewhere, rps } from "../support/CommandLine.ts"
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
})
