import type { ValidationIssue } from "../../schema/Issues.ts"
import { JSON_LIMITS } from "../../schema/Limits.ts"
import type { JsonLimits, TextLimits } from "./JsonLimits.ts"

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** More than any name of the contract has, with all characters escaped. */
const MAX_NAME_BYTES = 256

export const endOfString = (text: Uint8Array, from: number): number => {
  for (let index = from; index < text.length; index++) {
    const byte = text[index]
    if (byte === QUOTE) return index
    if (byte === BACKSLASH) index++
  }
  return text.length
}

const nameOf = (text: Buffer, from: number, to: number): string | undefined => {
  if (to - from > MAX_NAME_BYTES) return undefined
  const raw = text.toString("utf8", from, to)
  if (!raw.includes("\\")) return raw
  try {
    return String(JSON.parse(`"${raw}"`))
  } catch {
    return undefined
  }
}

class Levels {
  readonly isObject: Uint8Array
  readonly commas: Uint32Array
  readonly limits: Array<JsonLimits | undefined>
  readonly names: Array<string | undefined>

  constructor(depth: number) {
    this.isObject = new Uint8Array(depth)
    this.commas = new Uint32Array(depth)
    this.limits = Array.from({ length: depth }, () => undefined)
    this.names = Array.from({ length: depth }, () => undefined)
  }

  open(level: number, isObject: boolean, root: JsonLimits | undefined): number {
    const limits = level === 0 ? root : this.limitsInside(level - 1)
    this.isObject[level] = isObject ? 1 : 0
    this.limits[level] = limits
    if (isObject) this.names[level] = undefined
    return isObject ? JSON_LIMITS.members : limits?.maxItems ?? Infinity
  }

  most(level: number): number {
    return this.isObject[level] === 1 ? JSON_LIMITS.members : this.limits[level]?.maxItems ?? Infinity
  }

  pathOf(level: number): string {
    const key = (_: unknown, above: number) => this.isObject[above] === 1 ? this.names[above] : this.commas[above]
    return this.names.slice(0, level).map(key).join(".")
  }

  private limitsInside(level: number): JsonLimits | undefined {
    const limits = this.limits[level]
    if (limits === undefined) return undefined
    if (this.isObject[level] === 1) return limits.members.get(this.names[level] ?? "")
    const index = this.commas[level] ?? 0
    return index < limits.tuple.length ? limits.tuple[index] : limits.items
  }
}

/**
 * Finds the first excess of levels, values, members or items before a text is parsed: one pass over the bytes that
 * builds nothing. The counts are right up to the first syntax error, where a parser stops.
 */
export const excessOf = (
  text: Buffer,
  { maxDepth = JSON_LIMITS.depth, maxValues, root }: TextLimits
): ValidationIssue | undefined => {
  const levels = new Levels(maxDepth)
  const { length } = text
  // The innermost level is in local variables: there are millions of commas and few levels.
  let level = -1
  let commas = 0
  let most = Infinity
  let isObject = false
  let isAtName = false
  let values = 0
  for (let index = 0; index < length; index++) {
    const byte = text[index] ?? 0
    if (byte > COMMA && byte < OPEN_ARRAY) continue
    if (byte === COMMA) {
      if (++commas === most) {
        return { path: levels.pathOf(level), message: `Expected at most ${most} ${isObject ? "members" : "items"}` }
      }
      isAtName = isObject
      if (++values > maxValues) return tooManyValues(maxValues)
    } else if (byte === QUOTE) {
      const end = endOfString(text, index + 1)
      if (isAtName) {
        isAtName = false
        if (levels.limits[level] !== undefined) levels.names[level] = nameOf(text, index + 1, end)
      }
      index = end
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (level >= 0) levels.commas[level] = commas
      level++
      if (level === maxDepth) return { path: "", message: `Expected at most ${maxDepth} levels` }
      isObject = byte === OPEN_OBJECT
      isAtName = isObject
      most = levels.open(level, isObject, root)
      commas = 0
      if (++values > maxValues) return tooManyValues(maxValues)
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      level--
      if (level < 0) return undefined
      commas = levels.commas[level] ?? 0
      most = levels.most(level)
      isObject = levels.isObject[level] === 1
      isAtName = false
    }
  }
  return undefined
}

const tooManyValues = (maxValues: number): ValidationIssue => ({
  path: "",
  message: `Expected at most ${maxValues} values in all`
})
