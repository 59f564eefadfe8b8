import { resolveByName } from "../src/layers/process/Imports.ts"

resolveByName()

const [{ Layer }, { run }, { developmentLayer }] = await Promise.all([
  import("effect"),
  import("../src/layers/process/Run.ts"),
  import("./Development.ts")
])

run(Layer.launch(developmentLayer), "pretty")
