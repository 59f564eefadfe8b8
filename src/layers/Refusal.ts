import { Cause, Config, Predicate, Schema } from "effect"
import { issuesOf } from "../schema/Issues.ts"
import { withExample } from "./SettingExamples.ts"

/** The service cannot start as it is configured; the message names every setting to mend, and no value. */
export class SettingsRefused extends Schema.TaggedError<SettingsRefused>()("SettingsRefused", {
  message: Schema.String
}) {}

/** An error's words, then those of what caused it. */
const messagesOf = (error: unknown): ReadonlyArray<string> =>
  error instanceof Error ? [error.message, ...messagesOf(error.cause)] : []

const Listening = Schema.Struct({
  syscall: Schema.Literals(["listen", "getaddrinfo", "bind"]),
  code: Schema.String,
  address: Schema.optional(Schema.String),
  hostname: Schema.optional(Schema.String),
  port: Schema.optional(Schema.Number)
})

const isListening = Schema.is(Listening)

const LISTENING: Readonly<Record<string, (host: string, port: number | undefined) => string>> = {
  EADDRINUSE: (host, port) => `Port ${port} of ${host} is in use: end what listens there, or set PORT to another`,
  EACCES: (_host, port) => `Port ${port} may not be used by this user: set PORT to 1024 or above`,
  EADDRNOTAVAIL: (host) => `HOST ${host} is no address of this machine`,
  ENOTFOUND: (host) => `HOST ${host} is no address of this machine`
}

/** Why the service cannot listen; undefined where it is something else. */
const listeningWords = (error: unknown): string | undefined => {
  if (isListening(error)) return LISTENING[error.code]?.(error.address ?? error.hostname ?? "", error.port)
  return Predicate.hasProperty(error, "cause") ? listeningWords(error.cause) : undefined
}

/** What is wrong, in words, without a value of a setting, and how a good one looks. */
export const complaintOf = (error: unknown): string => {
  const told = listeningWords(error)
  if (told !== undefined) return told
  if (!(error instanceof Config.ConfigError)) {
    return [...new Set(messagesOf(error))].filter((text) => text !== "").join(": ")
  }
  return Schema.isSchemaError(error.cause)
    ? issuesOf(error.cause).map(({ message, path }) => withExample(path, `${path}: ${message}`)).join("; ")
    : error.message
}

/** Why a start failed, in a sentence. */
export const refusalOf = (cause: Cause.Cause<unknown>): string => {
  const errors = cause.reasons.flatMap((reason) => {
    if (Cause.isFailReason(reason)) return [reason.error]
    return Cause.isDieReason(reason) ? [reason.defect] : []
  })
  return [...new Set(errors.map(complaintOf))].join("; ")
}
