import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Keeper } from "./keeper.ts"
import type { World } from "./world.ts"

/**
 * What a process of `loader.ts` does: so many requests a second, or, where that is 0, as fast as the connections get
 * responses. `warmUp` is a rate too, of two seconds before; 0 for none.
 */
const Work = Schema.Struct({
  origin: Schema.String,
  tokens: Schema.Array(Schema.String),
  perSecond: Schema.Finite,
  warmUp: Schema.Finite,
  connections: Schema.Int,
  seconds: Schema.Finite
})

export type Work = typeof Work.Type

export const decodeWork = Schema.decodeSync(Schema.fromJsonString(Work))

/** Responses of one status, or requests that failed in one way; times in milliseconds. */
const Kinds = Schema.Array(
  Schema.Struct({ kind: Schema.String, count: Schema.Int, p50: Schema.Finite, p99: Schema.Finite })
)

export type Kinds = typeof Kinds.Type

const run = promisify(execFile)

const CONNECTIONS = 32

export const PEAK = { perSecond: 0 }

/** The responses to requests of all accounts for some seconds, sent by a process of its own. */
export const loaded = (
  keeper: Keeper,
  { accounts, service }: World,
  { perSecond, warmUp = 0 }: Pick<Work, "perSecond"> & Partial<Pick<Work, "warmUp">>,
  seconds: number
): Effect.Effect<Kinds> =>
  Effect.promise(async (signal) => {
    const work: Work = {
      origin: service.origin,
      tokens: accounts.map(({ token }) => token),
      connections: CONNECTIONS,
      perSecond,
      warmUp,
      seconds
    }
    const running = run(process.execPath, [join(import.meta.dirname, "loader.ts"), JSON.stringify(work)], { signal })
    const pid = running.child.pid ?? 0
    keeper.add(pid)
    const { stdout } = await running.finally(() => keeper.remove(pid))
    return Schema.decodeSync(Schema.fromJsonString(Kinds))(stdout.trim())
  })

export const isGood = ({ kind }: Kinds[number]) => kind.startsWith("2")

export const countOf = (kinds: Kinds) => kinds.reduce((sum, { count }) => sum + count, 0)
