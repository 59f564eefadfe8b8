import { Context, Duration, Effect, Layer } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { isSafe } from "../../schema/SafeMethods.ts"
import { makeTriedWrites } from "../../services/limits/TriedWrites.ts"
import { RoomForWrites, StoresNothing } from "../api/Requests.ts"

const RETRY_AFTER = Duration.seconds(1)

const refused = Effect.suspend(() => Effect.fail(Unavailable.retryAfter("The database is not available", RETRY_AFTER)))

/** Writes, which clients repeat, would do all of their work before they fail, and leave no time to reads. */
export const roomForWritesLayer = Layer.sync(RoomForWrites, () => {
  const tried = makeTriedWrites(refused)
  return (httpEffect, { endpoint }) =>
    isSafe(endpoint.method) || Context.get(endpoint.annotations, StoresNothing) ? httpEffect : tried(httpEffect)
})
