import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agent } from "node:http"
import { newRoute } from "../../test/support/Routes.ts"
import { ask } from "../load.ts"
import { costOf } from "../processes.ts"
import { JSON_TYPE, seeded } from "../seed.ts"

const MIB = 1024 * 1024

const UPLOADS = 40

it.live(
  "forty bodies of 8 MiB at once take less memory than they are long, and those beyond BODY_MEMORY_BUDGET are refused",
  () =>
    Effect.gen(function*() {
      const { origin, session, ...server } = yield* seeded({ BODY_MEMORY_BUDGET: "64 MiB" })
      const route = JSON.stringify(newRoute({}))
      const upload = {
        url: `${origin}/api/v1/routes`,
        method: "POST" as const,
        headers: { ...session, ...JSON_TYPE },
        body: Buffer.from(route + " ".repeat(8 * MIB - route.length))
      }
      const agent = new Agent()
      const uploads = Effect.promise(() => Promise.all(Array.from({ length: UPLOADS }, () => ask(agent, upload))))
      const { growth: mib, result: outcomes } = yield* costOf(server, uploads)
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
