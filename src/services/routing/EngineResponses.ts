import { Effect } from "effect"
import type { HeavyJob } from "../heavy/HeavyJob.ts"
import type { HeavyWork } from "../heavy/HeavyWork.ts"
import { unusable } from "./EngineRefusals.ts"

/** Reads a response by a job that returns undefined for an unusable one. */
export const readBy = <A>(heavy: HeavyWork["Service"], job: HeavyJob<string, A | undefined>) => (text: string) =>
  Effect.flatMap(
    heavy.run(job, text, text.length),
    (value) => value === undefined ? Effect.fail(unusable()) : Effect.succeed(value)
  )
