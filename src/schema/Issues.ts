import { type Schema, SchemaIssue } from "effect"

export interface ValidationIssue {
  readonly path: string
  readonly message: string
}

export const MAX_ISSUES = 100

export const summaryOf = (issues: ReadonlyArray<ValidationIssue>): string =>
  issues.slice(0, 3).map(({ message, path }) => path === "" ? message : `${path}: ${message}`).join("; ")

const format = SchemaIssue.makeFormatterStandardSchemaV1()

export const formatIssue = (issue: SchemaIssue.Issue): ReadonlyArray<ValidationIssue> =>
  format(issue).issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({
    path: (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
    message
  }))

export const issuesOf = (error: Schema.SchemaError): ReadonlyArray<ValidationIssue> => formatIssue(error.issue)

export const NOT_UTF8 = "Expected valid UTF-8"
