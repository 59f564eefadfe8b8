import { Effect, Option, Schedule } from "effect"
import { beside, judged } from "../bystanders.ts"
import { type Fault, outcomeOf, type Run } from "../fault.ts"
import { FAILURES, neighbour } from "../neighbour.ts"
import { allNeighbours, type NamedNeighbour } from "../neighbours.ts"
import { formOf } from "../options.ts"
import { makeRecorder, type Recorder } from "../recorder.ts"
import type { Service } from "../service.ts"
import { limited, type World, world } from "../world.ts"

/** What the outbox may take to send what waits, once the provider works. */
const DELIVERED_WITHIN = { short: 20_000, full: 180_000 }

/** As many as everything else can be asked by without being refused. */
const LIMITED_ACCOUNTS = 41

const SHARED = /^rate_limits_shared 1$/m

/** A process looks for its Redis every two seconds. */
const SHARED_WITHIN = "10 seconds"

/** Whether a process counts in Redis, within the time that it has for that. */
const isCounted = ({ origin }: Service) =>
  Effect.promise(() => fetch(`${origin}/metrics`).then((response) => response.text())).pipe(
    Effect.repeat({ until: (text) => SHARED.test(text), schedule: Schedule.spaced("100 millis") }),
    Effect.timeoutOption(SHARED_WITHIN),
    Effect.map(Option.isSome)
  )

/** Of a further process, which counts each request in Redis: the other has no limits. */
const redisFailures = Effect.fnUntraced(function*(world: World, run: Run, recorder: Recorder) {
  const redis = yield* neighbour(run.keeper, "redis")
  const counting = yield* limited(world, run.keeper, LIMITED_ACCOUNTS, { REDIS_URL: redis.url })
  const isUsed = isCounted(counting.service)
  yield* beside(counting, makeRecorder(), 2)
  const one: NamedNeighbour = {
    name: "Redis",
    neighbour: redis,
    perSecond: 20,
    isUsed,
    call: (ask) => ask({ path: "/health/ready" })
  }
  const figures = yield* judged(counting, recorder, one, formOf(run.options))
  if (!(yield* isUsed)) recorder.report("Redis: it works again, and is not used")
  return figures
})

export const neighbours: Fault = {
  key: "neighbours",
  title: "engine, mail, identity, collector, Redis fail",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run: Run) {
    const form = formOf(run.options)
    const all = yield* allNeighbours(run.keeper)
    const made = yield* world(`${run.directory}/neighbours`, run.keeper, all.settings)
    const recorder = makeRecorder()
    yield* beside(made, makeRecorder(), 2)
    const figures = yield* Effect.forEach(all.named, (one) => judged(made, recorder, one, form))
    const ofRedis = yield* Effect.scoped(redisFailures(made, run, recorder))
    const { lost, twice, sent, given } = yield* all.mails(DELIVERED_WITHIN[form])
    return outcomeOf(recorder, {
      rounds: (all.named.length + 1) * FAILURES.length,
      requests: recorder.requests(),
      lost,
      twice,
      figures: [...figures, ofRedis, `${sent} mails wanted, the provider was given ${given}`]
    })
  })
}
