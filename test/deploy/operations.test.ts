import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { registry } from "../../src/services/operations/SettingsRegistry.ts"
import { withTables } from "../../tools/operationsTables.ts"

const ROOT = resolve(import.meta.dirname, "../..")

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8")

const sources = globSync("{src,development}/**/*.ts", { cwd: ROOT }).map(textOf).join("\n")

const operations = textOf("docs/operations.md")

const sectionOf = (heading: string) => operations.split(/^## /m).find((part) => part.startsWith(heading)) ?? ""

const rowsOf = (heading: string) =>
  [...sectionOf(heading).matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, name = "", second = ""]) =>
    [name, second] as const
  )

describe("docs/operations.md", () => {
  it("has the settings of the registry, with their defaults and meanings", () => {
    assert.isAbove(registry.length, 50)
    assert.strictEqual(operations, withTables(operations))
  })

  it("has all settings, since only the registry names one in a Config", () => {
    const readers = globSync("{src,development}/**/*.ts", { cwd: ROOT }).filter((file) =>
      /\bConfig\.\w+\([^)]*"[A-Z][A-Z_]+"/.test(textOf(file))
    )
    assert.deepStrictEqual(readers, [])
  })

  it("has every metric that the code has, and no other", () => {
    const metrics = [...sources.matchAll(/\b(?:counter|countersBy|gauge|histogram)\(\s*"([a-z0-9_]+)"/g)].map((
      [, name = ""]
    ) => name)
    assert.deepStrictEqual(
      rowsOf("What to watch").map(([name]) => name).toSorted(),
      [...new Set(metrics)].toSorted()
    )
  })
})
