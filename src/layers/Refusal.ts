import { Cause, Config, Predicate, Schema, SchemaAST, type SchemaIssue } from "effect"
import { issuesOf, type ValidationIssue } from "../schema/Issues.ts"
import { registry } from "../services/settings/Registry.ts"

/** The message names every setting that is wrong, and no value. */
export class SettingsRefused extends Schema.TaggedError<SettingsRefused>()("SettingsRefused", {
  message: Schema.String
}) {}

const messagesOf = (error: unknown): ReadonlyArray<string> =>
  error instanceof Error ? [error.message, ...messagesOf(error.cause)] : []

const ListenError = Schema.Struct({
  code: Schema.String,
  syscall: Schema.Literals(["listen", "getaddrinfo"]),
  address: Schema.optional(Schema.String),
  hostname: Schema.optional(Schema.String),
  port: Schema.optional(Schema.Number)
})

const isListenError = Schema.is(ListenError)

const LISTEN_COMPLAINTS: Readonly<Record<string, (host: string, port: number | undefined) => string>> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} of ${host} is in use: stop the process that listens there, or set PORT to another`,
  EACCES: (_host, port) => `Port ${port} may not be used by this user: set PORT to 1024 or above`,
  EADDRNOTAVAIL: (host) => `HOST ${host} is not an address of this machine`,
  ENOTFOUND: (host) => `HOST ${host} is not an address of this machine`
}

/** Undefined for other errors: the address of the database may be unknown, too. */
const listenProblem = (error: unknown): string | undefined => {
  const cause = Predicate.isTagged(error, "ServeError") && Predicate.hasProperty(error, "cause") ? error.cause : error
  if (!isListenError(cause)) return undefined
  return LISTEN_COMPLAINTS[cause.code]?.(cause.address ?? cause.hostname ?? "", cause.port)
}

const isMissing = (issue: SchemaIssue.Issue): boolean => {
  switch (issue._tag) {
    case "Encoding":
    case "Pointer":
      return isMissing(issue.issue)
    default:
      return issue._tag === "InvalidType" && SchemaAST.isString(issue.ast)
  }
}

const withExample = (name: string, problem: string): string => {
  const example = registry.find((setting) => setting.name === name)?.example
  return example === undefined ? problem : `${problem} (for example ${name}=${example})`
}

const settingProblem = ({ cause, message }: Config.ConfigError): string => {
  if (!Schema.isSchemaError(cause)) return message
  const problem = (issue: ValidationIssue) =>
    isMissing(cause.issue) ? `${issue.path} is missing` : `${issue.path}: ${issue.message}`
  return issuesOf(cause).map((issue) => withExample(issue.path.split(".")[0] ?? "", problem(issue))).join("; ")
}

export const problemOf = (error: unknown): string => {
  const problem = listenProblem(error)
  if (problem !== undefined) return problem
  if (error instanceof Config.ConfigError) return settingProblem(error)
  return [...new Set(messagesOf(error))].filter((text) => text !== "").join(": ")
}

export const refusalOf = (cause: Cause.Cause<unknown>): string => {
  const errors = cause.reasons.flatMap((reason) => {
    if (Cause.isFailReason(reason)) return [reason.error]
    return Cause.isDieReason(reason) ? [reason.defect] : []
  })
  return [...new Set(errors.map(problemOf))].join("; ").replaceAll(/\s*\n\s*/g, " | ")
}
