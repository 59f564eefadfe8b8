import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { signedIn } from "../support/Actors.ts"
import { publish } from "../support/PublicRoutes.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

layer(TestServer.layer())("boxes whose area is less than the least double", (it) => {
  it.effect("keep nobody from publishing", () =>
    Effect.gen(function*() {
      const mallory = yield* signedIn
      const rider = yield* signedIn
      for (let n = 1; n <= 5; n++) {
        const operations = Array.from({ length: 100 }, (_, k) => ({
          op: "create",
          route: newRoute({ visibility: "public", geometry: [[0, 0], [1e-200 * (k + 1), 1e-200 * n]] })
        }))
        const { status } = yield* mallory.post("/routes/batch", { operations })
        assert.strictEqual(status, 200)
      }
      yield* publish(rider, {})
    }))
})
