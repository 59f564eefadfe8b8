import { Function, Option, Result, Schema } from "effect"
import { NOT_UTF8, type ValidationIssue } from "../../schema/Issues.ts"
import { issueCollector } from "./IssueCollector.ts"
import { limitsOf } from "./JsonLimits.ts"
import { excessOf } from "./JsonScanner.ts"

const notUtf8: ReadonlyArray<ValidationIssue> = [{ path: "", message: NOT_UTF8 }]

const NOT_JSON: ReadonlyArray<ValidationIssue> = [{ path: "", message: "Expected valid JSON" }]

const parse = (text: string): Result.Result<unknown, ReadonlyArray<ValidationIssue>> =>
  Result.try({ try: () => JSON.parse(text), catch: () => NOT_JSON })

export const boundsOf = (schema: Schema.Constraint) => {
  const limits = limitsOf(schema)
  const collect = issueCollector(schema)
  return {
    excessOf: (text: Buffer): ReadonlyArray<ValidationIssue> => {
      const excess = excessOf(text, limits)
      return excess === undefined ? [] : [excess]
    },
    refusalsOf: (text: string): ReadonlyArray<ValidationIssue> =>
      Result.match(parse(text), { onSuccess: collect, onFailure: (issues) => issues })
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decodeUtf8 = Option.liftThrowable((bytes: ArrayBuffer | Uint8Array) => utf8.decode(bytes))

/** Checks limits before parsing; `taken` values, removed from the text before, count. */
export const decodeBounded = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  // Built for the first text, since most threads do not read all kinds.
  const toolsOf = Function.memoize((schema: S) => ({
    limits: limitsOf(schema),
    decode: Schema.decodeUnknownResult(schema),
    issuesOf: issueCollector(schema)
  }))
  return (text: Buffer, taken = 0): Result.Result<S["Type"], ReadonlyArray<ValidationIssue>> => {
    const { decode, issuesOf, limits } = toolsOf(schema)
    const excess = excessOf(text, { ...limits, maxValues: limits.maxValues - taken })
    if (excess !== undefined) return Result.fail([excess])
    return Result.fromOption(decodeUtf8(text), () => notUtf8).pipe(
      Result.flatMap(parse),
      Result.flatMap((value) => Result.mapError(decode(value), () => issuesOf(value)))
    )
  }
}
