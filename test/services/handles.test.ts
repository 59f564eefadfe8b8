import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { randomnessLive } from "../../src/layers/Live.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { Handles, Pseudonyms } from "../../src/services/identity/Names.ts"
import { SECRETS } from "../support/TestServer.ts"

const names = Layer.merge(Layer.provide(Handles.layer, randomnessLive), Pseudonyms.layer).pipe(
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(SECRETS)))
)

layer(names)("what stands for a user", (it) => {
  it.effect("is first a handle of the name, else of the address, of 3 to 30 characters", () =>
    Effect.gen(function*() {
      const handles = yield* Handles
      const cases = [
        ["Ada Lovelace", "x@example.com", "ada-lovelace"],
        ["--Zoë  Ürz!", "x@example.com", "zoe-urz"],
        ["Ada", "x@example.com", "ada"],
        ["Al", "grace.h@example.com", "grace-h"],
        ["Me", "profile@example.com", "rider"],
        ["Profile", "grace@example.com", "grace"],
        ["a".repeat(31), "x@example.com", "a".repeat(30)],
        [`${"a".repeat(29)} b`, "x@example.com", "a".repeat(29)]
      ] as const
      for (const [name, email, expected] of cases) {
        assert.strictEqual(yield* handles.suggest({ name, email }, 0), expected)
      }
    }))

  it.effect("is then the start of that handle with five random letters and digits", () =>
    Effect.gen(function*() {
      const handles = yield* Handles
      const suggested = yield* Effect.replicateEffect(
        handles.suggest({ name: "a".repeat(40), email: "x@x.ch" }, 1),
        200
      )
      for (const handle of suggested) assert.match(handle, /^a{24}-[a-z0-9]{5}$/)
      assert.lengthOf(new Set(suggested.map((handle) => handle.slice(-5)).join("")), 36)
    }))

  it.effect("is for analytics the start of an HMAC-SHA-256 of the id", () =>
    Effect.gen(function*() {
      const { idHash } = yield* Pseudonyms
      // Computed by hmac of Python.
      for (let times = 0; times < 2; times++) {
        assert.strictEqual(idHash(UserId.make(7)), "cb21d721cffcdf3d378d6c788487d12f")
      }
    }))
})
