import { Effect, Fiber, Schema } from "effect"
import * as fc from "fast-check"
import { accounts } from "../accounts.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { emptyModel, operationsOf } from "../model.ts"
import { modelClient } from "../modelClient.ts"
import { comparison } from "../modelComparison.ts"
import { formOf } from "../options.ts"
import { makeRecorder } from "../recorder.ts"
import { healed, type World } from "../world.ts"

const CLIENTS = 10

const LENGTH = { short: 60, full: 400 }

const EVERY = { short: 1000, full: 2500 }

const DISTURBANCES = {
  killService: ({ service }: World) =>
    Effect.asVoid(service.kill.pipe(Effect.andThen(service.spawn), Effect.andThen(service.ready))),
  cut: ({ network }: World) => Effect.andThen(network.become("reset"), network.become("pass")),
  killDatabase: ({ postgres }: World) => Effect.andThen(postgres.kill, postgres.start),
  stopDatabase: ({ postgres }: World) =>
    Effect.ensuring(Effect.andThen(postgres.stop, Effect.sleep("1500 millis")), postgres.resume)
}

const NAMES = ["killService", "cut", "killDatabase", "stopDatabase"] as const

/** More than a client does in the time of the fault. */
const disturbances = (seed: number) => fc.sample(fc.constantFrom(...NAMES), { seed, numRuns: 1000 })

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

/** Ten clients do random operations through random faults; what they see at the end is compared with a model. */
export const randomOperations: Fault = {
  key: "model",
  title: "random operations of ten clients, by a model",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const world = yield* run.world
    const form = formOf(run.options)
    const { seed } = run.options
    const recorder = makeRecorder()
    const model = emptyModel()
    const people = yield* accounts(world.postgres.url(), world.asking, "model", CLIENTS)
    const lists = operationsOf(seed, CLIENTS, LENGTH[form])
    const state = { disturbed: 0 }
    const disturbing = yield* Effect.forkChild(
      Effect.forEach(disturbances(seed), (name) =>
        Effect.sleep(EVERY[form]).pipe(
          Effect.andThen(Effect.uninterruptible(DISTURBANCES[name](world))),
          Effect.andThen(Effect.sync(() => void (state.disturbed += 1)))
        ), { discard: true })
    )
    yield* Effect.forEach(
      people,
      (account, n) =>
        Effect.promise(() => modelClient(world.asking, recorder, account, model, lists[n] ?? [], run.prefix)),
      {
        concurrency: "unbounded",
        discard: true
      }
    )
    yield* Fiber.interrupt(disturbing)
    yield* healed(world)
    const lost = yield* Effect.forEach(
      people,
      (account) => Effect.promise(() => comparison(world.asking, recorder, model, account))
    )
    const [counters] = Schema.decodeUnknownSync(Counters)(yield* world.postgres.query(COUNTERS, [run.prefix]))
    recorder.report("route_usage is not the number of rows", counters.routes)
    recorder.report("route_usage is not the number of live rows", counters.live)
    recorder.report("collection_usage is not the number of rows", counters.collections)
    return outcomeOf(recorder, {
      rounds: state.disturbed,
      requests: CLIENTS * LENGTH[form],
      lost: lost.flat().length,
      twice: counters.twice,
      figures: [
        `seed ${seed}: ${model.routes.size} routes and ${model.collections.size} collections, ${state.disturbed} faults`,
        ...lost.flat().map((name) => `lost: ${name}`)
      ]
    })
  })
}
