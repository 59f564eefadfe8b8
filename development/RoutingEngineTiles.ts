import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { engineProgram, madeOnce, outputOf, pythonOf } from "./RoutingEnginePackages.ts"

export const writeSettings = async (
  environment: string,
  file: string,
  tiles: string,
  more: Readonly<Record<string, string>> = {}
): Promise<void> => {
  const script = join(environment, "bin", "valhalla_build_config")
  const settings = { "mjolnir-tile-dir": tiles, "mjolnir-tile-extract": "", "logging-color": "false", ...more }
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  await writeFile(file, await outputOf(pythonOf(environment), [script, ...options]))
}

const digestOf = async (file: string) => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(file), hash)
  return hash.digest("hex")
}

export const tilesOf = async (directory: string, environment: string, extract: string): Promise<string> => {
  const tiles = join(directory, `tiles-${(await digestOf(extract)).slice(0, 12)}`)
  await madeOnce(tiles, async (prepared) => {
    await mkdir(prepared)
    const settings = `${prepared}.json`
    await writeSettings(environment, settings, prepared)
    await outputOf(await engineProgram(environment, "valhalla_build_tiles"), ["-c", settings, extract])
  })
  return tiles
}
