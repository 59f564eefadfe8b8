import { resolveByName } from "./layers/process/Imports.ts"

resolveByName()

const [{ Effect, Layer }, { run }, { inWorkers }, { settingsLayer }] = await Promise.all([
  import("effect"),
  import("./layers/process/Run.ts"),
  import("./layers/process/Workers.ts"),
  import("./layers/Settings.ts")
])

/** Imported by the processes that serve only: one that supervises workers would load it for nothing. */
const service = Effect.promise(() => import("./layers/Production.ts")).pipe(
  Effect.flatMap(({ productionLayer }) => Layer.launch(productionLayer))
)

run(inWorkers(service), { settings: settingsLayer })
