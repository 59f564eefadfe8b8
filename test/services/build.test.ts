import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { commitAt } from "../../src/services/operations/Build.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

describe("the commit that runs", () => {
  it.effect("is that of the clone or of the linked work tree, and none where there is neither", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const git = (...words: ReadonlyArray<string>) =>
        execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@routes.test", ...words], {
          cwd: folder,
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"]
        }).trim()
      const at = (...path: ReadonlyArray<string>) => Option.getOrUndefined(commitAt(join(folder, ...path, ".git")))

      assert.isUndefined(at())
      git("init")
      assert.isUndefined(at())
      git("commit", "--allow-empty", "--message=One")
      git("worktree", "add", "linked")
      git("commit", "--allow-empty", "--message=Two")
      const [one, two] = [git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD")]
      assert.deepStrictEqual([at(), at("linked")], [two, one])
      git("pack-refs", "--all")
      assert.deepStrictEqual([at(), at("linked")], [two, one])
      git("checkout", "--detach", one)
      assert.strictEqual(at(), one)
    }).pipe(Effect.scoped))
})
