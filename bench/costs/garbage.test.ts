import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { figuresOf, monitoredWith } from "../../test/support/MonitoredProcess.ts"
import { newRoute } from "../../test/support/Routes.ts"
import { ask, connected } from "../load.ts"
import { post, seeded } from "../seed.ts"

/** The requests are many, so that the compiled code of the first ones and collections in between count little. */
const REQUESTS = 3000

const AT_ONCE = 10

/** This many KiB become old with each request: 0.4 if nothing keeps what a request no longer needs, else 2.5 to 11. */
const MOST_AGED = 1.5

it.live("garbage of a request is collected soon after it", () =>
  Effect.gen(function*() {
    const server = yield* seeded({ ...monitoredWith(512), LOG_LEVEL: "error", TELEMETRY_ENABLED: "false" })
    const api = `${server.origin}/api/v1/routes`
    const body = newRoute({ visibility: "public" })
    const { id } = yield* post(api, server.session, body, Schema.Struct({ id: Schema.Int }))
    const agent = yield* Effect.promise(() => connected(new URL(server.origin), AT_ONCE))
    const read = Effect.promise(async () => assert.strictEqual((await ask(agent, { url: `${api}/${id}` })).status, 200))
    const reads = Effect.replicateEffect(read, REQUESTS, { concurrency: AT_ONCE, discard: true })
    yield* reads
    yield* figuresOf(server)
    yield* reads
    const { aged } = yield* figuresOf(server)
    agent.destroy()
    yield* Effect.log(`${(1024 * aged / REQUESTS).toFixed(2)} KiB a request`)
    assert.isBelow(1024 * aged / REQUESTS, MOST_AGED)
  }), 60_000)
