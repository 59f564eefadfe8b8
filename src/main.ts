import { Layer } from "effect"
import { run } from "./layers/process/Run.ts"
import { productionLayer } from "./layers/Production.ts"
import { settingsLayer } from "./layers/Settings.ts"

run(Layer.launch(productionLayer), { settings: settingsLayer })
