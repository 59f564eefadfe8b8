import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { mkdir, readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { engineEnvironment, madeOnce, outputOf, pythonOf } from "../../development/RoutingEnginePackages.ts"
import { ENGINE_DIRECTORY, engineLayer, OSMIUM_DIRECTORY } from "./Engine.ts"

const MAP = resolve(import.meta.dirname, "..", "town", "town.osm")

const CONVERT = `
import sys
packages, source, target = sys.argv[1:]
sys.path.insert(0, packages)
import osmium
writer = osmium.SimpleWriter(target)
for thing in osmium.FileProcessor(source):
    writer.add(thing)
writer.close()
`

/** Returns the town in the engine's format, made once for each state of the map. */
export const townExtract = async (): Promise<string> => {
  const environment = await engineEnvironment(ENGINE_DIRECTORY)
  const digest = createHash("sha256").update(await readFile(MAP)).digest("hex").slice(0, 12)
  const directory = join(ENGINE_DIRECTORY, `town-${digest}`)
  await madeOnce(directory, async (prepared) => {
    await mkdir(prepared)
    await outputOf(pythonOf(environment), ["-c", CONVERT, OSMIUM_DIRECTORY, MAP, join(prepared, "town.osm.pbf")])
  })
  return join(directory, "town.osm.pbf")
}

/** Starts the engine with the roads of the town that `test/town/town.osm` draws. */
export const townLayer = Layer.unwrap(Effect.map(Effect.promise(townExtract), engineLayer))

export interface Place {
  readonly lat: number
  readonly lon: number
}

const place = (lat: number, lon: number): Place => ({ lat, lon })

export const TOWN = {
  busyWest: place(0.01, 10),
  busyEast: place(0.01, 10.01),
  dirtWest: place(0.02, 10),
  dirtEast: place(0.02, 10.01),
  firmWest: place(0.002, 10),
  firmEast: place(0.002, 10.01),
  closedWest: place(0.03, 10),
  closedEast: place(0.03, 10.01),
  landingWest: place(0.01, 10.02),
  landingEast: place(0.01, 10.04),
  eastEnd: place(0.01, 10.045),
  motorwayWest: place(-0.01, 10),
  motorwayEast: place(-0.01, 10.01),
  /** The motorway leads here, and no other road does. */
  outpost: place(-0.01, 10.025),
  fieldWest: place(-0.021, 10),
  fieldEast: place(-0.021, 10.01),
  island: place(0.045, 10.046),
  /** The place is in the middle of the river, 1,113 m from its banks, the bridge and the ferry. */
  river: place(0.02, 10.03),
  /** The meadow is 890 m west of the street. */
  meadow: place(0.002, 9.992),
  /** The ocean is 200 km from the town: the engine looks for roads within 35 km. */
  ocean: place(0, 12)
} as const
