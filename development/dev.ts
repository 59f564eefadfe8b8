import { resolveByName } from "../src/layers/process/Imports.ts"

resolveByName()

const [{ Layer }, { run }, { givenSettingsLayer }, { developmentLayer }] = await Promise.all([
  import("effect"),
  import("../src/layers/process/Run.ts"),
  import("../src/layers/Settings.ts"),
  import("./Development.ts")
])

run(Layer.launch(developmentLayer), { format: "pretty", settings: givenSettingsLayer })
