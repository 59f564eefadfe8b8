import { type Schema, SchemaIssue } from "effect"
import type { ValidationIssue } from "./Errors.ts"

/** A client mends a request by its first errors; the rest of a very wrong one is only bulk. */
export const MAX_ISSUES = 100

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** The leaves of an issue, each with its dotted path. */
export const formatIssue = (issue: SchemaIssue.Issue): ReadonlyArray<ValidationIssue> =>
  format(issue).issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({
    path: (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
    message
  }))

/** What a schema refused, as a client is told. */
export const issuesOf = (error: Schema.SchemaError): ReadonlyArray<ValidationIssue> => formatIssue(error.issue)
