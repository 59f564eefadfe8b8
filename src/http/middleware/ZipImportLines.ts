import { Cause, Effect, Stream } from "effect"
import type { ZipImportLine } from "../../schema/ZipImport.ts"
import { serviceErrorOf } from "./ErrorShape.ts"

/** The status of the response is sent before the first file is read, so that a failure is a line. */
export const withoutFailure = <E, R>(
  lines: Stream.Stream<ZipImportLine, E, R>
): Stream.Stream<ZipImportLine, never, R> =>
  Stream.catchCause(lines, (cause) =>
    Cause.hasInterrupts(cause)
      ? Stream.failCause(Cause.interrupt())
      : Stream.fromEffect(Effect.map(serviceErrorOf(cause), ({ details, message, statusCode }): ZipImportLine => ({
        outcome: "stopped",
        statusCode,
        message,
        ...(details === undefined ? {} : { details })
      }))))
