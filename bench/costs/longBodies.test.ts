import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agent } from "node:http"
import { newRoute } from "../../test/support/Routes.ts"
import { ask } from "../load.ts"
import { forgetPeak, peakMemory, residentMemory, service } from "../processes.ts"
import { database, seed, signedIn } from "../seed.ts"

const MIB = 1024 * 1024

const UPLOADS = 40

it.live(
  "forty bodies of 8 MiB at once take less memory than they are long, and those beyond BODY_MEMORY_BUDGET are refused",
  () =>
    Effect.gen(function*() {
      const url = yield* database
      const { origin, pid } = yield* service(url, { BODY_MEMORY_BUDGET: "64 MiB" })
      yield* seed(url)
      const route = JSON.stringify(newRoute({}))
      const upload = {
        url: `${origin}/api/v1/routes`,
        method: "POST" as const,
        headers: { ...yield* signedIn(origin, "bench@example.com"), "content-type": "application/json" },
        body: Buffer.from(route + " ".repeat(8 * MIB - route.length))
      }
      const agent = new Agent()
      yield* forgetPeak(pid)
      const before = yield* residentMemory(pid)
      const outcomes = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: UPLOADS }, () => ask(agent, upload)))
      )
      const mib = (yield* peakMemory(pid)) - before
      yield* Effect.log(`${UPLOADS} bodies of 8 MiB: ${mib.toFixed(0)} MiB more`)
      const refused = outcomes.filter(({ status }) => status === 429 || status === 503)
      assert.isNotEmpty(outcomes.filter(({ status }) => status === 201))
      assert.isNotEmpty(refused)
      assert.isTrue(refused.every(({ retryAfter }) => Number(retryAfter) > 0))
      assert.isBelow(mib, UPLOADS * 8)
      assert.strictEqual((yield* Effect.promise(() => ask(agent, upload))).status, 201)
      agent.destroy()
    }),
  120_000
)
