import { Effect, Layer } from "effect"
import { run } from "./layers/process/Run.ts"
import { inWorkers } from "./layers/process/Workers.ts"
import { settingsLayer } from "./layers/Settings.ts"

/** Imported by the processes that serve only: one that supervises workers would load it for nothing. */
const service = Effect.promise(() => import("./layers/Production.ts")).pipe(
  Effect.flatMap(({ productionLayer }) => Layer.launch(productionLayer))
)

run(inWorkers(service), { settings: settingsLayer })
