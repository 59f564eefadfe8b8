import { Effect } from "effect"
import * as fc from "fast-check"
import { creation, routeNamed } from "../ask.ts"
import type { Fault } from "../fault.ts"
import { audit } from "../ledger.ts"
import { type Write, writing } from "../writes.ts"

const line = (positions: number) => Array.from({ length: positions }, (_, n) => [9 + n / 10_000, 47 + (n % 7) / 10_000])

const geometry = line(5000)

const track = line(200).map(([lon, lat]) => `<trkpt lat="${lat}" lon="${lon}"/>`).join("")

const writesOf = (name: string): ReadonlyArray<Write> => {
  const names = [name]
  return [
    { endpoint: "routes", names, call: creation("routes", name, routeNamed(name)) },
    { endpoint: "routes", names, call: creation("routes", name, routeNamed(name, { geometry })) },
    { endpoint: "collections", names, call: creation("collections", name, { name }) },
    {
      endpoint: "routes",
      names,
      call: {
        method: "POST",
        path: "/api/v1/routes/import?duplicates=allow",
        headers: { "content-type": "application/gpx+xml", "idempotency-key": name },
        body:
          `<gpx version="1.1" creator="torture" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name>` +
          `<trkseg>${track}</trkseg></trk></gpx>`
      }
    }
  ]
}

const CALLS = { short: 80, full: 2000 }

const CLIENTS = 16

/** A call takes some 30 ms; a call that got a response before it is aborted is repeated all the same. */
const LONGEST = 60

const KILL_EVERY = { short: 4000, full: 6000 }

const PERSISTENCE = { short: 15_000, full: 90_000 }

/** Keyed calls are aborted at random instants, through kills, and repeated until they get a response. */
export const abortedCalls: Fault = {
  key: "aborted-calls",
  title: "keyed calls aborted, through kills",
  run: Effect.fnUntraced(function*(run) {
    const { form, ledger, prefix, recorder, seed, wanted } = run
    const world = yield* run.world
    const { accounts, ask, service } = world
    const calls = wanted ?? CALLS[form]
    const instants = fc.sample(fc.integer({ min: 1, max: LONGEST }), { seed, numRuns: calls })
    const write = writing({ ask, ledger, recorder, persistence: PERSISTENCE[form], pauseAfter: () => 100 })
    const kills = Effect.forever(Effect.andThen(Effect.sleep(KILL_EVERY[form]), service.restart))
    yield* Effect.forEach(instants, (instant, n) => {
      const account = accounts[n % accounts.length]
      const writes = writesOf(`${prefix}-${n}`)
      const one = writes[n % writes.length]
      return account === undefined || one === undefined ? Effect.void : write(account, one, instant)
    }, { concurrency: CLIENTS, discard: true }).pipe(Effect.raceFirst(kills))
    return {
      rounds: calls,
      requests: recorder.requests() + calls,
      ...yield* audit(run, prefix, world.postgres.url()),
      figures: [recorder.replies()]
    }
  })
}
