import { Effect, type Scope } from "effect"
import type { Cluster } from "./cluster.ts"
import type { Keeper } from "./keeper.ts"
import type { Ledger } from "./ledger.ts"
import type { Recorder } from "./recorder.ts"
import type { Skipped } from "./skipped.ts"
import type { World } from "./world.ts"

/** A line of the table. Times are milliseconds; undefined where the fault has none. */
export interface Outcome {
  readonly rounds: number
  readonly requests: number
  readonly lost: number
  readonly twice: number
  /** Each thing that was seen and must not be, with how often. */
  readonly wrong: ReadonlyMap<string, number>
  /** Each thing that took longer than it may, with how often; the full form judges it. */
  readonly late: ReadonlyMap<string, number>
  readonly longestOutage?: number
  /** The longest of all rounds; Infinity: not while it was waited for. */
  readonly recovery?: number | undefined
  /** Figures to be printed below the table. */
  readonly figures?: ReadonlyArray<string>
}

/** A fault is run with these. */
export interface Run {
  /** The key of the values of a form. */
  readonly form: "short" | "full"
  /** The fault is injected this many times; undefined: as many as its form has. */
  readonly wanted: number | undefined
  readonly seed: number
  readonly ledger: Ledger
  readonly keeper: Keeper
  readonly recorder: Recorder
  /** Begins the names of what is written for this fault. */
  readonly prefix: string
  /** Milliseconds that the fault may take; it ends its round. */
  readonly budget: number
  /** One PostgreSQL and one service, which the faults of the database share. It is ready when it is given. */
  readonly world: Effect.Effect<World>
  /** Three machines with PostgreSQL under Patroni, which the failovers share. */
  readonly cluster: Effect.Effect<Cluster, Skipped>
  readonly directory: string
}

export interface Fault {
  readonly key: string
  readonly title: string
  /** Returns what the recorder does not know; nothing was lost or stored twice, and there was one round, unless it says so. */
  readonly run: (run: Run) => Effect.Effect<Partial<Outcome>, Skipped, Scope.Scope>
}

/** Runs one round at least, and as many as wanted while there is time; returns how many. */
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
