import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { join } from "node:path"
import { jsonLogger } from "../../src/layers/Logging.ts"
import { signedIn } from "../support/Actors.ts"
import { archiveOf, imported } from "../support/Archives.ts"
import { keepTemporaryIn, ownTemporaryDirectory } from "../support/OwnTemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

const logged: Array<string> = []

const recording = Logger.layer([Logger.map(jsonLogger, (line) => logged.push(line))])

layer(TestServer.layer().pipe(Layer.provideMerge(recording)))("an import that the disk has no room for", (it) => {
  it.effect("is 503 in the one shape and logged once, and may be repeated when there is room", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const archive = yield* archiveOf(rider)
      const directory = yield* ownTemporaryDirectory
      // Root may write everywhere, but not into what is not there.
      const { body, status } = yield* Effect.scoped(
        Effect.andThen(keepTemporaryIn(join(directory, "missing")), imported(rider, archive))
      )
      assert.strictEqual(status, 503)
      assert.deepInclude(body, {
        statusCode: 503,
        code: "INTERNAL",
        message: "There is no room for an upload now: try again later"
      })
      const errors = logged.filter((line) => line.includes("\"ERROR\""))
      assert.strictEqual(errors.length, 1)
      assert.include(errors[0], "the upload was not written")
      assert.include(errors[0], "ENOENT")
      assert.strictEqual((yield* imported(rider, archive)).status, 201)
    }))
})
