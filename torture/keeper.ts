import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

/** Its standard input closes when the harness ends, in any way. A stopped process needs SIGCONT to end. */
const WATCH = `cat > /dev/null; while read -r pid; do kill -KILL "$pid"; kill -CONT "$pid"; done < "$1"`

/** Ends by their ids what the harness started, also when the harness itself is killed. */
export interface Keeper {
  readonly add: (...pids: ReadonlyArray<number>) => void
  readonly remove: (...pids: ReadonlyArray<number>) => void
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

/** At once where it has ended already. */
export const endingOf = (child: ChildProcess) =>
  new Promise<Ending>((resolve) => {
    if (hasEnded(child)) return resolve({ code: child.exitCode, signal: child.signalCode })
    child.once("exit", (code, signal) => resolve({ code, signal }))
  })

export const keeperIn = Effect.fnUntraced(function*(directory: string) {
  const path = join(directory, "pids")
  const pids = new Set<number>()
  const write = () => writeFileSync(path, [...pids, ""].join("\n"))
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      write()
      return spawn("sh", ["-c", WATCH, "sh", path], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
    }),
    (watch) => Effect.sync(() => void watch.kill("SIGKILL"))
  )
  const keeper: Keeper = {
    add: (...more) => {
      more.forEach((pid) => pids.add(pid))
      write()
    },
    remove: (...fewer) => {
      fewer.forEach((pid) => pids.delete(pid))
      write()
    }
  }
  return keeper
})
