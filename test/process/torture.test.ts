import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Reply } from "../../torture/ask.ts"
import { FAULTS } from "../../torture/faults.ts"
import { ledgerAt } from "../../torture/ledger.ts"
import { operationsOf } from "../../torture/operations.ts"
import { optionsOf } from "../../torture/options.ts"
import { makeRecorder } from "../../torture/recorder.ts"
import { isHeld, tableOf } from "../../torture/table.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const reply = (status: number): Reply => ({
  status,
  text: "",
  headers: {},
  failure: status === 0 ? "ECONNREFUSED" : ""
})

const outcome = {
  rounds: 1,
  requests: 2,
  lost: 0,
  twice: 0,
  wrong: new Map<string, number>(),
  late: new Map<string, number>()
}

describe("npm run torture", () => {
  it.effect("has a write in the ledger on the disk before the client goes on", () =>
    Effect.gen(function*() {
      const path = join(yield* temporaryDirectory, "ledger.jsonl")
      const { append, read } = yield* ledgerAt(path)
      const entry = { name: "a~1", endpoint: "routes", account: 1 } as const
      yield* append([{ kind: "intent", ...entry }])
      assert.include(yield* Effect.promise(() => readFile(path, "utf8")), `"kind":"intent"`)
      yield* append([{ kind: "acknowledged", id: 7, ...entry }])
      yield* append([{ kind: "intent", ...entry, name: "b~1" }])
      assert.deepStrictEqual(yield* read("a~"), [
        { kind: "intent", ...entry },
        { kind: "acknowledged", id: 7, ...entry }
      ])
    }))

  it.effect("counts refusals as failures, and as wrong statuses that are never allowed and a 503 that does not say when to ask again", () =>
    Effect.gen(function*() {
      const recorder = makeRecorder()
      for (const status of [200, 503, 0, 409, 500]) yield* recorder.watch(Effect.succeed(reply(status)), "GET /")
      assert.strictEqual(recorder.requests(), 5)
      assert.strictEqual(recorder.refused(), 2)
      assert.deepStrictEqual([...recorder.wrong], [["GET /: 503 without Retry-After", 1], ["GET /: 500 ", 1]])
    }))

  it("does the same operations again for the same seed", () => {
    assert.deepStrictEqual(operationsOf(7, 2, 50), operationsOf(7, 2, 50))
    assert.notDeepEqual(operationsOf(7, 2, 50), operationsOf(8, 2, 50))
  })

  it("takes three minutes in its short form, and names an option that it cannot read", () => {
    assert.deepInclude(optionsOf(["--short"]), { isShort: true, minutes: 3 })
    assert.deepInclude(optionsOf(["--only", "reset", "--minutes", "120"]), {
      only: ["reset"],
      minutes: 120,
      isShort: false
    })
    assert.throws(() => optionsOf(["--rounds", "many"]), /--rounds: found "many"/)
  })

  it("fails for a row that was lost, stored twice or wrong, and not for one that was skipped", () => {
    const line = (changed: object) => ({ key: "key", title: "a fault", outcome: { ...outcome, ...changed } })
    assert.isTrue(isHeld(line({}), "full"))
    assert.isFalse(isHeld(line({ lost: 1 }), "full"))
    assert.isFalse(isHeld(line({ twice: 1 }), "full"))
    assert.isFalse(isHeld(line({ wrong: new Map([["500", 1]]) }), "short"))
    const late = line({ late: new Map([["no response in time", 1]]) })
    assert.deepStrictEqual([isHeld(late, "short"), isHeld(late, "full")], [true, false])
    assert.isTrue(isHeld({ key: "key", title: "a fault", outcome: { skipped: "no root" } }, "full"))
    assert.include(
      tableOf([line({ recovery: 1500 })]),
      "| a fault | 1      | 2        | 0    | 0     | 0     | 0    | -              | 1.50 s"
    )
  })

  it("has a line of docs/reliability.md for each fault", () => {
    const document = readFileSync(join(import.meta.dirname, "../../docs/reliability.md"), "utf8")
    assert.strictEqual(new Set(FAULTS.map(({ key }) => key)).size, FAULTS.length)
    // The failovers are one line and a table of their own.
    const lines = FAULTS.map(({ key }) => key.replace(/^failover-.+/, "failover-*"))
    assert.deepStrictEqual(lines.filter((key) => !document.includes(`| \`${key}\` |`)), [])
  })
})
