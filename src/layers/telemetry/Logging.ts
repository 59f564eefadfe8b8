import { Cause, Config, Formatter, Layer, Logger, type LogLevel, Option, Predicate, References } from "effect"
import { lineIdsOf } from "../../services/operations/Tracing.ts"
import { settings } from "../../services/settings/Registry.ts"
import { type LOG_FORMATS, LogFormat } from "../../services/settings/SettingTypes.ts"
import { consoleLayer } from "./StandardOutput.ts"

type Format = typeof LOG_FORMATS[number]

export interface LogSettings {
  readonly level: LogLevel.LogLevel
  readonly format: Format
}

/** What a line says: text and objects of the message, whose members are fields beside the annotations. */
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

/** `Formatter.formatJson` hides secrets and unties circles, for which it calls back for each value. */
const toJson = (line: object, fields: Readonly<Record<string, unknown>>) =>
  Object.values(fields).every(isPrimitive) ? JSON.stringify(line) : Formatter.formatJson(line)

export const jsonLogger = Logger.make((options) => {
  const { cause, fields, level, message, timestamp } = entryOf(options)
  const { spanId, traceId } = lineIdsOf(options.fiber.context)
  return toJson({ timestamp, level, message, traceId, spanId, annotations: fields, cause }, fields)
})

const jsonLayer = Logger.layer([Logger.withConsoleLog(jsonLogger)]).pipe(Layer.provideMerge(consoleLayer))

const shown = (value: unknown) => Predicate.isString(value) ? value : Formatter.formatJson(value)

/** One line for a person: time of day, level, message and fields. A cause follows with its stack. */
const prettyLogger = Logger.make((options) => {
  const { cause, fields, level, message, timestamp } = entryOf(options)
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`)
  const line = [timestamp.slice(11, 23), level, message, ...pairs].join(" ")
  return cause === undefined ? line : `${line}\n${cause}`
})

const prettyLayer = Logger.layer([Logger.withConsoleLog(prettyLogger)]).pipe(Layer.provideMerge(consoleLayer))

export const logSettings = (format: Format) =>
  Config.all({
    level: settings.LOG_LEVEL,
    format: Config.map(settings.LOG_FORMAT, Option.getOrElse(() => format))
  })

export const loggingLayer = ({ format, level }: LogSettings) =>
  Layer.mergeAll(
    format === "json" ? jsonLayer : prettyLayer,
    Layer.succeed(LogFormat, format),
    Layer.succeed(References.MinimumLogLevel, level)
  )
