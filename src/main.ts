import { Effect, Layer } from "effect"
import { run } from "./layers/Run.ts"
import { settingsLayer } from "./layers/Settings.ts"

/** Loaded once the settings are right: a start that they refuse ends in a third of the time. */
const production = Effect.promise(() => import("./layers/Production.ts"))

run(Effect.flatMap(production, ({ productionLayer }) => Layer.launch(productionLayer)), { settings: settingsLayer })
