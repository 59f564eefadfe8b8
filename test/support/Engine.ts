import { Context, Effect, Layer, Schema } from "effect"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { engineEnvironment, installInto, madeOnce } from "../../development/RoutingEnginePackages.ts"
import { routingEngine } from "../../development/RoutingEngineProcess.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")

/** Where the engine and its tiles are kept between runs. */
export const ENGINE_DIRECTORY = join(ROOT, ".data", "engine")

const OSMIUM = "osmium==4.3.2"

/** The Python package that makes an extract of a drawn map. */
export const OSMIUM_DIRECTORY = join(ENGINE_DIRECTORY, OSMIUM.replace("==", "-"))

const install = async () => {
  const environment = await engineEnvironment(ENGINE_DIRECTORY)
  await madeOnce(OSMIUM_DIRECTORY, (prepared) => installInto(environment, prepared, OSMIUM))
}

const inOneLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).replaceAll("\n", "; ")

/** Whether the engine is installed, now or before. Where that cannot be done, one line says why tests of it are skipped. */
export const hasEngine = await install().then(() => true, (error: unknown) => {
  process.stderr.write(`skipped: the routing engine cannot be installed in .data/engine: ${inOneLine(error)}\n`)
  return false
})

/** Real roads for the engine: `ENGINE_EXTRACT`, or Liechtenstein where it lies beside the repository. */
export const extractFile = (): string | undefined => {
  const beside = resolve(ROOT, "..", "shared", "data", "liechtenstein.osm.pbf")
  return process.env["ENGINE_EXTRACT"] ?? (existsSync(beside) ? beside : undefined)
}

/** A real Valhalla. */
export class Engine extends Context.Service<Engine, { readonly url: URL }>()("test/Engine") {}

/** The engine with the roads of a file, on a port of its own. */
export const engineLayer = (extract: string) =>
  Layer.effect(Engine, routingEngine({ directory: ENGINE_DIRECTORY, extract, port: undefined }))

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** What the engine answers when it is called as clients of ours never can. */
export const askEngine = (path: string, request: unknown) =>
  Effect.flatMap(Engine, ({ url }) =>
    Effect.promise(async (signal) => {
      const response = await fetch(new URL(path, url), { method: "POST", body: JSON.stringify(request), signal })
      return { status: response.status, body: decodeJson(await response.text()) }
    }))
