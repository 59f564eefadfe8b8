import { resolveByName } from "./process/Imports.ts"

resolveByName()

await import("./HeavyThreadJobs.ts")
