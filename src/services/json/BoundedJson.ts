import { Function, Option, Result, Schema } from "effect"
import type { ValidationIssue } from "../../schema/Errors.ts"
import { issueCollector } from "./IssueCollector.ts"
import { limitsOf } from "./JsonLimits.ts"
import { excessOf } from "./JsonScanner.ts"

const NOT_UTF8: ReadonlyArray<ValidationIssue> = [{ path: "", message: "Expected valid UTF-8" }]

const NOT_JSON: ReadonlyArray<ValidationIssue> = [{ path: "", message: "Expected valid JSON" }]

const parse = (text: string): Result.Result<unknown, ReadonlyArray<ValidationIssue>> =>
  Result.try({ try: () => JSON.parse(text), catch: () => NOT_JSON })

/** What is checked of a JSON text of a schema before and after it is decoded, each at a cost bounded by its length. */
export const boundsOf = (schema: Schema.Constraint) => {
  const limits = limitsOf(schema)
  const collect = issueCollector(schema)
  return {
    /** The first thing that there is too much of to be parsed at all. */
    excessOf: (text: Buffer): ReadonlyArray<ValidationIssue> => {
      const excess = excessOf(text, limits)
      return excess === undefined ? [] : [excess]
    },
    /** Why the schema refuses a text that it refused; at most 100 reasons. */
    refusalsOf: (text: string): ReadonlyArray<ValidationIssue> =>
      Result.match(parse(text), { onSuccess: collect, onFailure: (issues) => issues })
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decodeUtf8 = Option.liftThrowable((bytes: ArrayBuffer | Uint8Array) => utf8.decode(bytes))

/**
 * Decodes the bytes of a JSON text, counted before they are parsed. Fails with at most 100 issues. Of a text that so many
 * values were `taken` out of before, they count as if they were there.
 */
export const decodeBounded = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  // Made for the first text: the main thread reads no long body, and no thread has to read all kinds.
  const toolsOf = Function.memoize((schema: S) => ({
    limits: limitsOf(schema),
    decode: Schema.decodeUnknownResult(schema),
    issuesOf: issueCollector(schema)
  }))
  return (text: Buffer, taken = 0): Result.Result<S["Type"], ReadonlyArray<ValidationIssue>> => {
    const { decode, issuesOf, limits } = toolsOf(schema)
    const excess = excessOf(text, { ...limits, maxValues: limits.maxValues - taken })
    if (excess !== undefined) return Result.fail([excess])
    return Result.fromOption(decodeUtf8(text), () => NOT_UTF8).pipe(
      Result.flatMap(parse),
      Result.flatMap((value) => Result.mapError(decode(value), () => issuesOf(value)))
    )
  }
}
