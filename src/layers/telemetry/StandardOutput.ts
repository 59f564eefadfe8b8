import { Console, Context, Effect, Layer, type Scope } from "effect"
import sonic from "sonic-boom"

const STANDARD_OUTPUT = 1

const MAX_PENDING_BYTES = 4 * 1024 * 1024

const DRAIN_TIMEOUT = "1 second"

interface Output {
  readonly write: (line: string) => void
  readonly drained: Effect.Effect<void>
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: "WARN", message: "standard output not read, lines dropped", count })}\n`

const makeOutput = (fd: number, onClosed: () => void): Output => {
  const output = new sonic.SonicBoom({ fd, maxLength: MAX_PENDING_BYTES })
  const state = { dropped: 0, isClosed: false }
  output.on("drop", () => void (state.dropped += 1))
  output.on("drain", () => {
    const { dropped } = state
    state.dropped = 0
    if (dropped > 0) output.write(droppedLine(dropped))
  })
  output.on("error", () => {
    if (state.isClosed) return
    state.isClosed = true
    output.destroy()
    onClosed()
  })
  return {
    write: (line) => {
      if (!state.isClosed) output.write(`${line}\n`)
    },
    drained: Effect.callback((resume) => output.flush(() => resume(Effect.void)))
  }
}

/** Writes lines in order without blocking the event loop, which Node's own writes to a pipe do. */
export const standardOutput = (
  fd = STANDARD_OUTPUT,
  onClosed: () => void = () => undefined
): Effect.Effect<Output, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => makeOutput(fd, onClosed)),
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
