import { Layer } from "effect"
import { databaseLayer } from "./layers/Database.ts"
import { applicationLayer } from "./layers/Live.ts"
import { mailerLayer } from "./layers/Mail.ts"
import { run } from "./layers/process/Run.ts"
import { inWorkers } from "./layers/process/Workers.ts"
import { settingsLayer } from "./layers/Settings.ts"
import { Places } from "./services/places/Places.ts"

applicationLayer.pipe(
  Layer.provide([mailerLayer, Places.layer]),
  Layer.provide(databaseLayer),
  Layer.provide(settingsLayer),
  Layer.launch,
  inWorkers,
  run
)
