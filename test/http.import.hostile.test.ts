import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { signedIn } from "./support/Actors.ts"
import { exported, imported, issuesOf, sealed, unzipped } from "./support/Archives.ts"
import { newRoute } from "./support/Routes.ts"
import { TestServer } from "./support/TestServer.ts"

const MIB = 1024 * 1024

/** Somebody with an archive of one route, unpacked. */
const attacker = Effect.gen(function*() {
  const rider = yield* signedIn
  yield* rider.post("/routes", newRoute({ name: "first" }))
  return { rider, files: yield* unzipped((yield* exported(rider)).bytes) }
})

/** How long something took that should take no time to speak of. */
const timed = Effect.fnUntraced(function*<A>(call: Effect.Effect<A>) {
  const begun = performance.now()
  return { answer: yield* call, millis: performance.now() - begun }
})

layer(TestServer.layer())("a hostile archive", (it) => {
  it.effect("of nothing but line feeds is refused at the first of them", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const bytes = yield* sealed({ ...files, "routes.json": "[" + "\n".repeat(16 * MIB) })
      const { answer, millis } = yield* timed(imported(rider, bytes))
      assert.deepStrictEqual(issuesOf(answer.body), [{ path: "routes.json:2", message: "Expected an element" }])
      assert.isBelow(millis, 5000)
    }))

  it.effect("with more elements than it says is refused at the first of them", () =>
    Effect.gen(function*() {
      const { files, rider } = yield* attacker
      const [, first] = (files["routes.json"] ?? "").split("\n")
      const bytes = yield* sealed({ ...files, "routes.json": `[\n${first},\n${"{},\n".repeat(MIB)}` })
      const message = "Expected 1 elements, as the manifest says"
      assert.deepStrictEqual(issuesOf((yield* imported(rider, bytes)).body), [{ path: "routes.json:3", message }])
    }))
})
