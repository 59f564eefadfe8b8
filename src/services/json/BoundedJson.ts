import { Effect, Result, Schema } from "effect"
import type { ValidationIssue } from "../../schema/Errors.ts"
import { issueCollector } from "./IssueCollector.ts"
import { limitsOf } from "./JsonLimits.ts"
import { excessOf } from "./JsonScanner.ts"

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

/** Decodes a JSON text. Fails with what is wrong with it, before it is parsed where that would cost too much. */
export const decodeBounded = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const { excessOf, refusalsOf } = boundsOf(schema)
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return (json: string): Effect.Effect<S["Type"], ReadonlyArray<ValidationIssue>> => {
    const excess = excessOf(Buffer.from(json))
    return excess.length > 0 ? Effect.fail(excess) : Effect.mapError(decode(json), () => refusalsOf(json))
  }
}
