import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import type { Fault } from "../fault.ts"
import { formOf } from "../options.ts"
import { segment } from "../segment.ts"
import { world } from "../world.ts"

const KILLS = { short: 3, full: 60 }

const workersOf = async (pid: number) => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")
  return text.split(" ").filter((child) => child !== "").map(Number)
}

/** Kills one of the workers, a different one each round. */
const killOne = (pid: number, round: number) =>
  Effect.promise(async () => {
    const workers = await workersOf(pid)
    const worker = workers[round % Math.max(workers.length, 1)]
    if (worker !== undefined) process.kill(worker, "SIGKILL")
  })

export const killedWorkers: Fault = {
  key: "workers",
  title: "a worker of three killed every second",
  isInShortForm: false,
  run: (run) =>
    Effect.flatMap(
      world(`${run.directory}/workers`, run.keeper, { WORKERS: "3" }),
      (world) =>
        segment(run, world, {
          inject: ({ service }) =>
            Effect.forEach(
              Array.from({ length: KILLS[formOf(run.options)] }),
              (_, n) => Effect.andThen(killOne(service.pid(), n), Effect.sleep("1 second")),
              { discard: true }
            ),
          heal: () => Effect.void,
          hold: { short: 0, full: 0 },
          rounds: { short: 1, full: 1 }
        })
    )
}
