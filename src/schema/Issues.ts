import { type Schema, SchemaAST, SchemaIssue } from "effect"

export interface ValidationIssue {
  readonly path: string
  readonly message: string
}

/** The path of an issue begins with the part of the request that is wrong. */
export type RequestPart = "body" | "query" | "header" | "path"

export const inPart = (part: RequestPart) => ({ message, path }: ValidationIssue): ValidationIssue => ({
  path: path === "" ? part : `${part}.${path}`,
  message
})

export const MAX_ISSUES = 100

export const summaryOf = (issues: ReadonlyArray<ValidationIssue>): string =>
  issues.slice(0, 3).map(({ message, path }) => path === "" ? message : `${path}: ${message}`).join("; ")

const requiredOf = ({ propertySignatures }: SchemaAST.Objects) =>
  propertySignatures.filter(({ type }) => !SchemaAST.isOptional(type)).map(({ name }) => `\`${String(name)}\``)

/** The decoder's own messages name schemas, or say only that something is missing. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    const message = SchemaIssue.defaultLeafHook(issue)
    if (issue._tag === "MissingKey" && message === "Missing key") return "Required, but missing"
    if (issue._tag !== "InvalidType" || !SchemaAST.isObjects(issue.ast)) return message
    const required = requiredOf(issue.ast)
    return required.length === 0 ? "Expected an object" : `Expected an object with ${required.join(", ")}`
  }
})

export const formatIssue = (issue: SchemaIssue.Issue): ReadonlyArray<ValidationIssue> =>
  format(issue).issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({
    path: (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
    message
  }))

export const issuesOf = (error: Schema.SchemaError): ReadonlyArray<ValidationIssue> => formatIssue(error.issue)

export const NOT_UTF8 = "Expected valid UTF-8"
