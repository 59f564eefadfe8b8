import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { DEVELOPMENT, replica } from "../support/Replica.ts"
import { StandInEngine } from "../support/StandInEngine.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { until } from "../support/Waiting.ts"

const ROOT = join(import.meta.dirname, "../..")

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8")

const documents = globSync(["*.md", "{docs,deploy,packages}/**/*.md"], { cwd: ROOT, exclude: ["**/node_modules"] })

/** Returns the blocks of commands of a document. */
const blocksOf = (document: string) =>
  [...textOf(document).matchAll(/^```(?:sh|bash)\n([^]*?)^```$/gm)].map(([, block = ""]) => block)

/**
 * Returns the commands that a document has in the midst of sentences. Those of npm are scripts of package.json, and
 * checked below.
 */
const sentencesOf = (document: string) =>
  [...textOf(document).replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`]+)`/g)].map(([, command = ""]) =>
    command.replaceAll(/\s+/g, " ")
  )
    .filter((command) =>
      /^(?:docker|buildah|curl|psql|systemctl|redis-cli|journalctl|kubectl|pgbouncer|openssl|\/opt\/\S+) \S/.test(
        command
      )
    )

const HERE = "test/process/documentedCommands.test.ts"

/** Each runner is the test or script that runs the commands of a document that have these words. */
const RUNNERS: ReadonlyArray<readonly [document: string, words: RegExp, runner: string]> = [
  ["README.md", /npm ci && npm run dev/, ".ci/run"],
  ["README.md", /api=|api\/auth\/tokens/, HERE],
  ["docs/api.md", /\$api\//, HERE],
  ["deploy/README.md", /^docker|docker compose/, "checks/compose/run.sh"],
  ["deploy/README.md", /^buildah build/, "checks/image.sh"],
  ["deploy/README.md", /kubectl/, "checks/kubernetes/run.sh"],
  ["deploy/ha/README.md", /./, "checks/ha.sh"],
  ["docs/guides/a-nightly-backup.md", /backup\.mjs/, "test/process/guides.test.ts"],
  ["docs/guides/moving.md", /move\.mjs/, "test/process/guides.test.ts"],
  ["docs/hosting.md", /./, "checks/hosting.sh"],
  ["docs/operations.md", /pg_dump/, "test/process/backup.test.ts"],
  ["docs/operations.md", /^docker compose exec service|^openssl rand/, "checks/compose/run.sh"],
  ["docs/reliability.md", /npm run torture/, "test/process/torture.test.ts"],
  ["docs/runbook.md", /^(?!systemctl|redis-cli|\/opt\/patroni)/, HERE],
  ["docs/runbook.md", /^(?:systemctl status|redis-cli) /, "checks/hosting.sh"],
  ["docs/runbook.md", /^\/opt\/patroni/, "checks/ha.sh"],
  ["docs/upgrading.md", /./, "checks/hosting.sh"],
  ["packages/cli/README.md", /^rps /, "test/http/packages.cli.test.ts"]
]

const all = documents.flatMap((document) =>
  [...blocksOf(document), ...sentencesOf(document)].map((block) => ({ document, block }))
)

const fits = ({ block, document }: (typeof all)[number]) => ([name, words]: readonly [string, RegExp, string]) =>
  name === document && words.test(block)

describe("the commands of documents", () => {
  it("are run by a test or a script each", () => {
    assert.isAbove(all.length, 20)
    const unknown = all.filter((each) => RUNNERS.filter(fits(each)).length !== 1)
    assert.deepStrictEqual(unknown.map(({ block, document }) => `${document}: ${block.split("\n")[0] ?? ""}`), [])
  })

  it("have runners that are there, and no runner without commands", () => {
    const known = RUNNERS.filter(([document]) => existsSync(join(ROOT, document)))
    assert.deepStrictEqual(known.filter((runner) => !all.some((each) => fits(each)(runner))).map(([name]) => name), [])
    const runners = RUNNERS.filter(([document]) => existsSync(join(ROOT, document))).map(([, , runner]) => runner)
    assert.deepStrictEqual(runners.filter((runner) => !existsSync(join(ROOT, runner))), [])
  })
})

describe("the scripts that documents name", () => {
  it("are in package.json", () => {
    const Manifest = Schema.Struct({ scripts: Schema.Record(Schema.String, Schema.String) })
    const { scripts } = Schema.decodeUnknownSync(Schema.fromJsonString(Manifest))(textOf("package.json"))
    const named = documents.flatMap((document) =>
      [...textOf(document).matchAll(/npm run (?:--silent )?([\w:]+)\b(?!:)/g)].map(([, name = ""]) => name)
    )
    assert.isAbove(named.length, 30)
    assert.deepStrictEqual(named.filter((name) => !(name in scripts)), [])
  })
})

/** Tests promote standbys by `test/support/Cluster.ts`: the database of this one has none. */
const PROMOTE = "SELECT pg_promote()"

/** Documents have this SQL in the midst of sentences. No process has the number 0. */
const statements = ["docs/runbook.md", "docs/operations.md"].flatMap((document) =>
  [...textOf(document).matchAll(/`((?:SELECT|UPDATE|TRUNCATE|REINDEX|ALTER)\s[^`]+)`/g)].map(([, sql = ""]) =>
    sql.replaceAll(/\s+/g, " ").replaceAll("PID", "0")
  )
)

/** The blocks of SQL change a role that the end of the transaction drops. */
const roleChanges = [...textOf("docs/operations.md").matchAll(/^```sql\n([^]*?)^```$/gm)].map(([, sql = ""]) =>
  `BEGIN; CREATE ROLE documented; ${
    sql.replaceAll(/(?<=ROLE |TO )service/g, "documented").replaceAll("\n", " ")
  } ROLLBACK`
)

/** Runs a script as a reader does who has pasted it. */
const shell = (script: string, cwd: string, env: Readonly<Record<string, string>>) =>
  Effect.callback<string>((resume) => {
    execFile("bash", ["-euc", script], { cwd, env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resume(
        error === null
          ? Effect.succeed(stdout)
          : Effect.die(new Error(`${script}\n${stdout}${stderr}`, { cause: error }))
      )
    })
  })

const metricsIn = (text: string) => [...new Set(text.split("\n").map((line) => /^\w+/.exec(line)?.[0] ?? ""))]

/** Returns the metrics of the example that follows a block. */
const metricsAfter = (document: string, block: string) => {
  const [, example] = textOf(document).split(`\`\`\`sh\n${block}\`\`\`\n\n\`\`\`\n`)
  return example === undefined || !/metrics \| grep/.test(block) ? [] : metricsIn(example.split("```")[0] ?? "")
}

const Line = Schema.fromJsonString(Schema.Struct({
  traceId: Schema.String,
  annotations: Schema.Struct({ idHash: Schema.String, status: Schema.Int })
}))

/** Finds a request of an account that was refused. */
const refusedIn = (log: string) =>
  log.split("\n").flatMap((line) => Option.toArray(Schema.decodeOption(Line)(line)))
    .find(({ annotations }) => annotations.status >= 400)

/** Runs a provider whose certificate is of its own making. */
const PROVIDER =
  `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=provider -keyout key.pem -out certificate.pem
openssl s_server -accept 127.0.0.1:$PROVIDER -key key.pem -cert certificate.pem -www > /dev/null 2>&1 &
trap "kill $!" EXIT
until openssl s_client -connect 127.0.0.1:$PROVIDER < /dev/null > /dev/null 2>&1; do sleep 0.1; done`

const hasPrograms = ["jq", "psql", "curl", "openssl"].every((name) =>
  spawnSync(name, ["--version"]).error === undefined
)

describe.skipIf(!hasPrograms)(
  "the commands of the README, the API and the runbook (which need jq, psql, curl and openssl)",
  () => {
    it.live("lead from a sign-up to a page, do what they say, and find what was refused", () =>
      Effect.gen(function*() {
        const folder = yield* temporaryDirectory
        for (const name of ["examples", "node_modules"]) symlinkSync(join(ROOT, name), join(folder, name))
        const gpx =
          `<gpx version="1.1"><rte><name>x</name><rtept lat="47" lon="9"/><rtept lat="48" lon="9"/></rte></gpx>`
        writeFileSync(join(folder, "ride.gpx"), gpx)
        const url = yield* clonedDatabase
        const program = yield* replica(
          {
            DATABASE_URL: url,
            DATA_DIR: join(folder, ".data"),
            NODE_ENV: "development",
            LOG_FORMAT: "json",
            SHUTDOWN_DRAIN_DELAY: "0 seconds"
          },
          undefined,
          DEVELOPMENT
        )
        yield* program.ready
        const provider = yield* Effect.promise(() => freePort())
        const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}`, DATABASE_URL: url, PROVIDER: `${provider}` }
        const { host } = new URL(program.server.origin)
        const run = (script: string) =>
          shell(script.replaceAll(/(?<=\/\/|curl -s )(?:localhost|127\.0\.0\.1):3000/g, host), folder, env)

        const [, ...steps] = blocksOf("README.md")
        const said = yield* run(steps.join("\n").replace("rider-$RANDOM@example.com", "ada@example.com"))
        const page = /Open this in a browser: (http\S+\/r\/[0-9a-f]{32})/.exec(said)?.[1] ?? ""
        assert.include(yield* Effect.promise(() => fetch(page).then((response) => response.text())), "Around Vaduz")
        assert.include(said, "stored Around Vaduz as ")

        const called = yield* run(blocksOf("docs/api.md").join("\n"))
        assert.include(called, `"name":"x"`)
        // There is no route 12 to change, and no engine.
        assert.notMatch(called, /"statusCode":(?!404|50[234])/)

        // Lines are written together, the last one after the commands have ended.
        yield* until(Effect.sync(() => /"status":50[234]/.test(program.output())))
        const refused = refusedIn(program.output())
        writeFileSync(join(folder, "log"), program.output())
        writeFileSync(join(folder, "journalctl"), `#!/bin/sh\ncat ${join(folder, "log")}\n`, { mode: 0o755 })
        assert.include(statements, PROMOTE)
        assert.include(textOf("test/support/Cluster.ts"), PROMOTE)
        const local = statements.filter((sql) => sql !== PROMOTE)
        assert.isAbove(local.length, 8)
        assert.strictEqual(roleChanges.length, 2)
        const engine = yield* StandInEngine
        const calls = sentencesOf("docs/runbook.md").filter((command) => /^(?:psql|curl) /.test(command))
        assert.strictEqual(calls.length, 2)
        for (const call of calls) {
          assert.notStrictEqual((yield* run(`ROUTING_ENGINE_URL=${engine.url}\n${call}`)).trim(), "", call)
        }
        const open = local.find((sql) => sql.includes("xact_start"))?.replace("1 minute", "1 millisecond") ?? ""
        yield* run(`PGAPPNAME=holder psql "$DATABASE_URL" -c "BEGIN" -c "SELECT pg_sleep(60)" & trap "kill $!" EXIT
          until psql "$DATABASE_URL" -c ${JSON.stringify(open)} | grep holder; do sleep 0.1; done`)
        for (const sql of [...local, ...roleChanges]) {
          yield* run(`psql "$DATABASE_URL" --set=ON_ERROR_STOP=1 -c ${JSON.stringify(sql)}`)
        }

        for (const block of blocksOf("docs/runbook.md")) {
          const own = block.replace(/^openssl.*:443/, `${PROVIDER}\nopenssl s_client -connect 127.0.0.1:$PROVIDER`)
            .replaceAll(/traceId == "\w+"/g, `traceId == "${refused?.traceId}"`)
            .replaceAll(/idHash == "\w+"/g, `idHash == "${refused?.annotations.idHash}"`)
          const printed = yield* run(own)
          assert.notStrictEqual(printed.trim(), "", block)
          const shown = metricsAfter("docs/runbook.md", block)
          if (shown.length > 0) assert.deepStrictEqual(metricsIn(printed), shown)
        }
      }).pipe(Effect.provide(StandInEngine.layer), Effect.scoped))
  }
)
