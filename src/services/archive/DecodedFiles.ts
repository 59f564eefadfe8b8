import { Effect, Function, Result, type Schema } from "effect"
import { ArchivedProfile } from "../../schema/Archive.ts"
import type { ValidationIssue } from "../../schema/Errors.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded } from "../json/BoundedJson.ts"

/** A part of an archive that was decoded, or what is wrong with it. */
export type Outcome<A> = { readonly value: A } | { readonly issues: ReadonlyArray<ValidationIssue> }

/** Issues of a part of an archive, by where that part is. */
const below = (place: string, issues: ReadonlyArray<ValidationIssue>): ReadonlyArray<ValidationIssue> =>
  issues.map(({ message, path }) => ({ path: path === "" ? place : `${place}.${path}`, message }))

/** Decodes JSON texts that stand at a place of an archive. What that needs is made for the first of them. */
export const decoderOf = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decoder = Function.memoize(decodeBounded<S>)
  return (place: string, json: string): Outcome<S["Type"]> =>
    Result.match(Effect.runSync(Effect.result(decoder(schema)(json))), {
      onSuccess: (value) => ({ value }),
      onFailure: (issues) => ({ issues: below(place, issues) })
    })
}

export const PROFILE = "profile.json"

const decodeProfile = decoderOf(ArchivedProfile)

/** The share of all jobs of archives. */
export const ARCHIVES = "archives"

/** Reads what an import takes of a profile. */
export const readProfile: HeavyJob<ArrayBuffer, Outcome<typeof ArchivedProfile.Type>> = {
  name: "read profile",
  share: ARCHIVES,
  run: (bytes) => decodeProfile(PROFILE, new TextDecoder().decode(bytes))
}
