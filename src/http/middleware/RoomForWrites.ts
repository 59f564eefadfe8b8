import { Context, Effect, Layer } from "effect"
import { isSafe } from "../../schema/SafeMethods.ts"
import { makeTriedWrites } from "../../services/limits/TriedWrites.ts"
import { RoomForWrites, StoresNothing } from "../api/Requests.ts"
import { databaseUnavailable } from "../response/ErrorResponse.ts"

/** Writes, which clients repeat, would do all of their work before they fail, and leave no time to reads. */
export const roomForWritesLayer = Layer.sync(RoomForWrites, () => {
  const tried = makeTriedWrites(Effect.suspend(() => Effect.fail(databaseUnavailable())))
  return (httpEffect, { endpoint }) =>
    isSafe(endpoint.method) || Context.get(endpoint.annotations, StoresNothing) ? httpEffect : tried(httpEffect)
})
