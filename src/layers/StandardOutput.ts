import { Console, Effect, Layer, type Scope } from "effect"
import { write } from "node:fs"

const STANDARD_OUTPUT = 1

/** What waits for a reader that is slow, in characters; what comes then is dropped and counted. */
const MAX_WAITING = 4 * 1024 * 1024

/** A reader that is there gets what is left at the end; one that stands still is not waited for. */
const PATIENCE = "1 second"

/** A pipe that another program made non-blocking is full for a moment. */
const AGAIN_MS = 20

interface Output {
  readonly write: (line: string) => void
  readonly drained: Effect.Effect<void>
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: "WARN", message: "lines were dropped: standard output is not read", count })}\n`

const makeOutput = (file: number): Output => {
  const state = { lines: new Array<string>(), size: 0, dropped: 0, isWriting: false, isClosed: false }
  const waiters: Array<() => void> = []

  const next = () => {
    if (state.dropped > 0) state.lines.push(droppedLine(state.dropped))
    if (state.lines.length === 0 || state.isClosed) {
      state.isWriting = false
      waiters.splice(0).forEach((resume) => resume())
      return
    }
    state.isWriting = true
    const bytes = Buffer.from(state.lines.join(""))
    Object.assign(state, { lines: [], size: 0, dropped: 0 })
    push(bytes)
  }

  const push = (bytes: Buffer) =>
    write(file, bytes, (error, written) => {
      if (error?.code === "EAGAIN") return void setTimeout(() => push(bytes), AGAIN_MS)
      // Whoever read went away and does not come back (EPIPE): the service goes on without a reader.
      if (error !== null) state.isClosed = true
      return error === null && written < bytes.length ? push(bytes.subarray(written)) : next()
    })

  return {
    write: (line) => {
      if (state.isClosed) return
      if (state.size > MAX_WAITING) {
        state.dropped += 1
        return
      }
      state.lines.push(`${line}\n`)
      state.size += line.length
      if (!state.isWriting) {
        state.isWriting = true
        setImmediate(next)
      }
    },
    drained: Effect.callback((resume) => {
      if (state.isWriting) waiters.push(() => resume(Effect.void))
      else resume(Effect.void)
    })
  }
}

/**
 * Standard output that never holds up the service: Node's own writes to a pipe wait for its reader, on the event loop.
 * Lines are written in the order they came, as many at once as have gathered; at most 4 Mi characters wait.
 */
export const standardOutput = (file = STANDARD_OUTPUT): Effect.Effect<Output, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => makeOutput(file)),
    ({ drained }) => Effect.timeoutOption(drained, PATIENCE)
  )

/** Effect's console on `standardOutput`. */
export const consoleLayer = Layer.effect(
  Console.Console,
  Effect.map(standardOutput(), (output) => ({
    ...globalThis.console,
    log: (...parts: ReadonlyArray<unknown>) => output.write(parts.map(String).join(" "))
  }))
)
