import { Effect } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import { DEGREES, isLatitude, isLongitude, type Position } from "../../schema/Geometry.ts"

const MAX_REPORTED = 20

/** How many positions of a file are read. Of more than a route may have, those that shape it least are left out. */
export const MAX_READ_POSITIONS = 500_000

/** How many words of a list are looked at, like the tags of a file. */
export const MAX_WORDS = 10_000

const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** A finite number in decimal notation, with or without an exponent; `undefined` for everything else. */
export const numberOf = (text: string | undefined): number | undefined => {
  if (text === undefined || !NUMBER.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

const withoutExponent = (text: string): string => {
  const [, sign = "", whole = "", fraction = "", exponent] = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? []
  const point = whole.length + Number(exponent)
  const digits = whole + fraction
  return point <= 0
    ? `${sign}0.${"0".repeat(-point)}${digits}`
    : `${sign}${digits.padEnd(point, "0")}`
}

/**
 * The shortest digits that parse back to the identical double, never with an exponent, which `xsd:decimal` does not know
 * (XML Schema Part 2, 3.2.3). `value` is finite.
 */
export const decimal = (value: number): string => {
  if (Object.is(value, -0)) return "-0"
  // `String` prints the same, and keeps what it printed in a cache of the engine: a long file would fill the heap with it.
  const text = JSON.stringify(value)
  return text.includes("e") ? withoutExponent(text) : text
}

/** A position on Earth, with its elevation where there is one; `undefined` where it would lie outside. */
export const positionOf = (
  lng: number | undefined,
  lat: number | undefined,
  elevation: number | undefined
): Position | undefined => {
  if (!isLongitude(lng) || !isLatitude(lat)) return undefined
  return elevation === undefined ? [lng, lat] : [lng, lat, elevation]
}

/** Longitude and latitude alone. */
export const coordOf = ([lng, lat]: Position): readonly [lng: number, lat: number] => [lng, lat]

/** What a list of positions is called in an error, its path, and how many there may be. */
interface Listed {
  readonly what: string
  readonly path: string
  readonly max: number
}

const POSITION_EXPECTED =
  `Expected a longitude of ${DEGREES.longitude} and a latitude of ${DEGREES.latitude}, as decimal numbers`

/**
 * The positions of all items, or a refusal that names the first broken ones by their index below `path`. Of too many
 * none is read.
 */
export const allPositions = <Item>(
  items: ReadonlyArray<Item>,
  read: (item: Item) => Position | undefined,
  { max, path, what }: Listed
): Effect.Effect<ReadonlyArray<Position>, ValidationFailed> => {
  if (items.length > max) return Effect.fail(tooMany(what, items.length, max))
  const positions = items.map(read)
  const sound = positions.filter((position) => position !== undefined)
  if (sound.length === positions.length) return Effect.succeed(sound)
  const issues = positions.flatMap((position, index) =>
    position === undefined ? [{ path: `${path}.${index}`, message: POSITION_EXPECTED }] : []
  )
  return Effect.fail(ValidationFailed.of(issues.slice(0, MAX_REPORTED)))
}

/** A route has at most `max` of these, and the file has more. */
export const tooMany = (what: string, count: number, max: number): ValidationFailed =>
  ValidationFailed.at("", `The file has ${count} ${what}; at most ${max} are accepted`)

/** Takes the items in their order: each call the next `count` of them. */
export const takerOf = <Item>(items: ReadonlyArray<Item>) => {
  const taken = { count: 0 }
  return (count: number): ReadonlyArray<Item> => {
    const from = taken.count
    taken.count += count
    return items.slice(from, taken.count)
  }
}

/** The next items in groups of these lengths, without those of none. */
export const nextGroups = <Item>(
  next: (count: number) => ReadonlyArray<Item>,
  lengths: ReadonlyArray<number>
): ReadonlyArray<ReadonlyArray<Item>> => lengths.filter((length) => length > 0).map(next)
