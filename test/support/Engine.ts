import { Context, Effect, Layer, Schema } from "effect"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { engineEnvironment, installInto, madeOnce } from "../../development/RoutingEnginePackages.ts"
import { routingEngine } from "../../development/RoutingEngineProcess.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")

/** The engine and its tiles are kept here between runs. */
export const ENGINE_DIRECTORY = join(ROOT, ".data", "engine")

const OSMIUM = "osmium==4.3.2"

/** This Python package makes an extract of a drawn map. */
export const OSMIUM_DIRECTORY = join(ENGINE_DIRECTORY, OSMIUM.replace("==", "-"))

const install = async () => {
  const environment = await engineEnvironment(ENGINE_DIRECTORY)
  await madeOnce(OSMIUM_DIRECTORY, (prepared) => installInto(environment, prepared, OSMIUM))
}

const inOneLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).replaceAll("\n", "; ")

/** True means that the engine is installed. If it cannot be, one line says why tests of it are skipped. */
export const hasEngine = await install().then(() => true, (error: unknown) => {
  process.stderr.write(`skipped: the routing engine cannot be installed in .data/engine: ${inOneLine(error)}\n`)
  return false
})

/** Returns real roads for the engine: `ENGINE_EXTRACT`, or Liechtenstein if that is beside the repository. */
export const extractFile = (): string | undefined => {
  const beside = resolve(ROOT, "..", "shared", "data", "liechtenstein.osm.pbf")
  return process.env["ENGINE_EXTRACT"] ?? (existsSync(beside) ? beside : undefined)
}

export class Engine extends Context.Service<Engine, { readonly url: URL }>()("test/Engine") {}

/** Starts the engine with the roads of a file, on its own port. */
export const engineLayer = (extract: string) =>
  Layer.effect(Engine, routingEngine({ directory: ENGINE_DIRECTORY, extract, port: undefined }))

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** Returns the engine's response to a call that clients of the service can never make. */
export const askEngine = (path: string, request: unknown) =>
  Effect.flatMap(Engine, ({ url }) =>
    Effect.promise(async (signal) => {
      const response = await fetch(new URL(path, url), { method: "POST", body: JSON.stringify(request), signal })
      return { status: response.status, body: decodeJson(await response.text()) }
    }))
