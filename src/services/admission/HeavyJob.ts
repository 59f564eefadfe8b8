import type { Transferable } from "node:worker_threads"

interface Work<I, O> {
  readonly name: string
  /** Jobs of one share have a queue; those without a share have another. */
  readonly share?: string
  run(input: I): O | Promise<O>
  transferred?(output: O): ReadonlyArray<Transferable>
}

export interface Order {
  readonly module: string
  readonly name: string
  readonly input: unknown
}

export type Reply<O> = { readonly result: O } | { readonly error: unknown }

/**
 * The job runs in this thread or another, which loads it by `module`, the `import.meta.url` of its file. Input and
 * output must be structured-cloneable, and the module must load without settings: a thread has no environment.
 */
export class HeavyJob<I, O> implements Work<I, O> {
  static readonly #loaded = new Map<string, HeavyJob<unknown, unknown>>()

  readonly module: string
  readonly name: string
  readonly share: string
  readonly #work: Work<I, O>

  constructor(module: string, work: Work<I, O>) {
    this.module = module
    this.name = work.name
    this.share = work.share ?? ""
    this.#work = work
    HeavyJob.#loaded.set(`${module} ${work.name}`, this)
  }

  run(input: I): O | Promise<O> {
    return this.#work.run(input)
  }

  transferred(output: O): ReadonlyArray<Transferable> {
    return this.#work.transferred?.(output) ?? []
  }

  static async load({ module, name }: Order): Promise<HeavyJob<unknown, unknown>> {
    await import(module)
    const job = HeavyJob.#loaded.get(`${module} ${name}`)
    if (job === undefined) throw new Error(`${module} makes no job "${name}" where it is loaded`)
    return job
  }
}
