import { Layer } from "effect"
import { run } from "../src/layers/Run.ts"
import { givenSettingsLayer } from "../src/layers/Settings.ts"
import { developmentLayer } from "./Development.ts"

run(Layer.launch(developmentLayer), { format: "pretty", settings: givenSettingsLayer })
