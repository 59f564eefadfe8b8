import type { ValidationIssue } from "../../schema/Issues.ts"
import { JSON_LIMITS } from "../../schema/Limits.ts"

export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

export interface TextLimits {
  readonly depth: number
  readonly values: number
  readonly what?: string
}

export const endOfString = (text: Uint8Array, from: number): number => {
  for (let index = from; index < text.length; index++) {
    const byte = text[index]
    if (byte === QUOTE) return index
    if (byte === BACKSLASH) index++
  }
  return text.length
}

const excess = (most: number, what: string): ValidationIssue => ({
  path: "",
  message: `Expected at most ${most} ${what}`
})

/** Finds the first excess before parsing, in one pass that builds nothing, up to the end of the value or a syntax error. */
export const excessOf = (
  text: Uint8Array,
  { depth, values, what = "values in all" }: TextLimits
): ValidationIssue | undefined => {
  const membersLeft = new Float64Array(depth)
  let level = -1
  let valuesLeft = values
  for (let index = 0; index < text.length; index++) {
    const byte = text[index] ?? 0
    if (byte > COMMA && byte < OPEN_ARRAY) continue
    if (byte === COMMA) {
      if (level < 0) return undefined
      const left = (membersLeft[level] ?? 0) - 1
      if (left === 0) return excess(JSON_LIMITS.members, "members")
      membersLeft[level] = left
      if (--valuesLeft < 0) return excess(values, what)
    } else if (byte === QUOTE) {
      index = endOfString(text, index + 1)
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (++level === depth) return excess(depth, "levels")
      membersLeft[level] = byte === OPEN_OBJECT ? JSON_LIMITS.members : Infinity
      if (--valuesLeft < 0) return excess(values, what)
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (--level < 0) return undefined
    }
  }
  return undefined
}
