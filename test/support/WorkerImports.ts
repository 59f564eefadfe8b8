import { resolveByName } from "../../src/layers/process/Imports.ts"

resolveByName()
