import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const ROOT = resolve(import.meta.dirname, "../..")

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8")

const sources = globSync("{src,development}/**/*.ts", { cwd: ROOT }).map(textOf).join("\n")

const operations = textOf("docs/operations.md")

const sectionOf = (heading: string) => operations.split(/^## /m).find((part) => part.startsWith(heading)) ?? ""

const rowsOf = (heading: string) =>
  [...sectionOf(heading).matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, name = "", second = ""]) =>
    [name, second] as const
  )

/** What the code reads: by `Config`, by a helper of its own, or (the last two) by OpenTelemetry's resource. */
const read = new Set([
  ...[
    ...sources.matchAll(
      /(?:Config\.\w+|given|flag|oneOf|httpRoot|httpUrl|period|origins|networks|whole|byteSize)\(\s*(?:[^()"]*,\s*)?"([A-Z][A-Z_]+)"/g
    )
  ]
    .map(([, name = ""]) => name),
  ...[.../const REQUIRED = \[[^\]]+\]/.exec(sources)?.[0].matchAll(/"(\w+)"/g) ?? []].map(([, name = ""]) => name),
  ...[...sources.matchAll(/Config\.(?:schema|Array)\([^"]*?,\s*"([A-Z][A-Z_]+)"/g)].map(([, name = ""]) => name),
  "OTEL_SERVICE_NAME",
  "OTEL_RESOURCE_ATTRIBUTES"
])

/** A default as it stands in the code: a number, a text, or a time. */
const DEFAULTS =
  /(?<!withExample\(|refuse\()"([A-Z][A-Z_]+)"\)?(?:\.pipe\()?,?\s*(?:Config\.withDefault\()?(?:"([^"]*)"|(\d+)|(true|false)|Duration\.(\w+?)s?\((\d+)\))\)/g

const coded = [...sources.matchAll(DEFAULTS)].flatMap(([, name = "", text, number, flag, unit, amount]) => {
  const value = text ?? number ?? flag ?? `${amount} ${unit}${amount === "1" ? "" : "s"}`
  return value === "" || !read.has(name) ? [] : [[name, value] as const]
})

describe("docs/operations.md", () => {
  it("has every setting that the code reads, and no other", () => {
    assert.isAbove(read.size, 35)
    assert.deepStrictEqual(rowsOf("Settings").map(([name]) => name).toSorted(), [...read].toSorted())
  })

  it("has the defaults that the code has", () => {
    const documented = new Map(rowsOf("Settings"))
    assert.isAbove(coded.length, 8)
    assert.deepStrictEqual(coded.filter(([name, value]) => documented.get(name) !== value), [])
  })

  it("has every metric that the code has, and no other", () => {
    const metrics = [...sources.matchAll(/\b(?:counter|counterBy<[^>]+>|gauge|histogram)\(\s*"([a-z0-9_]+)"/g)].map((
      [, name = ""]
    ) => name)
    assert.deepStrictEqual(
      rowsOf("What to watch").map(([name]) => name).toSorted(),
      [...new Set(metrics)].toSorted()
    )
  })
})
