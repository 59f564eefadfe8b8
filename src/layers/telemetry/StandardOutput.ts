import { Console, Context, Effect, Layer, type Scope } from "effect"
import { write } from "node:fs"

const STANDARD_OUTPUT = 1

const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024

const DRAIN_TIMEOUT = "1 second"

/** Lines are gathered, since each write costs work of two threads. */
const GATHERING_MS = 20

/** Another program may have made the pipe non-blocking: it is full for a moment. */
const AGAIN_MS = 20

interface Output {
  readonly write: (line: string) => void
  readonly drained: Effect.Effect<void>
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: "WARN", message: "standard output not read, lines dropped", count })}\n`

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
      if (state.size > MAX_PENDING_CHARACTERS) {
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

/** Writes lines in order without blocking the event loop, which Node's own writes to a pipe do. */
export const standardOutput = (
  file = STANDARD_OUTPUT,
  onClosed: () => void = () => undefined
): Effect.Effect<Output, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => makeOutput(file, onClosed)),
    ({ drained }) => Effect.timeoutOption(drained, DRAIN_TIMEOUT)
  )

export const OutputDrained = Context.Reference<Effect.Effect<void>>("route-planning-service/OutputDrained", {
  defaultValue: () => Effect.void
})

/** Without a reader (`npm start | head -1`) the process would run unnoticed. */
const end = () => void process.kill(process.pid, "SIGTERM")

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
