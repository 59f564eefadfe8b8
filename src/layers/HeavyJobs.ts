import { Layer } from "effect"
import { HeavyWork } from "../services/heavy/HeavyWork.ts"
import { machineClock } from "../services/time/MachineClock.ts"

export const heavyWorkLayer = HeavyWork.layerOf(new URL("./HeavyThreadJobs.ts", import.meta.url)).pipe(
  Layer.provide(machineClock)
)
