import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { residentMemory } from "../../bench/processes.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { monitoredProgram } from "../support/MonitoredProgram.ts"
import { newRoute } from "../support/Routes.ts"
import { until, within } from "../support/Waiting.ts"

const POSITIONS = 1500
const ROUTES = 100
const LISTS = 24
const AT_ONCE = 8

/** What the load adds to the memory of the process, in MiB, and how much of that may remain. */
const GROWTH = 80
const REMAINING = 64

/** Ten seconds idle, and the collection. What V8 gives back by itself is less. */
const MOST_MILLIS = 20_000

const geometry = Array.from({ length: POSITIONS }, (_, n) => [9 + n / POSITIONS, 47 + Math.sin(n / 999)])

layer(MailProvider.layer(0), { excludeTestServices: true, timeout: "60 seconds" })("memory", (it) => {
  it.effect("of a load is given back to the system when it ends", () =>
    Effect.gen(function*() {
      const { process, rider } = yield* monitoredProgram(1024)
      const before = yield* residentMemory(process.pid)
      for (let route = 0; route < ROUTES; route++) {
        assert.strictEqual((yield* rider.post("/routes", newRoute({ geometry }))).status, 201)
      }
      const list = Effect.map(rider.get(`/routes?limit=${ROUTES}`), ({ status }) => assert.strictEqual(status, 200))
      yield* Effect.replicateEffect(list, LISTS, { concurrency: AT_ONCE, discard: true })
      const after = yield* residentMemory(process.pid)
      assert.isAbove(after, before + GROWTH)
      const isReleased = Effect.map(residentMemory(process.pid), (now) => now < before + REMAINING)
      yield* within(MOST_MILLIS)(until(isReleased))
    }))
})
