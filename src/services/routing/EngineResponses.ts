import { Effect } from "effect"
import type { HeavyJob, HeavyWork } from "../heavy/HeavyWork.ts"
import { unusable } from "./EngineRefusals.ts"

/** Reads a response of the engine by a job that gives none for what the engine is not known to give. */
export const readBy = <A>(heavy: HeavyWork["Service"], job: HeavyJob<string, A | undefined>) => (text: string) =>
  Effect.flatMap(
    heavy.run(job, text, text.length),
    (value) => value === undefined ? Effect.fail(unusable) : Effect.succeed(value)
  )
