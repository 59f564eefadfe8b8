import { Console, Context, Effect, Layer, type Scope } from "effect"
import { write } from "node:fs"

const STANDARD_OUTPUT = 1

/** What waits for a reader that is slow, in characters; what comes then is dropped and counted. */
const MAX_WAITING = 4 * 1024 * 1024

/** A reader that is there gets what is left at the end; one that stands still is not waited for. */
const PATIENCE = "1 second"

/** Lines gather for so long: each write is work for two threads, which many lines may share. */
const GATHERING_MS = 20

/** A pipe that another program made non-blocking is full for a moment. */
const AGAIN_MS = 20

interface Output {
  readonly write: (line: string) => void
  readonly drained: Effect.Effect<void>
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: "WARN", message: "lines were dropped: standard output is not read", count })}\n`

const makeOutput = (file: number, onClosed: () => void): Output => {
  const state = { lines: new Array<string>(), size: 0, dropped: 0, isBusy: false, isClosed: false }
  const waiters: Array<() => void> = []

  const writeGathered = () => {
    if (state.dropped > 0) state.lines.push(droppedLine(state.dropped))
    const bytes = Buffer.from(state.lines.join(""))
    Object.assign(state, { lines: [], size: 0, dropped: 0 })
    push(bytes)
  }

  const push = (bytes: Buffer) =>
    write(file, bytes, (error, written) => {
      if (error?.code === "EAGAIN") return void setTimeout(() => push(bytes), AGAIN_MS)
      // The reader closed the pipe (EPIPE).
      if (error !== null) {
        Object.assign(state, { isClosed: true, lines: [] })
        onClosed()
      }
      return error === null && written < bytes.length ? push(bytes.subarray(written)) : rest()
    })

  const rest = () => {
    state.isBusy = state.lines.length > 0
    if (state.isBusy) setTimeout(writeGathered, GATHERING_MS)
    else waiters.splice(0).forEach((resume) => resume())
  }

  return {
    write: (line) => {
      if (state.isClosed) return
      if (state.size > MAX_WAITING) {
        state.dropped += 1
        return
      }
      state.lines.push(`${line}\n`)
      state.size += line.length
      if (!state.isBusy) rest()
    },
    drained: Effect.callback((resume) => {
      if (state.isBusy) waiters.push(() => resume(Effect.void))
      else resume(Effect.void)
    })
  }
}

/**
 * Standard output that never holds up the service: Node's own writes to a pipe wait for its reader, on the event loop.
 * Lines are written in the order they came, as many at once as have gathered; at most 4 Mi characters wait. Without a
 * reader lines are dropped.
 */
export const standardOutput = (
  file = STANDARD_OUTPUT,
  onClosed: () => void = () => undefined
): Effect.Effect<Output, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => makeOutput(file, onClosed)),
    ({ drained }) => Effect.timeoutOption(drained, PATIENCE)
  )

/** Waits until what was written is out, for whoever ends the process at once. */
export const OutputDrained = Context.Reference<Effect.Effect<void>>("route-planning-service/OutputDrained", {
  defaultValue: () => Effect.void
})

/** Ends this process as SIGTERM does: without a reader (`npm start | head -1`) it would run unnoticed. */
const end = () => void process.kill(process.pid, "SIGTERM")

/** Effect's console on `standardOutput`. */
export const consoleLayer = Layer.effectContext(
  Effect.map(
    standardOutput(STANDARD_OUTPUT, end),
    (output) =>
      Context.make(OutputDrained, output.drained).pipe(Context.add(Console.Console, {
        ...globalThis.console,
        log: (...parts: ReadonlyArray<unknown>) => output.write(parts.map(String).join(" "))
      }))
  )
)
