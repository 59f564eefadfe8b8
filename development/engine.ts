import { Config, Effect, Schema } from "effect"
import { access, constants } from "node:fs/promises"
import { resolve } from "node:path"
import { run } from "../src/layers/process/Run.ts"
import { wellFormedLayer } from "../src/layers/Settings.ts"
import { logChecks } from "../src/layers/telemetry/Logging.ts"
import { routingEngine } from "./RoutingEngineProcess.ts"

class ExtractMissing extends Schema.TaggedError<ExtractMissing>()("ExtractMissing", { message: Schema.String }) {}

/** Ports that `fetch` refuses (Fetch Standard, "port blocking"), and browsers with it. */
const BLOCKED_PORTS = new Set(
  `1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123
   135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990
   993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080`.split(/\s+/)
    .map(Number)
)

const EnginePort = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: 65_535 }),
  Schema.makeFilter((port) => BLOCKED_PORTS.has(port) ? "Expected a port that fetch does not refuse" : undefined)
)

const enginePort = Config.schema(EnginePort, "ENGINE_PORT").pipe(Config.withDefault(8002))

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
  const directory = resolve(yield* Config.String("DATA_DIR").pipe(Config.withDefault(".data")), "engine")
  const { url } = yield* routingEngine({ directory, extract, port: yield* enginePort })
  yield* Effect.logInfo("the routing engine is ready").pipe(Effect.annotateLogs({ url: url.href, extract }))
  return yield* Effect.never
})

run(Effect.scoped(serve), { format: "pretty", settings: wellFormedLayer([enginePort, ...logChecks]) })
