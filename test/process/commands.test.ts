import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { createServer } from "node:http"
import { clonedDatabase } from "../support/Databases.ts"
import { listening } from "../support/Listening.ts"
import { runProgram } from "../support/Programs.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

/** Returns the lines that a command ends with, without the time of day. */
const linesOf = Effect.fnUntraced(
  function*(file: string, env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) {
    const { code, output } = yield* runProgram(file, env, ...args)
    assert.strictEqual(code, 1, output)
    return output.trim().split("\n").map((line) => line.replace(/^\S+ /, ""))
  }
)

const FOR_USER = { DATABASE_URL: "postgres://service:canary@127.0.0.1:1/none", JWT_SECRET: "j".repeat(32) }

describe("a command that fails ends with 1 and says why in one line, without a stack", () => {
  const cases: ReadonlyArray<readonly [title: string, Effect.Effect<ReadonlyArray<string>>, expected: string]> = [
    [
      "npm run user without settings, which are all named",
      linesOf("src/user.ts", { LOG_FORMAT: "xml" }, "create", "ada@example.com"),
      "FATAL DATABASE_URL is missing; JWT_SECRET is missing; LOG_FORMAT: Expected one of json, pretty"
    ],
    [
      "npm run user with an unknown command",
      linesOf("src/user.ts", FOR_USER, "delete", "ada@example.com"),
      "FATAL delete: Unknown command, expected npm run user -- create <email>"
    ],
    [
      "npm run user without an address",
      linesOf("src/user.ts", FOR_USER, "create"),
      "FATAL Expected the email address of the account: npm run user -- create <email>"
    ],
    [
      "npm run user with what is no address",
      linesOf("src/user.ts", FOR_USER, "create", "ada"),
      "FATAL ada: Expected an email address: npm run user -- create <email>"
    ],
    [
      "npm run demo without a server",
      linesOf("development/demo.ts", { BASE_URL: "http://127.0.0.1:1" }),
      `FATAL No server responds at http://127.0.0.1:1/: start one by "npm run dev", or set BASE_URL to yours`
    ],
    [
      "npm run demo with malformed settings, which are all named",
      linesOf("development/demo.ts", { BASE_URL: "canary", LOG_FORMAT: "xml" }),
      "FATAL BASE_URL: Expected a valid URL string (for example BASE_URL=https://routes.example.com); "
      + "LOG_FORMAT: Expected one of json, pretty"
    ],
    [
      "npm run engine on a port that fetch refuses",
      linesOf("development/engine.ts", { ENGINE_PORT: "4190", LOG_FORMAT: "xml" }, "/dev/null"),
      "FATAL ENGINE_PORT: Expected a port that fetch does not refuse (for example ENGINE_PORT=8002); "
      + "LOG_FORMAT: Expected one of json, pretty"
    ],
    [
      "npm run engine without an extract",
      linesOf("development/engine.ts", {}),
      "FATAL Expected a file of OpenStreetMap data: npm run engine -- <file.osm.pbf>"
    ]
  ]
  for (const [title, lines, expected] of cases) {
    it.live(title, () => Effect.map(lines, (lines) => assert.deepStrictEqual(lines, [expected])))
  }

  it.live("npm run user while the database is away", () =>
    Effect.gen(function*() {
      const lines = yield* linesOf(
        "src/user.ts",
        { ...FOR_USER, DATABASE_WAIT: "300 millis" },
        "create",
        "a@example.com"
      )
      const [waiting, reason = ""] = lines
      assert.match(waiting ?? "", /^WARN database not reachable, waiting longest=300ms reason=.*ECONNREFUSED/)
      assert.match(reason, /^FATAL The database was not reachable within 300ms: .*ECONNREFUSED 127\.0\.0\.1:1$/)
      assert.lengthOf(lines, 2)
    }))

  it.live("npm run user for an address that has an account", () =>
    Effect.gen(function*() {
      const url = yield* clonedDatabase
      const { code } = yield* runProgram("src/user.ts", { ...FOR_USER, DATABASE_URL: url }, "create", "a@example.com")
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(
        yield* linesOf("src/user.ts", { ...FOR_USER, DATABASE_URL: url }, "create", "A@example.com"),
        [
          "FATAL A@example.com has an account: POST /api/v1/auth/request-password-reset mails a link for a new password"
        ]
      )
    }).pipe(Effect.scoped))

  it.live(
    "npm run demo with a server that is another, or has closed sign-ups, or keeps its mails elsewhere",
    () =>
      Effect.gen(function*() {
        const other = yield* listening(createServer((_request, response) => response.end("<html>")))
        const closed = yield* Layer.build(TestServer.layer({ SIGNUP_ENABLED: "false" }))
        const open = yield* Layer.build(TestServer.layer())
        const directory = yield* temporaryDirectory
        const lines = yield* Effect.forEach(
          [
            `http://127.0.0.1:${other}`,
            Context.get(closed, TestServer).origin,
            Context.get(open, TestServer).origin
          ],
          (BASE_URL) => linesOf("development/demo.ts", { BASE_URL, DATA_DIR: directory }),
          { concurrency: 3 }
        )
        const [atOther, atClosed, atOpen] = lines.map((all) =>
          all.filter((line) => /^(FATAL|\s+at )/.test(line)).join()
        )
        assert.strictEqual(
          atOther,
          `FATAL sign up: http://127.0.0.1:${other}/ does not respond as this service does: set BASE_URL to one of this version`
        )
        assert.match(atClosed ?? "", /^FATAL sign up: http:\S+ responded with 403: /)
        assert.include(atOpen, `FATAL ${directory}/mailbox.log has no mail to demo-`)
      }).pipe(Effect.scoped)
  )
})
