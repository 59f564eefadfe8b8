import { Effect, type Schema } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { CollectionId, RouteId } from "../../schema/Ids.ts"
import type { Missing, Overloaded, QuotaExceeded } from "../../services/DomainErrors.ts"
import type { Trash } from "../../services/routes/RouteTrash.ts"
import { Caller } from "../api/Access.ts"
import type { ConfirmHeader } from "../api/Requests.ts"
import { success } from "../api/Success.ts"
import { isConfirmed, publishing, purging, purgingAll, requireConfirmed, unconfirmed } from "../request/Confirmation.ts"
import { worded } from "../response/PublicErrors.ts"

interface Call<Id> {
  readonly headers: Schema.Struct.Type<typeof ConfirmHeader>
  readonly params: { readonly id: Id }
}

/** The trash of routes and that of collections have the same endpoints. */
export const trashHandlers = <
  Id extends CollectionId | RouteId,
  A,
  Refusal extends Missing | QuotaExceeded | Overloaded
>(
  kind: "collection" | "route",
  trash: Trash<Id, A, Refusal>,
  responseTo: (restored: A) => HttpServerResponse.HttpServerResponse
) => ({
  restore: Effect.fnUntraced(function*({ headers, params: { id } }: Call<Id>) {
    const caller = yield* Caller
    const mayPublish = isConfirmed(caller, headers)
    if (!mayPublish) {
      const { name, visibility } = yield* trash.requireOwn(caller.userId, id)
      if (visibility === "public") return yield* unconfirmed(publishing(kind, name, id))
    }
    return responseTo(yield* trash.restore(caller.userId, id, { mayPublish }))
  }, worded),
  emptyTrash: Effect.fnUntraced(function*({ headers }: Pick<Call<Id>, "headers">) {
    const caller = yield* Caller
    const impact = Effect.map(trash.count(caller.userId), (count) => purgingAll(kind, count))
    yield* requireConfirmed(caller, headers, impact)
    yield* trash.empty(caller.userId)
    return success
  }, worded),
  purge: Effect.fnUntraced(function*({ headers, params: { id } }: Call<Id>) {
    const caller = yield* Caller
    const impact = Effect.map(trash.requireOwn(caller.userId, id), ({ name }) => purging(kind, name, id))
    yield* requireConfirmed(caller, headers, impact)
    yield* trash.purge(caller.userId, id)
    return success
  }, worded)
})
