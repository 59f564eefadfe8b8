import { Result } from "effect"
import { createHash } from "node:crypto"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"

export interface LongBody<Parts> {
  readonly digest: string
  /** The body without its long parts; empty if it is refused. */
  readonly text: string
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly parts: Parts | undefined
}

interface Split<Parts> {
  readonly rest: unknown
  readonly parts: Parts
}

type Refusable<A> = Result.Result<A, ReadonlyArray<ValidationIssue>>

export const digestOf = (bytes: ArrayBuffer): string =>
  createHash("sha256").update(new Uint8Array(bytes)).digest("base64url")

/** The result is short: issues, or the members as text with the results for the long parts. */
export const longBodyJob = <Parts>(
  module: string,
  name: string,
  read: (text: Buffer) => Refusable<Split<Parts>>
): HeavyJob<ArrayBuffer, LongBody<Parts>> =>
  new HeavyJob(module, {
    name,
    share: "bodies",
    run: (bytes) => {
      const digest = digestOf(bytes)
      return Result.match(read(Buffer.from(bytes)), {
        onFailure: (issues) => ({ digest, text: "", issues, parts: undefined }),
        onSuccess: ({ parts, rest }) => ({ digest, text: JSON.stringify(rest), issues: [], parts })
      })
    }
  })
