import { Layer } from "effect"
import { databaseLayer } from "./layers/Database.ts"
import { applicationLayer, mailerLayer } from "./layers/Live.ts"
import { run } from "./layers/Run.ts"
import { settingsLayer } from "./layers/Settings.ts"

applicationLayer.pipe(
  Layer.provide(mailerLayer),
  Layer.provide(databaseLayer),
  Layer.provide(settingsLayer),
  Layer.launch,
  run
)
