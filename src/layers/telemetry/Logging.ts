import { Config, Effect, Formatter, Layer, Logger, LogLevel, Predicate, References } from "effect"
import { lineIdsOf } from "../../services/metrics/TraceIds.ts"
import { LOG_FORMATS, LogFormat } from "../../services/settings/LogFormat.ts"
import { SettingsRefused } from "../Refusal.ts"
import { consoleLayer } from "./StandardOutput.ts"

type Format = typeof LOG_FORMATS[number]

interface LogSettings {
  readonly level: LogLevel.LogLevel
  readonly format: Format
}

const LEVELS = new Map(LogLevel.values.map((level) => [level.toLowerCase(), level]))

const partsOf = (logged: unknown) => {
  if (Predicate.isString(logged)) return { message: logged, fields: {} }
  const parts = Array.isArray(logged) ? logged : [logged]
  return {
    message: parts.filter((part) => !Predicate.isObject(part)).map(String).join(" "),
    fields: Object.assign({}, ...parts.filter(Predicate.isObject))
  }
}

export const jsonLogger = Logger.make((options) => {
  const { annotations, cause, level, message: logged, timestamp } = Logger.formatStructured.log(options)
  const { spanId, traceId } = lineIdsOf(options.fiber.context)
  const { fields, message } = partsOf(logged)
  return Formatter.formatJson({
    timestamp,
    level,
    message,
    traceId,
    spanId,
    annotations: { ...annotations, ...fields },
    cause
  })
})

const jsonLayer = Logger.layer([Logger.withConsoleLog(jsonLogger)]).pipe(Layer.provideMerge(consoleLayer))

const shown = (value: unknown) => Predicate.isString(value) ? value : Formatter.formatJson(value)

/** One line for a person: time of day, level, message and fields. A cause follows with its stack. */
const prettyLogger = Logger.make((options) => {
  const { annotations, cause, level, message: logged, timestamp } = Logger.formatStructured.log(options)
  const { fields, message } = partsOf(logged)
  const pairs = Object.entries({ ...annotations, ...fields }).map(([name, value]) => `${name}=${shown(value)}`)
  const line = [timestamp.slice(11, 23), level, message, ...pairs].join(" ")
  return cause === undefined ? line : `${line}\n${shown(cause)}`
})

const prettyLayer = Logger.layer([Logger.withConsoleLog(prettyLogger)]).pipe(Layer.provideMerge(consoleLayer))

const oneOf = <A>(name: string, fallback: string, find: (text: string) => A | undefined, names: Iterable<string>) =>
  Config.String(name).pipe(
    Config.withDefault(fallback),
    Effect.flatMap((text) => {
      const found = find(text.toLowerCase())
      return found === undefined
        ? Effect.fail(new SettingsRefused({ message: `${name}: Expected one of ${[...names].join(", ")}` }))
        : Effect.succeed(found)
    })
  )

export const logSettings = (format: Format) =>
  Effect.all({
    level: oneOf("LOG_LEVEL", "info", (text) => LEVELS.get(text), LEVELS.keys()),
    format: oneOf("LOG_FORMAT", format, (text) => LOG_FORMATS.find((format) => format === text), LOG_FORMATS)
  })

export const DEFAULT_LOG_SETTINGS: LogSettings = { level: "Info", format: "json" }

export const loggingLayer = ({ format, level }: LogSettings) =>
  Layer.mergeAll(
    format === "json" ? jsonLayer : prettyLayer,
    Layer.succeed(LogFormat, format),
    Layer.succeed(References.MinimumLogLevel, level)
  )
