import { type Schema, SchemaIssue } from "effect"
import type { ValidationIssue } from "./Errors.ts"

export const MAX_ISSUES = 100

const format = SchemaIssue.makeFormatterStandardSchemaV1()

export const formatIssue = (issue: SchemaIssue.Issue): ReadonlyArray<ValidationIssue> =>
  format(issue).issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({
    path: (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
    message
  }))

export const issuesOf = (error: Schema.SchemaError): ReadonlyArray<ValidationIssue> => formatIssue(error.issue)
