import {
  Cause,
  Config,
  Console,
  Context,
  Effect,
  Formatter,
  Layer,
  Logger,
  type LogLevel,
  Option,
  Predicate,
  References,
  type Scope
} from "effect"
import sonic from "sonic-boom"
import { lineIdsOf, RequestNotes } from "../services/operations/RequestNotes.ts"
import { settings } from "../services/operations/SettingsRegistry.ts"
import { type LOG_FORMATS, LogFormat } from "../services/operations/SettingTypes.ts"

const STANDARD_OUTPUT = 1

const MAX_PENDING_BYTES = 4 * 1024 * 1024

/** Lines are written together after this many bytes or milliseconds: a write for each line costs more than the line. */
const GATHERED = { minLength: 4096, periodicFlush: 50 }

const DRAIN_TIMEOUT = "1 second"

interface Output {
  readonly write: (line: string) => void
  readonly drained: Effect.Effect<void>
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: "WARN", message: "standard output not read, lines dropped", count })}\n`

const makeOutput = (fd: number, onClosed: () => void): Output => {
  const output = new sonic.SonicBoom({ fd, maxLength: MAX_PENDING_BYTES, ...GATHERED })
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

/** Writes lines in order without blocking the event loop; Node's own writes to a pipe block it. */
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

/** Without a signal, a process that has lost its reader (`npm start | head -1`) would run unnoticed. */
const end = () => void process.kill(process.pid, "SIGTERM")

const consoleLayer = Layer.effectContext(
  Effect.map(
    standardOutput(STANDARD_OUTPUT, end),
    (output) =>
      Context.make(OutputDrained, output.drained).pipe(Context.add(Console.Console, {
        ...globalThis.console,
        log: (...parts: ReadonlyArray<unknown>) => output.write(parts.map(String).join(" "))
      }))
  )
)

type Format = typeof LOG_FORMATS[number]

export interface LogSettings {
  readonly level: LogLevel.LogLevel
  readonly format: Format
}

/** A line has the texts of the message; members of its objects are fields beside the annotations. */
const entryOf = ({ cause, date, fiber, logLevel, message: logged }: Logger.Options<unknown>) => {
  const texts: Array<string> = []
  const fields: Record<string, unknown> = { ...fiber.getRef(References.CurrentLogAnnotations) }
  for (const part of Array.isArray(logged) ? logged : [logged]) {
    if (Predicate.isObject(part) && !Predicate.isError(part)) Object.assign(fields, part)
    else texts.push(String(part))
  }
  return {
    timestamp: date.toISOString(),
    level: logLevel.toUpperCase(),
    message: texts.join(" "),
    fields,
    cause: cause.reasons.length === 0 ? undefined : Cause.pretty(cause)
  }
}

const isPrimitive = (value: unknown) =>
  Predicate.isString(value) || Predicate.isNumber(value) || Predicate.isBoolean(value)

/** `Formatter.formatJson` hides secrets and resolves cycles, for which it calls back for each value. */
const toJson = (line: object, fields: Readonly<Record<string, unknown>>) =>
  Object.values(fields).every(isPrimitive) ? JSON.stringify(line) : Formatter.formatJson(line)

export const jsonLogger = Logger.make((options) => {
  const { cause, fields, level, message, timestamp } = entryOf(options)
  const { spanId, traceId } = lineIdsOf(options.fiber.context)
  return toJson({ timestamp, level, message, traceId, spanId, annotations: fields, cause }, fields)
})

const shown = (value: unknown) => Predicate.isString(value) ? value : Formatter.formatJson(value)

/** Writes one line for a person, with the fields and the request's id. A cause follows with its stack. */
const prettyLogger = Logger.make((options) => {
  const { cause, fields, level, message, timestamp } = entryOf(options)
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`)
  const { id } = Context.get(options.fiber.context, RequestNotes)
  const line = [timestamp.slice(11, 23), level, message, ...pairs, ...id === "" ? [] : [`traceId=${id}`]].join(" ")
  return cause === undefined ? line : `${line}\n${cause}`
})

export const onceAMinute = (line: Effect.Effect<void>) => Effect.cachedWithTTL(line, "1 minute")

export const logSettings = (format: Format) =>
  Config.all({
    level: settings.LOG_LEVEL,
    format: Config.map(settings.LOG_FORMAT, Option.getOrElse(() => format))
  })

export const loggingLayer = ({ format, level }: LogSettings) =>
  Layer.mergeAll(
    Layer.provideMerge(
      Logger.layer([Logger.withConsoleLog(format === "json" ? jsonLogger : prettyLogger)]),
      consoleLayer
    ),
    Layer.succeed(LogFormat, format),
    Layer.succeed(References.MinimumLogLevel, level)
  )
