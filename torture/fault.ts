import { Effect, type Scope } from "effect"
import type { Cluster } from "./cluster.ts"
import type { Keeper } from "./keeper.ts"
import type { Ledger } from "./ledger.ts"
import type { Recorder } from "./recorder.ts"
import type { Skipped } from "./skipped.ts"
import type { World } from "./world.ts"

/** A line of the table. Times are in milliseconds; undefined if the fault has none. */
export interface Outcome {
  readonly rounds: number
  readonly requests: number
  readonly lost: number
  readonly twice: number
  /** The number of times that each wrong observation was made. */
  readonly wrong: ReadonlyMap<string, number>
  /** The number of times that each limit of time was exceeded; the full form judges it. */
  readonly late: ReadonlyMap<string, number>
  readonly longestOutage?: number
  /** The recovery is the longest of all rounds; Infinity if the wait for it ended first. */
  readonly recovery?: number | undefined
  /** These figures are printed below the table. */
  readonly figures?: ReadonlyArray<string>
}

export interface Run {
  readonly form: "short" | "full"
  /** The fault is injected this many times; undefined leaves it to the form. */
  readonly wanted: number | undefined
  readonly seed: number
  readonly ledger: Ledger
  readonly keeper: Keeper
  readonly recorder: Recorder
  /** The names of all that is written for this fault begin with the prefix. */
  readonly prefix: string
  /** The fault may take this many milliseconds; it ends its round. */
  readonly budget: number
  /** The faults of the database share this PostgreSQL and this service. The world is ready when it is given. */
  readonly world: Effect.Effect<World>
  /** The failovers share these three machines with PostgreSQL under Patroni. */
  readonly cluster: Effect.Effect<Cluster, Skipped>
  readonly directory: string
}

export interface Fault {
  readonly key: string
  readonly title: string
  /** Returns what the recorder does not know. By default one round lost nothing and stored nothing twice. */
  readonly run: (run: Run) => Effect.Effect<Partial<Outcome>, Skipped, Scope.Scope>
}

/** Runs one round at least, and then the wanted number while there is time. Returns how many there were. */
export const rounds = Effect.fnUntraced(function*<E, R>(
  { budget, form, wanted }: Run,
  usual: Readonly<Record<Run["form"], number>>,
  round: (n: number) => Effect.Effect<void, E, R>
) {
  const began = performance.now()
  const count = wanted ?? usual[form]
  for (let n = 0;; n++) {
    if (n > 0 && (n >= count || performance.now() - began >= budget)) return n
    yield* round(n)
  }
})
