import { parseArgs } from "node:util"

export interface Options {
  /** Keys of the faults to run, or what such keys begin with; all of the form where empty. */
  readonly only: ReadonlyArray<string>
  /** Times that each fault is injected; undefined: as many as its form has. */
  readonly rounds: number | undefined
  /** The time that all of it may take; undefined: as long as it takes. */
  readonly minutes: number | undefined
  /** The form for each change: what takes longer than some seconds is left out or made smaller. */
  readonly isShort: boolean
  readonly seed: number
  /** The ledger is written to this file. */
  readonly ledger: string
}

/** The key of what each form has of its own. */
export const formOf = ({ isShort }: Options) => isShort ? "short" : "full"

const LARGEST_SHORT = 5

const LARGEST_SEED = 2 ** 31 - 1

const positive = (name: string, text: string | undefined) => {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name}: found "${text}", expected a number above 0`)
  return value
}

/** Throws with the name of the option that cannot be read. */
export const optionsOf = (args: ReadonlyArray<string>): Options => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string", multiple: true },
      rounds: { type: "string" },
      minutes: { type: "string" },
      short: { type: "boolean" },
      seed: { type: "string" },
      ledger: { type: "string" }
    }
  })
  const minutes = positive("minutes", values.minutes)
  const only = [...positionals, ...values.only ?? []].flatMap((text) => text.split(",")).map((key) => key.trim())
  const isShort = values.short ?? (minutes !== undefined && minutes <= LARGEST_SHORT && only.length === 0)
  return {
    only,
    rounds: positive("rounds", values.rounds),
    minutes: minutes ?? (isShort ? 3 : undefined),
    isShort,
    seed: positive("seed", values.seed) ?? Math.floor(performance.timeOrigin + performance.now()) % LARGEST_SEED,
    ledger: values.ledger ?? ".data/torture/ledger.jsonl"
  }
}
