import { Effect } from "effect"
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

/** The standard input closes when the harness ends, in any way. A stopped process needs SIGCONT to end. */
const WATCH = `cat > /dev/null; while read -r pid; do kill -KILL "$pid"; kill -CONT "$pid"; done < "$1"`

export const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

/** Waits until a process ends, or returns at once if it has ended already. */
export const ending = (child: ChildProcess) =>
  Effect.promise(() =>
    new Promise<void>((resolve) => hasEnded(child) ? resolve() : void child.once("exit", () => resolve()))
  )

/** Ends, by their ids, the processes that the harness started, also when the harness itself is killed. */
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
  const add = (...more: ReadonlyArray<number>) => {
    more.forEach((pid) => pids.add(pid))
    write()
  }
  const remove = (...fewer: ReadonlyArray<number>) => {
    fewer.forEach((pid) => pids.delete(pid))
    write()
  }
  return {
    add,
    remove,
    /** Starts a process that is kept until it ends. */
    spawn: (command: string, args: ReadonlyArray<string>, options: SpawnOptions) => {
      const child = spawn(command, args, options)
      const pid = child.pid ?? 0
      add(pid)
      child.once("exit", () => remove(pid))
      return child
    }
  }
})

export type Keeper = Effect.Success<ReturnType<typeof keeperIn>>
