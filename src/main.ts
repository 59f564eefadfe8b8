import { Effect, Layer } from "effect"
import { run } from "./layers/Run.ts"
import { settingsLayer } from "./layers/Settings.ts"

/** The service is loaded once its settings are right, so that a refused start ends sooner. */
const production = Effect.promise(() => import("./layers/Production.ts"))

run(Effect.flatMap(production, ({ productionLayer }) => Layer.launch(productionLayer)), { settings: settingsLayer })
