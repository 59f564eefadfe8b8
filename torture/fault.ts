import type { Effect, Scope } from "effect"
import type { Cluster } from "./cluster.ts"
import type { Keeper } from "./keeper.ts"
import type { Ledger } from "./ledger.ts"
import type { Options } from "./options.ts"
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
  readonly longestOutage?: number | undefined
  /** The longest of all rounds; Infinity: not while it was waited for. */
  readonly recovery?: number | undefined
  /** Figures to be printed below the table. */
  readonly figures?: ReadonlyArray<string>
}

/** The outcome of one round in which nothing was lost or stored twice, unless its members have other values. */
export const outcomeOf = (
  { late, wrong }: Pick<Recorder, "late" | "wrong">,
  members: Partial<Outcome> = {}
): Outcome => ({
  rounds: 1,
  requests: 0,
  lost: 0,
  twice: 0,
  wrong,
  late,
  ...members
})

/** A fault is run with these. */
export interface Run {
  readonly options: Options
  readonly ledger: Ledger
  readonly keeper: Keeper
  /** Begins the names of what is written for this fault. */
  readonly prefix: string
  /** Milliseconds that the fault may take; it ends its round. */
  readonly budget: number
  /** One PostgreSQL and one service, which the faults of the database share. It is ready when it is given. */
  readonly world: Effect.Effect<World, never, Scope.Scope>
  /** Three machines with PostgreSQL under Patroni, which the failovers share. */
  readonly cluster: Effect.Effect<Cluster, Skipped>
  readonly directory: string
}

export interface Fault {
  readonly key: string
  readonly title: string
  /** True where the form of three minutes has it. */
  readonly isInShortForm: boolean
  readonly run: (run: Run) => Effect.Effect<Outcome, Skipped, Scope.Scope>
}
