import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const ROOT = resolve(import.meta.dirname, "..")

const sources = globSync("{src,development,test,bench,torture,checks,examples,migrations,packages/*/src}/**/*.ts", {
  cwd: ROOT
})

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8")

/** Returns the paths, from the root, of our own files that a file imports. */
const importsOf = (file: string) =>
  [...textOf(file).matchAll(/(?:from|import\()\s*"(\.[^"]+\.ts)"/g)].map(([, path = ""]) =>
    relative(ROOT, resolve(join(ROOT, dirname(file)), path))
  )

const TypeScript = Schema.fromJsonString(Schema.Struct({ include: Schema.Array(Schema.String) }))

const Linter = Schema.fromJsonString(Schema.Struct({ ignorePatterns: Schema.Array(Schema.String) }))

const roomOf = (file: string) => {
  if (file.startsWith("src/http/api/")) return "api"
  if (file === "src/client.ts") return "client"
  const [top = "", room = ""] = file.split("/")
  if (top !== "src") return top
  return room.endsWith(".ts") ? "main" : room
}

/** Each room may import itself and the rooms listed for it. */
const ALLOWED: Readonly<Record<string, ReadonlyArray<string>>> = {
  schema: [],
  upstream: [],
  services: ["schema"],
  api: ["schema"],
  http: ["schema", "services", "api", "upstream"],
  client: ["schema", "api"],
  layers: ["schema", "services", "api", "http", "upstream"],
  main: ["schema", "services", "api", "client", "http", "layers"],
  development: ["schema", "services", "api", "client", "http", "layers", "main"],
  migrations: []
}

/** A file in a folder of `src/services` or `src/http` may import those of the rows above. */
const ORDER = {
  "src/services": [
    ["operations"],
    ["db"],
    ["admission", "identity", "texts"],
    ["mail", "sharing"],
    ["bodies"],
    ["geometry"],
    ["files", "routing"],
    ["routes"],
    ["accounts", "collections", "pictures"],
    ["archive", "sync"]
  ],
  "src/http": [["api"], ["openapi"], ["request"], ["response"], ["middleware"], ["auth"], ["handlers", "pages"]]
}

const BESIDE_FOLDERS = new Set(["src/http/Server.ts", "src/services/DomainErrors.ts"])

describe("the house", () => {
  it("imports point one way: schema, services, http, layers, main", () => {
    const wrong = sources.filter((file) => file.startsWith("src/") || file.startsWith("migrations/")).flatMap(
      (file) => {
        const allowed = new Set([roomOf(file), ...ALLOWED[roomOf(file)] ?? []])
        return importsOf(file).filter((path) => !allowed.has(roomOf(path))).map((path) => `${file} -> ${path}`)
      }
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("folders inside services and http import in one order", () => {
    const wrong = Object.entries(ORDER).flatMap(([base, rows]) => {
      const folderOf = (file: string) => relative(base, file).split("/")[0] ?? ""
      const rowOf = (file: string) => rows.findIndex((row) => row.includes(folderOf(file)))
      const inFolders = sources.filter((file) => file.startsWith(`${base}/`) && !BESIDE_FOLDERS.has(file))
      const unknown = inFolders.filter((file) => rowOf(file) < 0)
      const back = inFolders.flatMap((file) =>
        importsOf(file)
          .filter((path) =>
            path.startsWith(`${base}/`) && folderOf(path) !== folderOf(file) && rowOf(path) >= rowOf(file)
          )
          .map((path) => `${file} -> ${path}`)
      )
      return unknown.concat(back)
    })
    assert.deepStrictEqual(wrong, [])
  })

  it("no two folders inside services and http import each other", () => {
    const inside = sources.filter((file) => /^src\/(services|http)\//.test(file))
    const needs = new Set(
      inside.flatMap((file) =>
        importsOf(file).filter((path) => dirname(path) !== dirname(file)).map((path) =>
          `${dirname(file)} -> ${dirname(path)}`
        )
      )
    )
    assert.deepStrictEqual([...needs].filter((need) => needs.has(need.split(" -> ").toReversed().join(" -> "))), [])
  })

  it("no file imports itself by way of others", () => {
    const needs = new Map(sources.map((file) => [file, importsOf(file)]))
    /** Leaves out files that import nothing of the rest until there are none of them. */
    const circular = (files: ReadonlySet<string>): ReadonlyArray<string> => {
      const rest = new Set([...files].filter((file) => needs.get(file)?.some((path) => files.has(path))))
      return rest.size === files.size ? [...files] : circular(rest)
    }
    assert.deepStrictEqual(circular(new Set(sources)), [])
  })

  it("the client needs the contract and Effect, and no line of the server", () => {
    const reach = (files: ReadonlySet<string>): ReadonlySet<string> => {
      const more = new Set([...files, ...[...files].flatMap(importsOf)])
      return more.size === files.size ? files : reach(more)
    }
    const files = [...reach(new Set(["src/client.ts"]))]
    assert.isAbove(files.length, 20)
    assert.deepStrictEqual(files.filter((file) => !/^src\/(client\.ts|schema\/|http\/api\/)/.test(file)), [])
    const packages = new Set(
      files.flatMap((file) => [...textOf(file).matchAll(/from "([^.][^"]*)"/g)].map(([, name = ""]) => name))
    )
    assert.deepStrictEqual([...packages].toSorted(), ["effect", "effect/http", "effect/http-api"])
  })

  it("nothing imports a program", () => {
    const programs = new Set([
      "src/main.ts",
      "development/dev.ts",
      "development/demo.ts",
      "development/engine.ts",
      "torture/run.ts"
    ])
    assert.deepStrictEqual(sources.flatMap(importsOf).filter((path) => programs.has(path)), [])
  })

  it("a file is one subject, of at most 450 lines", () => {
    const written = sources.filter((file) => file !== "packages/client/src/contract.ts")
    assert.deepStrictEqual(written.filter((file) => textOf(file).split("\n").length > 450), [])
  })

  it("no file switches a rule of the compiler or the linter off, which refuse casts, `any` and `!`", () => {
    const switches = /(?:ox|es)lint-disable|@ts-(?:ignore|expect-error|nocheck)|@effect-(?:diagnostics)/
    assert.deepStrictEqual(sources.filter((file) => switches.test(textOf(file))), [])
    const read = ["src", "development", "test", "bench", "torture", "examples", "migrations", "packages/*/src"]
    const { include } = Schema.decodeUnknownSync(TypeScript)(textOf("tsconfig.json").replaceAll(/^ *\/\/.*$/gm, ""))
    const { ignorePatterns } = Schema.decodeUnknownSync(Linter)(textOf(".oxlintrc.json"))
    assert.includeMembers([...include], read)
    assert.deepStrictEqual(ignorePatterns, ["node_modules", ".data"])
  })

  it("rules of visibility are in the SQL of one file", () => {
    const compared = /\b[rc]\.visibility\s*(?:=|<>|IN\b)/
    assert.deepStrictEqual(sources.filter((file) => file.startsWith("src/") && compared.test(textOf(file))), [
      "src/services/sharing/Visibility.ts"
    ])
  })

  it("services fail with facts, which HTTP words: none knows the errors of the contract", () => {
    const services = sources.filter((file) => file.startsWith("src/services/"))
    assert.deepStrictEqual(services.filter((file) => importsOf(file).includes("src/schema/Errors.ts")), [])
  })

  it("errors are distinguished by their tags, and each failure has its own", () => {
    const errors = sources.filter((file) => file.startsWith("src/")).flatMap((file) =>
      [...textOf(file).matchAll(/class (\w+)\s+extends Schema\.(?:Tagged)?Error</g)].map(([, name]) => name)
    )
    assert.includeMembers(errors, ["Conflict", "StaleVersion", "BadLine"])
    const named = errors.join("|")
    const shared = new RegExp(`^(export )?const \\w+ = (Effect\\.(fail|die)\\()?new (${named})\\(`, "m")
    const told = new RegExp(`instanceof (${named})\\b|details\\?*\\.*\\["(reason|version|quota)"\\]`)
    assert.deepStrictEqual(
      sources.filter((file) => file.startsWith("src/") && (shared.test(textOf(file)) || told.test(textOf(file)))),
      []
    )
  })

  it("rows are written by the columns of their table's model, and read under the names of its fields", () => {
    const untyped = /\bsql\.(insert|update|updateValues)\(|Schema\.Record\(Schema\.String, Schema\.Unknown\)/
    const services = sources.filter((file) => file.startsWith("src/services/"))
    assert.deepStrictEqual(services.filter((file) => untyped.test(textOf(file))), ["src/services/db/Tables.ts"])
    const renamed =
      /\b(row|rows\[0\]|found\[0\]|\w+\.value)\.[a-z]+_[a-z]|AS [a-z]+_[a-z_]+ FROM (users|routes|collections)\b/
    assert.deepStrictEqual(services.filter((file) => renamed.test(textOf(file))), [])
  })

  it("every trigger and function of the database is named by the service that relies on it", () => {
    const schema = globSync("src/services/db/schema/*.sql", { cwd: ROOT }).map(textOf).join("\n")
    const names = [...schema.matchAll(/CREATE (?:FUNCTION|TRIGGER) (\w+)/g)].map(([, name = ""]) => name)
    assert.isAbove(names.length, 40)
    const services = sources.filter((file) => file.startsWith("src/services/")).map(textOf).join("\n")
    const isNamed = (name: string) =>
      services.includes(`\`${name}\``) || services.includes(`\`${name.replace(/_on_\w+$/, "_on_*")}\``)
    assert.deepStrictEqual(names.filter((name) => !isNamed(name)), [])
  })

  it("time and chance come from services, never from the platform", () => {
    const platform = /\bDate\.now\(|new Date\(\)|Math\.random\(|\brandomUUID\(|\bnow\(\)|CURRENT_TIMESTAMP/
    const wrong = sources.filter((file) => /^src\/(schema|services|http)\//.test(file) && platform.test(textOf(file)))
    assert.deepStrictEqual(wrong, [])
  })

  it("texts of clients go into native maps and sets, whose hashes are seeded, never into Effect's", () => {
    const unseeded = /\b(Hash(Map|Set)|MutableHash(Map|Set)|dedupe|Equivalence|Hash\.(hash|string|structure))\b/
    const users = sources.filter((file) => file.startsWith("src/") && unseeded.test(textOf(file)))
    assert.deepStrictEqual(users, [])
  })

  it("keys of a cache or a map of resources are texts, which are looked up in a native map", () => {
    const keyless = sources.filter((file) => file.startsWith("src/")).filter((file) =>
      [...textOf(file).matchAll(/\b(?:Cache\.make|RcMap\.make|LayerMap\.|RequestResolver\.make)/g)].some(
        ({ index }) => !textOf(file).slice(index, index + 200).includes(": string)")
      )
    )
    assert.deepStrictEqual(keyless.toSorted(), [
      // Its lookups have a name, and the issuer and the address of its keys are settings.
      "src/services/accounts/Provider.ts"
    ])
  })
})
