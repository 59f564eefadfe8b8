import { Layer } from "effect"
import { databaseLayer } from "./layers/Database.ts"
import { applicationLayer, mailerLayer } from "./layers/Live.ts"
import { run } from "./layers/Run.ts"
import { settingsLayer } from "./layers/Settings.ts"
import { inWorkers } from "./layers/Workers.ts"
import { Places } from "./services/Places.ts"

applicationLayer.pipe(
  Layer.provide([mailerLayer, Places.layer]),
  Layer.provide(databaseLayer),
  Layer.provide(settingsLayer),
  Layer.launch,
  inWorkers,
  run
)
