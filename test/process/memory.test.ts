import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { residentMemory } from "../../bench/processes.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { monitoredProgram } from "../support/MonitoredProgram.ts"
import { newRoute } from "../support/Routes.ts"
import { until, within } from "../support/Waiting.ts"

const POSITIONS = 3000
const ROUTES = 100
const LISTS = 48
const AT_ONCE = 8

/** What the load adds to the memory of the process at least, in MiB, and which share of what it added may remain. */
const GROWTH = 80
const REMAINING = 0.65

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
      // This form is text, which fills V8's heap.
      const path = `/routes?limit=${ROUTES}&geometry=polyline6`
      const list = Effect.map(rider.get(path), ({ status }) => assert.strictEqual(status, 200))
      yield* Effect.replicateEffect(list, LISTS, { concurrency: AT_ONCE, discard: true })
      const after = yield* residentMemory(process.pid)
      assert.isAbove(after, before + GROWTH)
      const most = before + REMAINING * (after - before)
      const isReleased = Effect.map(residentMemory(process.pid), (now) => now < most)
      yield* within(MOST_MILLIS)(until(isReleased))
    }))
})
