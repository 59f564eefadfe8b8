import { Effect, Layer } from "effect"
import { run } from "./layers/Run.ts"
import { settingsLayer } from "./layers/Settings.ts"

/** The service is loaded once its settings are right, so a refused start ends in less than half of the time. */
const production = Effect.promise(() => import("./layers/Production.ts"))

run(Effect.flatMap(production, ({ productionLayer }) => Layer.launch(productionLayer)), { settings: settingsLayer })
