import { Effect, Result } from "effect"
import { type Conflict, NotFound, type PreconditionRequired, type ValidationFailed } from "../../schema/Errors.ts"
import type { CollectionId, RouteId } from "../../schema/Ids.ts"
import type { BatchOperation } from "../../schema/RouteBatch.ts"
import type { Overloaded } from "../../services/DomainErrors.ts"
import type { Operation as BatchChange } from "../../services/sync/Batches.ts"
import { worded } from "../response/PublicErrors.ts"
import type { BatchOutcome } from "../response/ResourceJson.ts"

export type Operation<Op extends BatchOperation["op"]> = Extract<BatchOperation, { readonly op: Op }>

export type Refusal = Conflict | NotFound | PreconditionRequired | ValidationFailed

export type Change = BatchChange<BatchOutcome, Refusal>

export type Before = Parameters<Change>[0]

const madeBefore = (before: Before, reference = "") => {
  const result = before[Number(reference.slice(1))]
  return result !== undefined && Result.isSuccess(result) ? result.success.made : undefined
}

const nothingMade = (kind: "route" | "collection", reference = "one") =>
  Effect.fail(new NotFound({ message: `No such ${kind}: no operation before this one has made ${reference}` }))

export const routeIn = (before: Before) => (id: RouteId | string | undefined): Effect.Effect<RouteId, NotFound> => {
  if (typeof id === "number") return Effect.succeed(id)
  const made = madeBefore(before, id)
  return made?.kind === "route" ? Effect.succeed(made.id) : nothingMade("route", id)
}

export const collectionIn =
  (before: Before) => (id: CollectionId | string | undefined): Effect.Effect<CollectionId, NotFound> => {
    if (typeof id === "number") return Effect.succeed(id)
    const made = madeBefore(before, id)
    return made?.kind === "collection" ? Effect.succeed(made.id) : nothingMade("collection", id)
  }

/** What is there before the batch: the rest is made by it. */
export const known = <Id extends number>(
  ids: ReadonlyArray<Id | string | undefined> | null | undefined
): ReadonlyArray<Id> => (ids ?? []).flatMap((id) => typeof id === "number" ? [id] : [])

/** An operation uses the turn of its batch, and waits for none. */
export const inBatch = <A, E extends { readonly _tag: string }>(change: Effect.Effect<A, E | Overloaded>) =>
  worded(Effect.catchTag(change, "Overloaded", Effect.die))
