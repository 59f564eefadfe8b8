import { Cause, Config, Schema } from "effect"
import { issuesOf } from "../schema/Issues.ts"

/** The service cannot start as it is configured; the message names every setting to mend, and no value. */
export class SettingsRefused extends Schema.TaggedError<SettingsRefused>()("SettingsRefused", {
  message: Schema.String
}) {}

/** An error's words, then those of what caused it. */
const messagesOf = (error: unknown): ReadonlyArray<string> =>
  error instanceof Error ? [error.message, ...messagesOf(error.cause)] : []

const wordsOf = (error: unknown): string => {
  if (!(error instanceof Config.ConfigError)) return [...new Set(messagesOf(error))].join(": ")
  return Schema.isSchemaError(error.cause)
    ? issuesOf(error.cause).map(({ message, path }) => `${path}: ${message}`).join("; ")
    : error.message
}

/** Why a start failed, in words and without a value of a setting; empty for defects, of which only the cause can tell. */
export const refusalOf = (cause: Cause.Cause<unknown>): string =>
  Cause.hasDies(cause)
    ? ""
    : [...new Set(cause.reasons.filter(Cause.isFailReason).map(({ error }) => wordsOf(error)))].join("; ")
