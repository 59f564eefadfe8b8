import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { globSync, readFileSync } from "node:fs"
import { isBuiltin, stripTypeScriptTypes } from "node:module"
import { dirname, join, relative, resolve } from "node:path"
import { ROUTE_BODY_LIMIT } from "../../src/http/api/Requests.ts"
import { ACCOUNT_PAGES } from "../../src/http/request/RouteTemplates.ts"
import { ARCHIVE_BODY_LIMIT } from "../../src/schema/Archive.ts"
import { MAX_UNPACKED_BYTES } from "../../src/schema/Import.ts"
import { registry } from "../../src/services/operations/SettingsRegistry.ts"

const ROOT = resolve(import.meta.dirname, "../..")

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8")

const Manifest = Schema.Struct({
  version: Schema.String,
  dependencies: Schema.Record(Schema.String, Schema.String),
  devDependencies: Schema.Record(Schema.String, Schema.String)
})
const manifest = Schema.decodeUnknownSync(Schema.fromJsonString(Manifest))(textOf("package.json"))

const dockerfile = textOf("Dockerfile")
const finalStage = dockerfile.slice(dockerfile.lastIndexOf("FROM "))

/** The image has these of the repository. */
const copied = [...finalStage.matchAll(/^COPY (?!--from)(\S+) /gm)].map(([, path = ""]) => path)

const REFERENCE = /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)"([.@a-z][\w@.:/-]*)"/g

/** Returns what a file names to be loaded or read when it runs: modules, and paths from its own. */
const namedIn = (file: string) =>
  [...stripTypeScriptTypes(textOf(file)).matchAll(REFERENCE)].map(([, name = ""]) => name)

const toPath = (file: string, name: string) => relative(ROOT, resolve(join(ROOT, dirname(file)), name))

/** Returns the files of a directory. */
const filesAt = (path: string) => path.endsWith(".ts") ? [path] : globSync(`${path}/**/*.ts`, { cwd: ROOT })

const reach = (file: string, reached: Map<string, ReadonlyArray<string>>) => {
  if (reached.has(file)) return reached
  const names = namedIn(file)
  reached.set(file, names)
  names.filter((name) => name.startsWith(".")).flatMap((name) => filesAt(toPath(file, name)))
    .forEach((next) => reach(next, reached))
  return reached
}

const references = [...reach("src/main.ts", new Map())].flatMap(([file, names]) =>
  names.map((name) => ({ file, name }))
)

const packageOf = (name: string) => name.split("/", name.startsWith("@") ? 2 : 1).join("/")

describe("the image", () => {
  it("has every package that the service loads, and none is for development", () => {
    const packages = references.filter(({ name }) => !/^[./]|^[a-z]+:\/\//.test(name) && !isBuiltin(name))
    assert.isAbove(packages.length, 100)
    const missing = packages.filter(({ name }) => !(packageOf(name) in manifest.dependencies))
    assert.deepStrictEqual(missing, [])
    assert.include(dockerfile, "npm ci --omit=dev")
  })

  it("has every file that the service loads or reads", () => {
    const paths = new Set(
      references.filter(({ name }) => name.startsWith(".")).map(({ file, name }) => toPath(file, name))
    )
    assert.isTrue(
      ["migrations", "src/services/geometry/cities.bin.br", "src/services/db/schema"].every((path) => paths.has(path))
    )
    assert.includeMembers(copied, ["package.json"])
    // The image has no clone: `SOURCE_COMMIT` says its commit.
    paths.delete(".git")
    const outside = [...paths].filter((path) => !copied.some((root) => path === root || path.startsWith(`${root}/`)))
    assert.deepStrictEqual(outside, [])
  })

  it("lets in what it copies, and nothing else", () => {
    const fromContext = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = ""]) =>
      paths.split(" ")
    )
    const [first, ...allowed] = textOf(".dockerignore").split("\n").filter((line) =>
      line !== "" && !line.startsWith("#")
    )
    assert.strictEqual(first, "*")
    assert.sameMembers(allowed, [...new Set(fromContext)].map((path) => `!${path}`))
  })

  it("runs the service as production does, and not as root", () => {
    assert.include(finalStage, "\nENV NODE_ENV=production\n")
    assert.include(finalStage, "\nCMD [\"./node.sh\", \"src/main.ts\"]")
    assert.strictEqual(finalStage.match(/^USER .*$/gm)?.at(-1), "USER 1000:1000")
  })

  it("has its modules compiled, by the user and with the options that run them, and read-only", () => {
    const [made = "", kept = ""] = finalStage.split("\nUSER 0:0\n")
    assert.match(made, /^ENV NODE_COMPILE_CACHE=\/app\/\.cache$/m)
    assert.include(made, "\nUSER 1000:1000\nRUN ./node.sh --predictable --random-seed=1 src/main.ts >")
    assert.match(kept, /^RUN chown -R 0:0 \.cache/)
    assert.match(kept, /^USER 1000:1000$/m)
  })

  it("has one version wherever it is named", () => {
    const named = ["deploy/compose.yaml", "deploy/kubernetes/deployment.yaml"].flatMap((file) =>
      [...textOf(file).matchAll(/image: route-planning-service:(\S+)/g)].map(([, version]) => version)
    )
    assert.deepStrictEqual(named, [manifest.version, manifest.version])
    assert.include(finalStage, `org.opencontainers.image.version="${manifest.version}"`)
  })

  it("stands, as all others, on images of an exact version, by digest", () => {
    const images = ["Dockerfile", "deploy/valhalla/Dockerfile", "deploy/compose.yaml"].flatMap((file) =>
      [...textOf(file).matchAll(/(?:^FROM|^ +image:) (?!route-planning-service)(\S+)/gm)].map(([, image = ""]) => image)
    )
    assert.isAbove(images.length, 8)
    assert.deepStrictEqual(images.filter((image) => !/:v?\d+\.\d+(\.\d+)?(-[\w-]+)?(@|$)/.test(image)), [])
    assert.deepStrictEqual(images.filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image)), [])
    assert.include(dockerfile, `FROM node:${manifest.dependencies["node"]}-`)
  })

  it("comes with the engine that the tests run", () => {
    const [requirement = ""] = /pyvalhalla==[\d.]+/.exec(textOf("development/RoutingEnginePackages.ts")) ??
      []
    assert.include(textOf("deploy/valhalla/Dockerfile"), `pip install --no-cache-dir ${requirement} `)
    assert.include(textOf("deploy/compose.yaml"), `route-planning-service-valhalla:${requirement.split("==")[1]}\n`)
  })
})

describe("Compose and Kubernetes", () => {
  const settingsOf = (file: string, block: RegExp) =>
    [...(block.exec(textOf(file))?.[0] ?? "").matchAll(/^ +([A-Z][A-Z_]+):/gm)].map(([, name = ""]) => name)

  const compose = settingsOf("deploy/compose.yaml", /^ {2}service:\n(?: {4}.*\n)+/m)
  const kubernetes = ["deploy/kubernetes/configmap.yaml", "deploy/kubernetes/examples/secret.yaml"].flatMap((file) =>
    settingsOf(file, /^(?:stringD|d)ata:\n[^]+/m)
  )

  /** A user fills in these settings of the file, whether they are commented out or not. */
  const example = [...textOf("deploy/.env.example").matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map(([, name = ""]) => name)

  /** The file compose.yaml reads these for itself. */
  const OF_COMPOSE = new Set([
    "COMPOSE_PROFILES",
    ...[...textOf("deploy/compose.yaml").matchAll(/\$\{([A-Z_]+)/g)].map(([, name = ""]) => name)
  ])

  it("name settings that the service reads, and every one that it needs", () => {
    const known = new Set(registry.map(({ name }) => name))
    const unknown = [...compose, ...kubernetes, ...example].filter((name) => !known.has(name) && !OF_COMPOSE.has(name))
    assert.deepStrictEqual(unknown, [])
    const asked = registry.filter(({ isRequired }) => isRequired).map(({ name }) => name)
    assert.isAbove(asked.length, 5)
    // Compose passes on all that is in the file, whose head makes the secrets.
    assert.include(textOf("deploy/compose.yaml"), "\n    env_file: [.env]\n")
    const generated = /^# +for name in ([A-Z_ ]+); do/m.exec(textOf("deploy/.env.example"))?.[1]?.split(" ") ?? []
    assert.includeMembers([...compose, ...example, ...generated], asked)
    assert.includeMembers(kubernetes, asked)
  })

  it("refuse passwords that are easily guessed", () => {
    assert.include(textOf("deploy/compose.yaml"), "PASSWORD_MIN_STRENGTH: ${PASSWORD_MIN_STRENGTH:-2}")
    assert.include(textOf("deploy/kubernetes/configmap.yaml"), "PASSWORD_MIN_STRENGTH: \"2\"")
  })

  it("have room on a disk for the uploaded archives that the service keeps at once, and let them through", () => {
    const budget = registry.find(({ name }) => name === "IMPORT_DISK_BUDGET")?.otherwise
    const [, gib] = /^(\d+) GiB$/.exec(budget ?? "") ?? []
    const mib = Number(gib) * 1024
    const [, sizeLimit] = /emptyDir: \{ sizeLimit: (\d+)Mi \}/.exec(textOf("deploy/kubernetes/deployment.yaml")) ?? []
    assert.isAbove(Number(sizeLimit), mib)
    assert.match(textOf("deploy/compose.yaml"), /^ {4}tmpfs: \[\]\n {4}volumes: \["uploads:\/tmp"\]$/m)
  })

  it("let bodies through the Ingress and Caddy that the service takes, and 1 MiB more", () => {
    const sizes = Object.fromEntries(
      [
        ["/api/v1/users/me/import", ARCHIVE_BODY_LIMIT],
        [ACCOUNT_PAGES.data, ARCHIVE_BODY_LIMIT],
        ["/api/v1/routes/import", MAX_UNPACKED_BYTES],
        [ACCOUNT_PAGES.routes, MAX_UNPACKED_BYTES],
        ["/", ROUTE_BODY_LIMIT]
      ].map(([path, limit]) => [path, Number(limit) / 1024 / 1024 + 1])
    )
    const ingresses = textOf("deploy/kubernetes/examples/ingress.yaml").split("\n---\n").flatMap((object) => {
      const [, size] = /proxy-body-size: (\d+)m/.exec(object) ?? []
      const paths = [...object.matchAll(/- path: (\S+)/g)].map(([, path]) => path)
      return paths.filter((path) => path !== "/metrics").map((path) => [path, Number(size)])
    })
    assert.deepStrictEqual(Object.fromEntries(ingresses), sizes)
    const limits = textOf("deploy/hosting/Caddyfile").matchAll(
      /@(\w+) (not )?path (.+)\n\trequest_body @\1 \{\n\t\tmax_size (\d+)MiB/g
    )
    const matchers = [...limits].flatMap(([, , not, paths = "", size]) =>
      (not === undefined ? paths.split(" ") : ["/"]).map((path) => [path, Number(size)])
    )
    assert.deepStrictEqual(Object.fromEntries(matchers), sizes)
  })

  it("let the headers of a search through, whose links repeat its filters", () => {
    const [first = ""] = textOf("deploy/kubernetes/examples/ingress.yaml").split("\n---\n")
    assert.include(first, "\n    nginx.ingress.kubernetes.io/proxy-buffer-size: 16k\n")
  })

  it("start two services with limits that fit a host of 2 GiB, and the others by profiles", () => {
    const services =
      textOf("deploy/compose.yaml").split(/^services:$/m)[1]?.split(/^networks:$/m)[0]?.split(/^ {2}(?=\w+:$)/m)
        .slice(1) ?? []
    const nameOf = (service: string) => service.split(":")[0]
    const [first, ...others] = services.filter((service) => !/^ {4}profiles:/m.test(service))
    assert.deepStrictEqual([first, ...others].map((service = "") => nameOf(service)), ["service", "postgres"])
    const mebibytes = services.filter((service) => !/profiles: \[(?:maps|observe)\]/.test(service)).map((service) => {
      const [, size, unit] = /memory: (\d+)([mg])/.exec(service) ?? []
      return Number(size) * (unit === "g" ? 1024 : 1)
    })
    assert.isAtMost(mebibytes.reduce((sum, size) => sum + size), 1920)
  })

  it("give the service a role of its own in PostgreSQL, and no superuser's password", () => {
    const text = textOf("deploy/compose.yaml")
    assert.include(text, "DATABASE_URL: postgres://service:")
    assert.include(text, "./postgres:/docker-entrypoint-initdb.d:ro")
    assert.notMatch(text, /POSTGRES_(?:USER|DB|HOST_AUTH_METHOD):/)
    const statements = textOf("deploy/postgres/role.sql")
    assert.include(statements, "CREATE ROLE service LOGIN PASSWORD :'password';\n")
    assert.include(statements, "ALTER ROLE postgres PASSWORD NULL;\n")
  })

  it("open metrics to Prometheus' network, and to no more of what is private", () => {
    assert.include(compose, "METRICS_ALLOWED_CIDRS")
    assert.include(kubernetes, "METRICS_ALLOWED_CIDRS")
    const [, nowhere] = /path: \/metrics\n.*Exact\n.*\n.*\n +name: (\S+)/
      .exec(textOf("deploy/kubernetes/examples/ingress.yaml")) ?? []
    assert.strictEqual(nowhere, "route-planning-service-nowhere")
  })

  it("hold no secret", () => {
    const values = [...textOf("deploy/kubernetes/examples/secret.yaml").matchAll(/^ {2}[A-Z_]+: (.*)$/gm)]
    assert.deepStrictEqual([...new Set(values.map(([, value]) => value))], ["\"\""])
    assert.notMatch(textOf("deploy/.env.example"), /^(?!#)\w*(?:SECRET|SALT|PEPPER|PASSWORD)=./m)
  })
})
