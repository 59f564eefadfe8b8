import { Effect, Schema } from "effect"
import type { ValidationIssue } from "../../schema/Errors.ts"
import { issuesOf } from "../../schema/Issues.ts"

/** More than anything in an archive has. */
const MAX_DEPTH = 16

/** More than a route of 100,000 positions has: 400,000, and some thousands for its waypoints. */
const MAX_VALUES = 500_000

/** Where the string ends that begins before `from`. */
const endOfString = (json: string, from: number) => {
  for (let end = json.indexOf("\"", from); end !== -1; end = json.indexOf("\"", end + 1)) {
    let before = end - 1
    while (before >= from && json[before] === "\\") before--
    if ((end - before) % 2 === 1) return end
  }
  return json.length
}

/**
 * What makes a text too costly to be parsed, or nothing. A parser keeps everybody waiting for seconds over some megabytes
 * of brackets or commas; this looks at each character once, and at none behind the first that is too much.
 */
const complaintAboutShape = (json: string): string | undefined => {
  let depth = 0
  let values = 0
  for (let index = 0; index < json.length; index++) {
    switch (json[index]) {
      case "\"":
        index = endOfString(json, index + 1)
        break
      case "[":
      case "{":
        depth++
        values++
        break
      case "]":
      case "}":
        depth--
        break
      case ",":
        values++
        break
    }
    if (depth > MAX_DEPTH) return `Expected at most ${MAX_DEPTH} levels`
    if (values > MAX_VALUES) return `Expected at most ${MAX_VALUES} values`
  }
  return undefined
}

/** Decodes a text of an archive. Fails with what is wrong with it, before it is parsed where that would cost too much. */
export const decodeJson = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema), { errors: "all" })
  return (json: string): Effect.Effect<S["Type"], ReadonlyArray<ValidationIssue>> => {
    const complaint = complaintAboutShape(json)
    return complaint === undefined
      ? Effect.mapError(decode(json), issuesOf)
      : Effect.fail([{ path: "", message: complaint }])
  }
}
