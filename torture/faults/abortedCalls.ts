import { Effect, Fiber, Schema } from "effect"
import * as fc from "fast-check"
import { setTimeout as pause } from "node:timers/promises"
import type { Account } from "../accounts.ts"
import { type Fault, outcomeOf, type Run } from "../fault.ts"
import { audit } from "../ledger.ts"
import { formOf } from "../options.ts"
import { makeRecorder, type Recorder } from "../recorder.ts"
import type { World } from "../world.ts"

interface Keyed {
  readonly endpoint: "routes" | "collections"
  readonly path: string
  readonly contentType: string
  readonly bodyOf: (name: string) => string
}

const json = "application/json"

const line = (positions: number) => Array.from({ length: positions }, (_, n) => [9 + n / 10_000, 47 + (n % 7) / 10_000])

const long = JSON.stringify(line(5000))

const track = line(200).map(([lon, lat]) => `<trkpt lat="${lat}" lon="${lon}"/>`).join("")

const KEYED: ReadonlyArray<Keyed> = [
  {
    endpoint: "routes",
    path: "/api/v1/routes",
    contentType: json,
    bodyOf: (name) => JSON.stringify({ name, waypoints: [{ coord: [9.5, 47.1] }] })
  },
  {
    endpoint: "routes",
    path: "/api/v1/routes",
    contentType: json,
    bodyOf: (name) => `{"name":"${name}","waypoints":[{"coord":[9.5,47.1]}],"geometry":${long}}`
  },
  {
    endpoint: "collections",
    path: "/api/v1/collections",
    contentType: json,
    bodyOf: (name) => JSON.stringify({ name })
  },
  {
    endpoint: "routes",
    path: "/api/v1/routes/import?duplicates=allow",
    contentType: "application/gpx+xml",
    bodyOf: (name) =>
      `<gpx version="1.1" creator="torture" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name>` +
      `<trkseg>${track}</trkseg></trk></gpx>`
  }
]

const CALLS = { short: 80, full: 2000 }

const CLIENTS = 16

/** A call takes some 30 ms; those that got a response before they are aborted are repeated all the same. */
const LONGEST = 60

const KILL_EVERY = { short: 4000, full: 6000 }

const PERSISTENCE = { short: 15_000, full: 90_000 }

const HELD_AFTER = 6000

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.Int }))

const once = async (run: Run, world: World, recorder: Recorder, account: Account, n: number, instant: number) => {
  const keyed = KEYED[n % KEYED.length]
  if (keyed === undefined) return
  const { bodyOf, contentType, endpoint, path } = keyed
  const name = `${run.prefix}-${n}`
  const intent = { name, endpoint, account: account.id }
  await run.ledger.append({ kind: "intent", ...intent })
  const headers = { "content-type": contentType, "idempotency-key": name }
  const call = (signal?: AbortSignal) => () =>
    world.asking.ask({
      method: "POST",
      path,
      token: account.token,
      headers,
      body: bodyOf(name),
      ...(signal === undefined ? {} : { signal })
    })
  await call(AbortSignal.timeout(Math.max(1, Math.round(instant))))()
  const began = performance.now()
  const persistence = PERSISTENCE[formOf(run.options)]
  const held = { since: Infinity }
  for (;;) {
    const reply = await recorder.watch(call(), `POST ${path}`)
    if (reply.status === 201) {
      return run.ledger.append({ kind: "acknowledged", id: Schema.decodeSync(Stored)(reply.text).id, ...intent })
    }
    held.since = reply.status === 409 ? Math.min(held.since, performance.now()) : Infinity
    if (performance.now() - held.since > HELD_AFTER && held.since !== Infinity) {
      recorder.reportSlowness("a key is held for more than 6 s (409)")
      held.since = -Infinity
    }
    if (performance.now() - began > persistence) return recorder.reportSlowness("a call got no response in the end")
    await pause(100)
  }
}

const kills = ({ service }: World, every: number) =>
  Effect.sleep(every).pipe(
    Effect.andThen(service.kill),
    Effect.andThen(service.spawn),
    Effect.andThen(service.ready),
    Effect.forever
  )

/** Keyed calls that are aborted at random instants, through kills, and repeated until they get a response. */
export const abortedCalls: Fault = {
  key: "aborted-calls",
  title: "keyed calls aborted, through kills",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const world = yield* run.world
    const form = formOf(run.options)
    const recorder = makeRecorder()
    const calls = run.options.rounds ?? CALLS[form]
    const instants = fc.sample(fc.integer({ min: 1, max: LONGEST }), { seed: run.options.seed, numRuns: calls })
    const killing = yield* Effect.forkChild(kills(world, KILL_EVERY[form]))
    yield* Effect.forEach(instants, (instant, n) => {
      const account = world.accounts[n % world.accounts.length]
      return account === undefined
        ? Effect.void
        : Effect.promise(() => once(run, world, recorder, account, n, instant))
    }, { concurrency: CLIENTS, discard: true })
    yield* Fiber.interrupt(killing)
    const { lost, twice } = yield* audit(run.ledger, run.prefix, world.postgres.url())
    return outcomeOf(recorder, {
      rounds: calls,
      requests: recorder.requests() + calls,
      lost,
      twice,
      figures: [recorder.replies()]
    })
  })
}
