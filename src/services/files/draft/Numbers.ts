import { Effect } from "effect"
import { DEGREES, isLatitude, isLongitude, type Position } from "../../../schema/Geometry.ts"
import { InvalidInput } from "../../DomainErrors.ts"

const MAX_REPORTED = 20

/** Read from a file; those that shape a route least are left out afterwards. */
export const MAX_READ_POSITIONS = 500_000

export const MAX_WORDS = 10_000

const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

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

/** The shortest digits of the double, without an exponent, which `xsd:decimal` lacks (XML Schema Part 2, 3.2.3). */
export const decimal = (value: number): string => {
  if (Object.is(value, -0)) return "-0"
  // `String` caches what it printed: a long file would fill the heap.
  const text = JSON.stringify(value)
  return text.includes("e") ? withoutExponent(text) : text
}

export const positionOf = (
  lng: number | undefined,
  lat: number | undefined,
  elevation: number | undefined
): Position | undefined => {
  if (!isLongitude(lng) || !isLatitude(lat)) return undefined
  return elevation === undefined ? [lng, lat] : [lng, lat, elevation]
}

export const coordOf = ([lng, lat]: Position): readonly [lng: number, lat: number] => [lng, lat]

interface Listed {
  readonly what: string
  readonly path: string
  readonly max: number
}

const POSITION_EXPECTED =
  `Expected a longitude of ${DEGREES.longitude} and a latitude of ${DEGREES.latitude}, as decimal numbers`

/** Fails with the first invalid ones by index below `path`. Reads nothing where there are too many. */
export const allPositions = <Item>(
  items: ReadonlyArray<Item>,
  read: (item: Item) => Position | undefined,
  { max, path, what }: Listed
): Effect.Effect<ReadonlyArray<Position>, InvalidInput> => {
  if (items.length > max) return Effect.fail(tooMany(what, items.length, max))
  const positions = items.map(read)
  const sound = positions.filter((position) => position !== undefined)
  if (sound.length === positions.length) return Effect.succeed(sound)
  const issues = positions.flatMap((position, index) =>
    position === undefined ? [{ path: `${path}.${index}`, message: POSITION_EXPECTED }] : []
  )
  return Effect.fail(new InvalidInput({ issues: issues.slice(0, MAX_REPORTED) }))
}

export const tooMany = (what: string, count: number, max: number): InvalidInput =>
  InvalidInput.at("", `Expected at most ${max} ${what}, the file has ${count}`)

export const takerOf = <Item>(items: ReadonlyArray<Item>) => {
  const taken = { count: 0 }
  return (count: number): ReadonlyArray<Item> => {
    const from = taken.count
    taken.count += count
    return items.slice(from, taken.count)
  }
}

export const nextGroups = <Item>(
  next: (count: number) => ReadonlyArray<Item>,
  lengths: ReadonlyArray<number>
): ReadonlyArray<ReadonlyArray<Item>> => lengths.filter((length) => length > 0).map(next)
