import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { spawn } from "node:child_process"
import { type ChangePage, type Client, ServiceError } from "../../client/src/index.ts"
import { attempt, Failure } from "./Failure.ts"
import { account, print } from "./Root.ts"
import { note } from "./Terminal.ts"

const WAIT_SECONDS = 30

type Change = ChangePage["changes"][number]

/** Runs a line of the shell with the change in its environment, and as JSON on its standard input. */
const execute = (line: string, change: Change): Promise<void> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, RPS_TYPE: change.type, RPS_ID: String(change.id), RPS_CHANGE: change.change }
    const child = spawn(line, { shell: true, env, stdio: ["pipe", "inherit", "inherit"] })
    child.on("error", reject)
    // A program need not read what it gets.
    child.stdin.on("error", () => {})
    child.on("close", (code) => code === 0 ? resolve() : reject(Failure.because(`${line}: ended with ${code}`)))
    child.stdin.end(`${JSON.stringify(change)}\n`)
  })

const lastCursor = async ({ sync }: Client): Promise<string> => {
  for (let cursor: string | undefined;;) {
    const page: ChangePage = await sync.list({ query: { cursor, geometry: "none", limit: 200 } })
    if (!page.hasMore) return page.cursor
    cursor = page.cursor
  }
}

/** Returns undefined where the service no longer knows what has changed since. */
const unlessExpired = (error: unknown): undefined => {
  if (!(error instanceof ServiceError && error.statusCode === 410)) throw error
}

export const watch = Command.make(
  "watch",
  {
    exec: Flag.String("exec").pipe(
      Flag.withDescription(
        "A line of the shell for each change: RPS_TYPE, RPS_ID and RPS_CHANGE, and JSON on its input"
      ),
      Flag.optional
    ),
    once: Flag.Boolean("once").pipe(Flag.withDescription("End after the first change"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function*({ exec, once }) {
    const { client } = yield* account
    let cursor = yield* attempt(() => lastCursor(client))
    yield* Effect.sync(() => note("Watching for changes"))
    for (;;) {
      const query = { cursor, geometry: "none", wait: WAIT_SECONDS } as const
      const page = yield* attempt((options) => client.sync.list({ query }, options).catch(unlessExpired))
      if (page === undefined) {
        yield* Effect.sync(() => note("Changes may have been missed: watching from now on"))
        cursor = yield* attempt(() => lastCursor(client))
        continue
      }
      for (const change of page.changes) {
        if (Option.isSome(exec)) yield* attempt(() => execute(exec.value, change))
        else yield* print(change, `${change.type} ${change.id} ${change.change}`)
      }
      cursor = page.cursor
      if (once && page.changes.length > 0) return
    }
  })
).pipe(Command.withDescription("Wait for changes of routes and collections, and print or run something for each"))
