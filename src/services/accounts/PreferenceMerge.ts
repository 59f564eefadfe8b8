import { Predicate } from "effect"
import type { Preferences, PreferencesPatch } from "../../schema/Preferences.ts"

type Members = Readonly<Record<string, unknown>>

/** JSON Merge Patch (RFC 7396): `null` removes a member, objects are merged, everything else replaces. */
const merge = (stored: Members, patch: Members): Members =>
  Object.entries(patch).reduce<Members>((merged, [key, value]) => {
    const { [key]: previous, ...others } = merged
    if (value === null) return others
    return {
      ...others,
      [key]: Predicate.isReadonlyObject(value)
        ? merge(Predicate.isReadonlyObject(previous) ? previous : {}, value)
        : value
    }
  }, stored)

export const mergePreferences = (stored: Preferences, patch: PreferencesPatch): Preferences => merge(stored, patch)
