import { Result, type Schema } from "effect"
import { ArchivedProfile } from "../../schema/Archive.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { decodeBounded } from "../json/BoundedJson.ts"

export type Outcome<A> = { readonly value: A } | { readonly issues: ReadonlyArray<ValidationIssue> }

const below = (place: string, issues: ReadonlyArray<ValidationIssue>): ReadonlyArray<ValidationIssue> =>
  issues.map(({ message, path }) => ({ path: path === "" ? place : `${place}.${path}`, message }))

export const outcomeAt = <A>(place: string, decoded: Result.Result<A, ReadonlyArray<ValidationIssue>>): Outcome<A> =>
  Result.match(decoded, {
    onSuccess: (value) => ({ value }),
    onFailure: (issues) => ({ issues: below(place, issues) })
  })

/** Invalid UTF-8 becomes U+FFFD, rather than refusing the whole file. */
const lenient = (bytes: ArrayBuffer) => Buffer.from(new TextDecoder().decode(bytes))

export const fileDecoder = <S extends Schema.ConstraintDecoder<unknown>>(name: string, schema: S) => {
  const decode = decodeBounded(schema)
  return (bytes: ArrayBuffer): Outcome<S["Type"]> => outcomeAt(name, decode(lenient(bytes)))
}

export const PROFILE = "profile.json"

const decodeProfile = fileDecoder(PROFILE, ArchivedProfile)

export const ARCHIVES = "archives"

export const readProfile = new HeavyJob<ArrayBuffer, Outcome<typeof ArchivedProfile.Type>>(import.meta.url, {
  name: "read profile",
  share: ARCHIVES,
  run: decodeProfile
})
