import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const ROOT = join(import.meta.dirname, "..")

const documents = globSync(["*.md", "docs/**/*.md", "deploy/*.md"], { cwd: ROOT }).filter((file) =>
  file !== "CHANGELOG.md"
)

const files = globSync("*", { cwd: ROOT }).concat(
  globSync("{src,migrations,development,test,tools,bench,torture,deploy,examples,checks,docs}/**/*", { cwd: ROOT })
)

const FOLDERS =
  /^(src|schema|services|http|layers|upstream|migrations|development|test|tools|bench|torture|deploy|docs)\//

const GENERATED = "packages/client/src/contract.ts"

const sources = globSync(
  "{bench,development,examples,migrations,packages/*/src,src,test,tools,torture}/**/*.ts",
  { cwd: ROOT }
)
  .filter((file) => file !== GENERATED)

const textOf = (document: string) => readFileSync(join(ROOT, document), "utf8")

const missingIn = (document: string, wanted: RegExp, isThere: (name: string) => boolean) =>
  [...textOf(document).matchAll(wanted)].flatMap(([, name = ""]) => isThere(name) ? [] : [`${document}: ${name}`])

const decodeContract = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({
  components: Schema.Struct({
    schemas: Schema.Record(Schema.String, Schema.Struct({ description: Schema.optionalKey(Schema.String) }))
  })
})))

describe("documents", () => {
  it("name files and folders of this repository under their present names", () => {
    const isThere = (name: string) => {
      const path = name.replace(/\/$/, "")
      return files.some((file) => file === path || file.endsWith(`/${path}`))
    }
    const named = documents.flatMap((document) =>
      missingIn(
        document,
        /`([\w./-]+)`/g,
        (name) => !/\.(ts|sql|sh)$/.test(name) && !FOLDERS.test(name) || isThere(name)
      )
    )
    assert.deepStrictEqual(named, [])
  })

  it("that are generated print no missing value, and describe every schema", () => {
    const missing = ["docs/api.md", "docs/authorization.md", "docs/operations.md", "docs/openapi.json"].filter((
      document
    ) => /\bundefined\b|\[object |\bNaN\b/.test(textOf(document)))
    assert.deepStrictEqual(missing, [])
    const { components: { schemas } } = decodeContract(textOf("docs/openapi.json"))
    assert.deepStrictEqual(Object.keys(schemas).filter((name) => !schemas[name]?.description), [])
  })

  it("walk through the service in at most ten steps each", () => {
    const walks = textOf("docs/architecture.md").split("## Walks\n")[1]?.split("\n## ")[0]?.split(/^\*\*/m).slice(1) ??
      []
    assert.isAtLeast(walks.length, 10)
    const steps = walks.map((walk) => [...walk.matchAll(/^\d+\. .*`[\w./]+\.(?:ts|sql|sh)`/gm)].length)
    assert.deepStrictEqual(steps.filter((count) => count < 5 || count > 10), [])
  })

  it("have comments beside them in the source that are sentences with a subject", () => {
    const fragments = [
      /^\s*(?:\/\*\*(?:\n\s*\*)?|\/\/) (?:Of|By|Whether|What|Whose|Those|Which|As many|As much|How|The same) /m,
      /^\s*(?:\/\*\*|\/\/) (?:In|At|With|For|From|To|On|When|Where|That of|Never|Bounded|Undefined|Required|Maximum|Monotonic)(?: [^\s,:;]+){1,5}\.(?: \*\/)?$/m,
      /^\s*(?:\/\*\*|\/\/) (?:Absent|Empty|Encoded|Made) (?:at|by|for|from|if|in|on|once|under|unless|until|when|where|with|without) /m,
      /^\s*(?:\/\*\*(?:\n\s*\*)?|\/\/) (?:(?:False|None|Null|True|Undefined) (?:if|when|where) |RFC \d+(?:, [\d.]*\d)?\.(?:\s|$))/m
    ]
    const written = sources.filter((file) => fragments.some((fragment) => fragment.test(textOf(file))))
    assert.deepStrictEqual(written, [])
  })
})
