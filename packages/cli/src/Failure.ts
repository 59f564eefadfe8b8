import { Effect, Schema } from "effect"
import { ConnectionError, ServiceError } from "../../client/src/index.ts"

export const EXIT_CODES = { failed: 1, usage: 2, signedOut: 3, partial: 4, unreachable: 5 } as const

export const EXIT_CODES_TEXT =
  "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not signed in or not allowed, 4 partly done, "
  + "5 service not reachable."

/** A command ended without its result. The message is for the person at the terminal. */
export class Failure extends Schema.TaggedError<Failure>("rps/Failure")("Failure", {
  message: Schema.String,
  exitCode: Schema.Int,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}) {
  static because(message: string, exitCode: number = EXIT_CODES.failed): Failure {
    return new Failure({ message, exitCode })
  }
}

const EXIT_CODES_BY_STATUS: Readonly<Record<number, number>> = {
  401: EXIT_CODES.signedOut,
  403: EXIT_CODES.signedOut,
  502: EXIT_CODES.unreachable,
  503: EXIT_CODES.unreachable,
  504: EXIT_CODES.unreachable
}

export const toFailure = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof ServiceError) {
    const { code, details, message, statusCode } = error
    const exitCode = EXIT_CODES_BY_STATUS[statusCode] ?? EXIT_CODES.failed
    return new Failure({ message, exitCode, details: { statusCode, code, ...details } })
  }
  const exitCode = error instanceof ConnectionError ? EXIT_CODES.unreachable : EXIT_CODES.failed
  return Failure.because(error instanceof Error ? error.message : String(error), exitCode)
}

/** Runs a promise that is aborted with the command. */
export const attempt = <A>(run: (options: { readonly signal: AbortSignal }) => Promise<A>): Effect.Effect<A, Failure> =>
  Effect.tryPromise({ try: (signal) => run({ signal }), catch: toFailure })
