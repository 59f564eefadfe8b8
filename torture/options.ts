import { parseArgs } from "node:util"

const LARGEST_SHORT = 5

const LARGEST_SEED = 2 ** 31 - 1

const positive = (name: string, text: string | undefined) => {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name}: found "${text}", expected a number above 0`)
  return value
}

/** Throws an error with the name of an option that cannot be read. */
export const optionsOf = (args: ReadonlyArray<string>) => {
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
    /** The faults to run have these keys, or keys that begin with them; all of the form if empty. */
    only,
    /** Each fault is injected this many times; undefined leaves it to the form. */
    rounds: positive("rounds", values.rounds),
    /** The whole run may take this many minutes; undefined sets no limit. */
    minutes: minutes ?? (isShort ? 3 : undefined),
    /** The form for each change leaves out, or makes smaller, what takes longer than some seconds. */
    isShort,
    seed: positive("seed", values.seed) ?? Math.floor(performance.timeOrigin + performance.now()) % LARGEST_SEED,
    /** The ledger is written to this file. */
    ledger: values.ledger ?? ".data/torture/ledger.jsonl"
  }
}
