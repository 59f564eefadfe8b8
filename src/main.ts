import { Layer } from "effect"
import { productionLayer } from "./layers/Production.ts"
import { run } from "./layers/Run.ts"
import { settingsLayer } from "./layers/Settings.ts"

run(Layer.launch(productionLayer), { settings: settingsLayer })
