import { Effect, Redacted } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { embeddedPostgres } from "../../development/EmbeddedDatabase.ts"
import { directoryInMemory } from "./TemporaryDirectory.ts"

/** Returns the processes of a server: the one that accepts connections, and those that it has started. */
const processesOf = (server: number) =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
      return Number(pid) === server || Number(parent) === server
    } catch {
      // The process ended meanwhile.
      return false
    }
  }).map(Number)

/** Stops and continues the server of a data directory, which continues when the scope closes. */
export const freezing = Effect.fnUntraced(function*(directory: string) {
  const [pid] = readFileSync(join(directory, "postmaster.pid"), "utf8").split("\n")
  const signal = (name: "SIGSTOP" | "SIGCONT") =>
    Effect.sync(() => {
      for (const each of processesOf(Number(pid))) {
        try {
          process.kill(each, name)
        } catch {
          // The process ended meanwhile.
        }
      }
    })
  yield* Effect.addFinalizer(() => signal("SIGCONT"))
  return {
    /** No process of the server runs: it accepts connections, and responds to nothing. */
    freeze: signal("SIGSTOP"),
    thaw: signal("SIGCONT")
  }
})

/** Starts a PostgreSQL of this test alone, with the address of a database, which the test can freeze. */
export const ownPostgres = Effect.gen(function*() {
  const directory = join(yield* directoryInMemory, "postgres")
  const url = Redacted.value(yield* embeddedPostgres({ directory, durable: false }))
  return { url, ...(yield* freezing(directory)) }
})
