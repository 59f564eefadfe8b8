import { Effect, Layer } from "effect"
import type { HeavyJob } from "../../src/services/admission/HeavyJob.ts"
import { HeavyWork } from "../../src/services/admission/HeavyWork.ts"

interface RunJob {
  readonly name: string
  readonly input: unknown
  /** The work of the job counts as this many bytes. */
  readonly bytes: number
}

/** Runs each job at once in this thread, and reports it before. */
export const directWork = (report: (job: RunJob) => void) =>
  Layer.succeed(
    HeavyWork,
    HeavyWork.of({
      run: <I, O>(job: HeavyJob<I, O>, input: I, bytes: number) =>
        Effect.promise(async () => {
          report({ name: job.name, input, bytes })
          return job.run(input)
        })
    })
  )
