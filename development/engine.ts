import { Effect, Schema } from "effect"
import { access, constants } from "node:fs/promises"
import { resolve } from "node:path"
import { run } from "../src/layers/Run.ts"
import { wellFormedLayer } from "../src/layers/Settings.ts"
import { settings } from "../src/services/operations/SettingsRegistry.ts"
import { routingEngine } from "./RoutingEngineProcess.ts"

class ExtractMissing extends Schema.TaggedError<ExtractMissing>()("ExtractMissing", { message: Schema.String }) {}

const extractArgument = Effect.suspend(() => {
  const [, , extract] = process.argv
  return extract === undefined
    ? Effect.fail(
      new ExtractMissing({ message: "Expected a file of OpenStreetMap data: npm run engine -- <file.osm.pbf>" })
    )
    : Effect.succeed(extract)
})

const checkExtract = (extract: string) =>
  Effect.tryPromise({
    try: () => access(extract, constants.R_OK),
    catch: () =>
      new ExtractMissing({
        message: `${extract} cannot be read: Expected a file of OpenStreetMap data (.osm.pbf)`
      })
  })

const serve = Effect.gen(function*() {
  const extract = yield* Effect.tap(extractArgument, checkExtract)
  const directory = resolve(yield* settings.DATA_DIR, "engine")
  const { failed, url } = yield* routingEngine({ directory, extract, port: yield* settings.ENGINE_PORT })
  yield* Effect.logInfo("the routing engine is ready").pipe(Effect.annotateLogs({ url: url.href, extract }))
  return yield* failed
})

run(Effect.scoped(serve), { format: "pretty", settings: wellFormedLayer(["ENGINE_PORT", "LOG_LEVEL", "LOG_FORMAT"]) })
