import { Effect, Fiber, Schema } from "effect"
import * as fc from "fast-check"
import { accounts } from "../accounts.ts"
import type { Fault } from "../fault.ts"
import { emptyModel } from "../model.ts"
import { comparison } from "../modelComparison.ts"
import { client, operationsOf } from "../operations.ts"
import { queryAt } from "../postgres.ts"
import { healed, type World } from "../world.ts"

const CLIENTS = 10

const LENGTH = { short: 60, full: 400 }

const EVERY = { short: 1000, full: 2500 }

const DISTURBANCES: ReadonlyArray<(world: World) => Effect.Effect<unknown>> = [
  ({ service }) => service.restart,
  ({ network }) => Effect.andThen(network.become("reset"), network.become("pass")),
  ({ postgres }) => Effect.andThen(postgres.kill, postgres.start),
  ({ postgres }) => postgres.stop.pipe(Effect.andThen(Effect.sleep("1500 millis")), Effect.andThen(postgres.resume))
]

/** The disturbances are more than the fault has time for. */
const disturbances = (seed: number) => fc.sample(fc.constantFrom(...DISTURBANCES), { seed, numRuns: 1000 })

const COUNTERS = `
  SELECT
    (SELECT count(*)::int FROM route_usage u
     WHERE u.routes <> (SELECT count(*) FROM routes r WHERE r.user_id = u.user_id)) AS routes,
    (SELECT count(*)::int FROM route_usage u
     WHERE u.live_routes <> (SELECT count(*) FROM routes r WHERE r.user_id = u.user_id AND r.deleted_at IS NULL)) AS live,
    (SELECT count(*)::int FROM collection_usage u
     WHERE u.collections <> (SELECT count(*) FROM collections c WHERE c.user_id = u.user_id AND c.deleted_at IS NULL)
    ) AS collections,
    (SELECT count(*)::int FROM (
       SELECT name FROM (SELECT name FROM routes UNION ALL SELECT name FROM collections) AS named
       WHERE starts_with(name, $1) GROUP BY name HAVING count(*) > 1) AS doubled) AS twice`

const Counters = Schema.Tuple([
  Schema.Struct({ routes: Schema.Int, live: Schema.Int, collections: Schema.Int, twice: Schema.Int })
])

/** Ten clients do random operations through random faults; their lists are compared with a model at the end. */
export const randomOperations: Fault = {
  key: "model",
  title: "random operations of ten clients, by a model",
  run: Effect.fnUntraced(function*(run) {
    const { form, prefix, recorder, seed } = run
    const world = yield* run.world
    const { ask, postgres, service } = world
    const model = emptyModel()
    const people = yield* accounts(postgres.url(), service.origin, "model", CLIENTS)
    const lists = operationsOf(seed, CLIENTS, LENGTH[form])
    const state = { disturbed: 0 }
    const disturbing = yield* Effect.forkChild(Effect.forEach(
      disturbances(seed),
      Effect.fnUntraced(function*(disturb) {
        yield* Effect.sleep(EVERY[form])
        yield* Effect.uninterruptible(disturb(world))
        state.disturbed += 1
      }),
      { discard: true }
    ))
    yield* Effect.forEach(people, (account, n) => client(ask, recorder, account, model, lists[n] ?? [], prefix), {
      concurrency: "unbounded",
      discard: true
    })
    yield* Fiber.interrupt(disturbing)
    yield* healed(world)
    const lost = (yield* Effect.forEach(people, (account) => comparison(ask, recorder, model, account))).flat()
    const [counters] = Schema.decodeUnknownSync(Counters)(yield* queryAt(postgres.url(), COUNTERS, [prefix]))
    recorder.report("route_usage is not the number of rows", counters.routes)
    recorder.report("route_usage is not the number of live rows", counters.live)
    recorder.report("collection_usage is not the number of rows", counters.collections)
    return {
      rounds: state.disturbed,
      requests: CLIENTS * LENGTH[form],
      lost: lost.length,
      twice: counters.twice,
      figures: [
        `seed ${seed}: ${model.routes.size} routes and ${model.collections.size} collections, ${state.disturbed} faults`,
        ...lost.map((name) => `lost: ${name}`)
      ]
    }
  })
}
