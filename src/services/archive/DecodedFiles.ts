import { Result, type Schema } from "effect"
import { ArchivedProfile } from "../../schema/Archive.ts"
import type { ValidationIssue } from "../../schema/Errors.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded } from "../json/BoundedJson.ts"

/** A part of an archive that was decoded, or what is wrong with it. */
export type Outcome<A> = { readonly value: A } | { readonly issues: ReadonlyArray<ValidationIssue> }

/** Issues of a part of an archive, by where that part is. */
const below = (place: string, issues: ReadonlyArray<ValidationIssue>): ReadonlyArray<ValidationIssue> =>
  issues.map(({ message, path }) => ({ path: path === "" ? place : `${place}.${path}`, message }))

/** What was decoded at a place of an archive. */
export const outcomeAt = <A>(place: string, decoded: Result.Result<A, ReadonlyArray<ValidationIssue>>): Outcome<A> =>
  Result.match(decoded, {
    onSuccess: (value) => ({ value }),
    onFailure: (issues) => ({ issues: below(place, issues) })
  })

/** Bytes that are no UTF-8 are read as U+FFFD: a file as a whole is not refused for them. */
const lenient = (bytes: ArrayBuffer) => Buffer.from(new TextDecoder().decode(bytes))

/** Decodes a file of an archive that is one JSON text. */
export const fileDecoder = <S extends Schema.ConstraintDecoder<unknown>>(name: string, schema: S) => {
  const decode = decodeBounded(schema)
  return (bytes: ArrayBuffer): Outcome<S["Type"]> => outcomeAt(name, decode(lenient(bytes)))
}

export const PROFILE = "profile.json"

const decodeProfile = fileDecoder(PROFILE, ArchivedProfile)

/** The share of all jobs of archives. */
export const ARCHIVES = "archives"

/** Reads what an import takes of a profile. */
export const readProfile: HeavyJob<ArrayBuffer, Outcome<typeof ArchivedProfile.Type>> = {
  name: "read profile",
  share: ARCHIVES,
  run: decodeProfile
}
