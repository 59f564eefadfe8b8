import { Function, Option, Result, Schema } from "effect"
import { createHash } from "node:crypto"
import type { ValidationIssue } from "../../schema/Errors.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { issueCollector } from "./IssueCollector.ts"
import { limitsOf } from "./JsonLimits.ts"
import { excessOf } from "./JsonScanner.ts"

/** A JSON body that a thread has read. */
export interface LongBody<Parts> {
  /** SHA-256 of the bytes, by which the same request is known. */
  readonly digest: string
  /** The body in its schema without the parts, as JSON text; empty where it is refused. */
  readonly text: string
  /** Why it is refused; at most 100 reasons. */
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly parts: Parts | undefined
}

/** A decoded body without its long members, and what was made of those. */
interface Split<Parts> {
  readonly rest: unknown
  readonly parts: Parts
}

type Refusable<A> = Result.Result<A, ReadonlyArray<ValidationIssue>>

export const digestOf = (bytes: ArrayBuffer): string =>
  createHash("sha256").update(new Uint8Array(bytes)).digest("base64url")

const utf8 = new TextDecoder("utf-8", { fatal: true })

export const decodeUtf8 = Option.liftThrowable((bytes: ArrayBuffer) => utf8.decode(bytes))

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const refusal = (message: string): ReadonlyArray<ValidationIssue> => [{ path: "", message }]

/** Decodes the bytes of a JSON text, counted before they are parsed. Fails with at most 100 issues. */
const readerOf = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const limits = limitsOf(schema)
  const decode = Schema.decodeUnknownResult(schema)
  const issuesOf = issueCollector(schema)
  return (bytes: ArrayBuffer): Refusable<S["Type"]> => {
    const excess = excessOf(Buffer.from(bytes), limits)
    if (excess !== undefined) return Result.fail([excess])
    return Result.fromOption(decodeUtf8(bytes), () => refusal("Expected valid UTF-8")).pipe(
      Result.flatMap((text) => Result.fromOption(parse(text), () => refusal("Expected valid JSON"))),
      Result.flatMap((value) => Result.mapError(decode(value), () => issuesOf(value)))
    )
  }
}

/**
 * Reads a long body of a schema. What comes back is short: the issues, or the members that the schema names as text and
 * what `split` makes of its long members.
 */
export const longBodyJob = <S extends Schema.ConstraintDecoder<unknown>, Parts>(
  name: string,
  schema: S,
  split: (body: S["Type"]) => Refusable<Split<Parts>>
): HeavyJob<ArrayBuffer, LongBody<Parts>> => {
  // Made by the first job of a thread: the main thread reads no long body, and no thread has to read all kinds.
  const reader = Function.memoize(readerOf<S>)
  return {
    name,
    share: "bodies",
    run: (bytes) => {
      const digest = digestOf(bytes)
      return Result.match(Result.flatMap(reader(schema)(bytes), split), {
        onFailure: (issues) => ({ digest, text: "", issues, parts: undefined }),
        onSuccess: ({ parts, rest }) => ({ digest, text: JSON.stringify(rest), issues: [], parts })
      })
    }
  }
}
