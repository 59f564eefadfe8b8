import { assert, it as test, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { chmod, cp, mkdir, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { parseEnv } from "node:util"
import { NODE } from "../../development/ProductionProcess.ts"
import manifest from "../../package.json" with { type: "json" }
import { envFile, servedDirectory } from "../../tools/setupFiles.ts"
import { COMPILE_CACHE } from "../support/CompileCache.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const ROOT = join(import.meta.dirname, "../..")

const run = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}, cwd = ROOT) =>
  Effect.promise(async () => {
    const { PATH = "" } = process.env
    const child = spawn(command, args, {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH, ...COMPILE_CACHE, ...env }
    })
    const code = new Promise<number | null>((resolve) => child.once("close", resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await code, stderr, stdout }
  })

const ANSWERS = {
  address: "https://routes.example.com",
  admin: "ada@example.com",
  mail: "smtp://club:canary@mail.example.com:587",
  "sign-up": "closed",
  processes: "2",
  "keep-days": "14"
}

type Answers = Partial<typeof ANSWERS & { readonly database: string }>

/** The environment has the addresses that may have a password. */
const setupAfter = (
  command: string,
  root: string,
  answers: Answers,
  ...more: ReadonlyArray<string>
) => {
  const { database = "", mail, ...others } = { ...ANSWERS, ...answers }
  const flags = Object.entries(others).map(([name, value]) => `--${name}=${value}`)
  const program = ["tools/setup.ts", `--root=${root}`, ...flags, ...more]
  const env = { SMTP_URL: mail, DATABASE_URL: database }
  return run("sh", ["-c", `${command}; exec "$0" "$@"`, NODE, ...program], env)
}

const setup = (root: string, answers: Answers = {}, ...more: ReadonlyArray<string>) =>
  setupAfter(":", root, answers, ...more)

/** Types an answer on a terminal after each question, which these words name. */
const typed = (root: string, answers: ReadonlyArray<readonly [question: string, answer: string]>) =>
  Effect.promise(async () => {
    const child = spawn("script", [
      "--quiet",
      "--return",
      "--command",
      `${NODE} tools/setup.ts --root=${root}`,
      "/dev/null"
    ], { cwd: ROOT, env: { PATH: process.env["PATH"], TERM: "xterm", ...COMPILE_CACHE } })
    const code = new Promise<number | null>((resolve) => child.once("close", resolve))
    const left = [...answers]
    let shown = ""
    for await (const chunk of child.stdout) {
      shown += String(chunk)
      const [question, answer] = left[0] ?? []
      if (question === undefined || !shown.includes(question)) continue
      shown = ""
      left.shift()
      child.stdin.write(`${answer}\r`)
    }
    return { code: await code, shown, left }
  })

const ENV = join(ROOT, ".env")

const UNIT = "etc/systemd/system/route-planning-service@.service"

const SITE = "etc/nginx/sites-available/route-planning-service"

const hasTerminal = spawnSync("script", ["--version"]).status === 0

const hasAnalyzer = spawnSync("systemd-analyze", ["--version"]).status === 0

test("gives processes that become several the Redis that they share, unless there is one", () => {
  const settings = { answers: { SETUP_PROCESSES: "2" }, defaults: { REDIS_URL: "redis://a", PORT: "1" }, secrets: {} }
  const { change, text } = envFile(Option.some("SETUP_PROCESSES=1\n"), settings)
  assert.strictEqual(text, "SETUP_PROCESSES=2\nREDIS_URL=redis://a\n")
  assert.include(change, "adds REDIS_URL\n")
  assert.include(envFile(Option.some("REDIS_URL=redis://b\n"), settings).text, "REDIS_URL=redis://b\n")
})

test("adds what a new file has to one that is empty or half written", () => {
  const settings = { answers: { A: "1", B: "2" }, defaults: { PORT: "1" }, secrets: { JWT_SECRET: "x" } }
  const whole = envFile(Option.none(), settings).text
  for (const kept of ["", whole.slice(0, whole.indexOf("B="))]) {
    assert.deepStrictEqual(parseEnv(envFile(Option.some(kept), settings).text), parseEnv(whole))
  }
  assert.notInclude(envFile(Option.some("JWT_SECRET=y\n"), settings).text, "PORT")
})

test("changes the line that Node.js reads where several have the same setting", () => {
  const settings = { answers: { A: "3" }, defaults: {}, secrets: {} }
  assert.strictEqual(envFile(Option.some("A=1\nA=2\nB=1\n"), settings).text, "A=1\nA=3\nB=1\n")
})

test.effect("names the link to the current version in the units, where there is one", () =>
  Effect.gen(function*() {
    const root = yield* temporaryDirectory
    const version = join(root, "versions/1")
    mkdirSync(version, { recursive: true })
    assert.strictEqual(servedDirectory(version), version)
    symlinkSync("versions/1", join(root, "current"))
    assert.strictEqual(servedDirectory(version), join(root, "current"))
  }))

layer(Layer.empty, { excludeTestServices: true })("npm run setup", (it) => {
  it.effect(
    "writes settings with fresh secrets that only their owner reads, and files without a placeholder",
    () =>
      Effect.gen(function*() {
        const [root, other] = [yield* temporaryDirectory, yield* temporaryDirectory]
        assert.strictEqual((yield* setup(root)).code, 0)
        assert.strictEqual((yield* setup(other)).code, 0)
        assert.strictEqual(statSync(join(root, ENV)).mode & 0o777, 0o600)
        const [settings, others] = [root, other].map((folder) => parseEnv(readFileSync(join(folder, ENV), "utf8")))
        assert.include(settings, { BASE_URL: ANSWERS.address, SIGNUP_ENABLED: "false", SMTP_URL: ANSWERS.mail })
        for (const name of ["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"]) {
          assert.match(settings?.[name] ?? "", /^[\w-]{43}$/)
          assert.notStrictEqual(settings?.[name], others?.[name])
        }
        assert.include(readFileSync(join(root, UNIT), "utf8"), `WorkingDirectory=${ROOT}\n`)
        assert.match(readFileSync(join(root, SITE), "utf8"), /server 127\.0\.0\.1:3000 .*\n.*server 127\.0\.0\.1:3001 /)
        const files = [
          UNIT,
          SITE,
          "etc/caddy/route-planning-service.caddy",
          "etc/systemd/system/route-planning-service-backup.service",
          "etc/systemd/system/route-planning-service-backup.timer"
        ].map((file) => join(root, file))
        for (const file of files) assert.notMatch(readFileSync(file, "utf8"), /\{\{|\{\$/)
      })
  )

  it.effect.skipIf(!hasTerminal)(
    "asks on a terminal for what no flag says, and before it changes a file",
    () =>
      Effect.gen(function*() {
        const root = yield* temporaryDirectory
        const first = yield* typed(root, [
          ["Address of the service", ANSWERS.address],
          ["Email address", ANSWERS.admin],
          ["SMTP server", ANSWERS.mail],
          ["Who may sign up", ""],
          ["Processes", ""],
          ["Days for which", ""]
        ])
        assert.deepInclude(first, { code: 0, left: [] })
        const text = readFileSync(join(root, ENV), "utf8")
        assert.include(parseEnv(text), { SMTP_URL: ANSWERS.mail, SIGNUP_ENABLED: "false", SETUP_KEEP_DAYS: "14" })
        const second = yield* typed(root, [
          ["Address of the service", "https://other.example.com"],
          ["Email address", ANSWERS.admin],
          ["SMTP server", ""],
          ["Who may sign up", ""],
          ["Processes", ""],
          ["Days for which", ""],
          ...[ENV, SITE, "etc/caddy/route-planning-service.caddy"].map((file) =>
            [`Change ${join(root, file)}`, ""] as const
          )
        ])
        assert.deepInclude(second, { code: 0, left: [] })
        assert.notInclude(second.shown, "written")
        assert.strictEqual(readFileSync(join(root, ENV), "utf8"), text)
      })
  )

  it.effect("takes no password by a flag, which other users see, and does not repeat it", () =>
    Effect.gen(function*() {
      const root = yield* temporaryDirectory
      for (
        const flag of ["--mail=smtp://club:canary@mail.example.com", "--database=postgres://club:canary@db/routes"]
      ) {
        const { code, stderr, stdout } = yield* setup(root, {}, flag)
        assert.strictEqual(code, 1)
        assert.match(stderr, /no password, which other users .* set (?:SMTP|DATABASE)_URL in the environment/)
        assert.notInclude(stdout + stderr, "canary")
      }
      assert.isFalse(existsSync(join(root, ENV)))
    }))

  it.effect.skipIf(!hasAnalyzer)("writes units that systemd takes", () =>
    Effect.gen(function*() {
      const root = yield* temporaryDirectory
      yield* setup(root)
      const units = ["@3000.service", "-backup.service", "-backup.timer"].map((unit) =>
        join(root, `etc/systemd/system/route-planning-service${unit}`)
      )
      const { code, stderr } = yield* run("systemd-analyze", ["verify", ...units])
      assert.strictEqual(code, 0, stderr)
    }))

  it.effect(
    "changes nothing that exists without a yes, shows the change and no secret of it, and keeps secrets",
    () =>
      Effect.gen(function*() {
        const root = yield* temporaryDirectory
        yield* setup(root)
        const before = readFileSync(join(root, ENV), "utf8")
        writeFileSync(join(root, ENV), `${before}LOG_LEVEL=debug\n`)
        const changed = { address: "https://other.example.com", mail: "smtp://club:canary2@mail.example.com:587" }
        const refused = yield* setup(root, changed)
        assert.strictEqual(refused.code, 1)
        assert.include(
          refused.stderr,
          `setup: ${join(root, ENV)} exists, and nothing was written: add --yes to change it`
        )
        assert.strictEqual(readFileSync(join(root, ENV), "utf8"), `${before}LOG_LEVEL=debug\n`)
        const agreed = yield* setup(root, changed, "--yes")
        assert.strictEqual(agreed.code, 0, agreed.stderr)
        assert.include(agreed.stdout, `changes BASE_URL from "${ANSWERS.address}" to "${changed.address}"\n`)
        assert.include(agreed.stdout, "changes SMTP_URL\n")
        assert.include(agreed.stdout, "-    server_name routes.example.com;\n+    server_name other.example.com;\n")
        assert.notInclude(agreed.stdout, "canary")
        const after = readFileSync(join(root, ENV), "utf8")
        assert.strictEqual(
          after,
          `${before}LOG_LEVEL=debug\n`.replace(ANSWERS.address, changed.address).replace(ANSWERS.mail, changed.mail)
        )
        const same = yield* setup(root, changed)
        assert.strictEqual(same.code, 0)
        assert.notInclude(same.stdout, "written")
      })
  )

  it.effect("leaves a file as it was, with its link and its secrets, where it ends while it writes", () =>
    Effect.gen(function*() {
      const root = yield* temporaryDirectory
      const kept = join(root, "kept.env")
      mkdirSync(dirname(join(root, ENV)), { recursive: true })
      symlinkSync(kept, join(root, ENV))
      yield* setup(root)
      const before = readFileSync(kept, "utf8")
      assert.include(before, "JWT_SECRET=")
      const changed = { address: "https://other.example.com" }
      // The kernel ends a process that writes more than 512 bytes into a file.
      assert.notStrictEqual((yield* setupAfter("ulimit -f 1", root, changed, "--yes")).code, 0)
      assert.strictEqual(readFileSync(kept, "utf8"), before)
      assert.strictEqual((yield* setup(root, changed, "--yes")).code, 0)
      assert.strictEqual(readFileSync(kept, "utf8"), before.replace(ANSWERS.address, changed.address))
      assert.strictEqual(statSync(kept).mode & 0o777, 0o600)
    }))

  it.effect(
    "refuses wrong answers by name, without a value that may be a secret, and writes nothing",
    () =>
      Effect.gen(function*() {
        const root = yield* temporaryDirectory
        const wrong = [
          [{ address: "http://routes.example.com" }, /^setup: address: http:\S+ is not the https address of a host/],
          [{ address: "https://routes.example.com;reboot" }, /^setup: address: \S+;reboot is not the https address/],
          [{ admin: "ada" }, /^setup: ADMIN_EMAILS\.0: Expected an email address/],
          [{ mail: "mail.example.com" }, /^setup: SMTP_URL: Expected /],
          [
            { mail: "smtp://club:canary#1@mail.example.com" },
            /^setup: SMTP_URL: has a space, quote, backslash, # or \$/
          ],
          [{ processes: "0" }, /--processes/]
        ] as const
        for (const [answers, message] of wrong) {
          const { code, stderr } = yield* setup(root, answers)
          assert.strictEqual(code, 1)
          assert.match(stderr.trim(), message)
          assert.notInclude(stderr, "canary")
        }
        assert.isFalse(existsSync(join(root, ENV)))
      })
  )

  it.effect("keeps a value in quotes that a person wrote, and writes none", () =>
    Effect.gen(function*() {
      const root = yield* temporaryDirectory
      yield* setup(root)
      const admin = "ada@example.com, bob@example.com"
      writeFileSync(
        join(root, ENV),
        readFileSync(join(root, ENV), "utf8").replace(/^(ADMIN_EMAILS)=.*/m, `$1="${admin}"`)
      )
      const { code, stderr, stdout } = yield* setup(root, { admin })
      assert.strictEqual(code, 0, stderr)
      assert.notInclude(stdout, "written")
      assert.match(
        (yield* setup(root, { admin: `${admin},eve@example.com` }, "--yes")).stderr,
        /^setup: ADMIN_EMAILS: has/
      )
    }))

  it.effect("leaves the backup of a database that is elsewhere to its host", () =>
    Effect.gen(function*() {
      const root = yield* temporaryDirectory
      const { code, stdout } = yield* setup(root, { database: "postgres://club:canary@db.example.com:5432/routes" })
      assert.strictEqual(code, 0)
      assert.include(stdout, "The database is elsewhere: back it up there.")
      assert.notInclude(stdout, "canary")
      assert.isFalse(existsSync(join(root, "etc/systemd/system/route-planning-service-backup.timer")))
    }))
})

/** A copy of the service without packages, with a `.env` and a Node.js of that version on the path. */
const copyWith = Effect.fnUntraced(function*(version: string) {
  const folder = yield* temporaryDirectory
  const bin = join(folder, "bin")
  mkdirSync(bin)
  writeFileSync(join(bin, "node"), `#!/bin/sh\necho ${version}\n`)
  yield* Effect.promise(async () => {
    await chmod(join(bin, "node"), 0o755)
    await cp(join(ROOT, "package.json"), join(folder, "package.json"))
    await cp(NODE, join(folder, "node.sh"))
  })
  return { folder, bin }
})

layer(Layer.empty, { excludeTestServices: true })("the scripts of npm", (it) => {
  it.effect("name the Node.js that is needed, in one sentence, where it is too old", () =>
    Effect.gen(function*() {
      const { bin, folder } = yield* copyWith("v20.20.2")
      const { setup, start, user } = manifest.scripts
      for (const script of [start, user, setup]) {
        const { code, stderr, stdout } = yield* run("sh", ["-c", script], {
          PATH: `${bin}:/usr/bin:/bin`
        }, folder)
        assert.strictEqual(code, 1)
        assert.strictEqual(
          stdout + stderr,
          "Node.js 24 or newer is needed, found v20.20.2: `npm ci --omit=dev` installs it for this service\n"
        )
      }
    }))

  it.effect("read settings from .env, and the environment wins", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      yield* Effect.promise(async () => {
        await mkdir(join(folder, "src"))
        await cp(join(ROOT, "package.json"), join(folder, "package.json"))
        await cp(NODE, join(folder, "node.sh"))
        await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"))
      })
      writeFileSync(join(folder, ".env"), "BASE_URL=https://file.example.com\nLOG_LEVEL=debug\n")
      const program = `console.log([process.env.BASE_URL, process.env.LOG_LEVEL].join(" "))\n`
      for (const file of ["main.ts", "user.ts"]) writeFileSync(join(folder, "src", file), program)
      for (const script of ["start", "user"]) {
        const { stdout } = yield* run("npm", ["run", "--silent", script], { LOG_LEVEL: "warn", HOME: folder }, folder)
        assert.strictEqual(stdout, "https://file.example.com warn\n")
      }
    }))
})
