import { Result } from "effect"
import { createHash } from "node:crypto"
import type { ValidationIssue } from "../../schema/Errors.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"

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

/** Reads a long body. What comes back is short: the issues, or the members as text and what was made of the long ones. */
export const longBodyJob = <Parts>(
  name: string,
  read: (text: Buffer) => Refusable<Split<Parts>>
): HeavyJob<ArrayBuffer, LongBody<Parts>> => ({
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
