import { Effect, Result } from "effect"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { type Conflict, NotFound, type PreconditionRequired, type ValidationFailed } from "../../schema/Errors.ts"
import type { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import type { BatchOperation } from "../../schema/RouteBatch.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { PrivacyZones } from "../../services/accounts/Zones.ts"
import type { Missing, Overloaded } from "../../services/DomainErrors.ts"
import { type Shared, ShareLinks } from "../../services/sharing/ShareLinks.ts"
import type { Operation as BatchChange } from "../../services/sync/Batches.ts"
import { deletingLink, shrinking } from "../request/Confirmation.ts"
import { worded } from "../response/PublicErrors.ts"
import { accountOutcome, type BatchOutcome, done, linkOutcome, zonesOutcome } from "../response/ResourceJson.ts"

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

/** An id and a reference, or two references, may name one route. */
export const membersIn = (before: Before) => (given: ReadonlyArray<RouteId | string>) =>
  Effect.map(Effect.forEach(given, routeIn(before)), (ids) => [...new Set(ids)])

export const collectionIn =
  (before: Before) => (id: CollectionId | string | undefined): Effect.Effect<CollectionId, NotFound> => {
    if (typeof id === "number") return Effect.succeed(id)
    const made = madeBefore(before, id)
    return made?.kind === "collection" ? Effect.succeed(made.id) : nothingMade("collection", id)
  }

/** Selects the ids that exist before the batch; the batch makes the others. */
export const known = <Id extends number>(
  ids: ReadonlyArray<Id | string | undefined> | null | undefined
): ReadonlyArray<Id> => (ids ?? []).flatMap((id) => typeof id === "number" ? [id] : [])

/** An operation uses the turn of its batch, and does not wait for its own. */
export const inBatch = <A, E extends { readonly _tag: string }>(change: Effect.Effect<A, E | Overloaded>) =>
  worded(Effect.catchTag(change, "Overloaded", Effect.die))

type LinkOperation = Operation<"createLink" | "updateLink" | "deleteLink">

type AccountOperation = LinkOperation | Operation<"setPrivacyZones" | "updateAccount">

/** Selects the route or collection that a link opens, if it exists before the batch. */
export const openedBefore = ({ collectionId, routeId }: LinkOperation): ReadonlyArray<Shared> => [
  ...(typeof routeId === "number" ? [{ kind: "route", id: routeId } as const] : []),
  ...(typeof collectionId === "number" ? [{ kind: "collection", id: collectionId } as const] : [])
]

const openedIn = (before: Before, { collectionId, routeId }: LinkOperation) =>
  routeId === undefined
    ? Effect.map(collectionIn(before)(collectionId), (id): Shared => ({ kind: "collection", id }))
    : Effect.map(routeIn(before)(routeId), (id): Shared => ({ kind: "route", id }))

export const changesAccount = ({ op }: BatchOperation): boolean => op === "setPrivacyZones" || op === "updateAccount"

/** Operations on links and on the account do the work of their own endpoints. */
export const accountOperations = Effect.gen(function*() {
  const links = yield* ShareLinks
  const profiles = yield* Profiles
  const zones = yield* PrivacyZones

  const requireLink = Effect.fnUntraced(function*(
    owner: UserId,
    operation: Operation<"updateLink" | "deleteLink">,
    restored: ReadonlySet<RouteId>
  ) {
    const [opened] = openedBefore(operation)
    // A link to a route in the trash cannot be read before the route is restored.
    if (opened === undefined || (opened.kind === "route" && restored.has(opened.id))) return null
    return (yield* links.get(owner, opened, operation.linkId)).label
  })

  const impactOf = Effect.fnUntraced(function*(
    owner: UserId,
    operation: AccountOperation,
    restored: ReadonlySet<RouteId>
  ): Effect.fn.Return<ReadonlyArray<Impact>, Missing> {
    switch (operation.op) {
      case "deleteLink": {
        const kind = operation.routeId === undefined ? "collection" : "route"
        return [deletingLink(kind, yield* requireLink(owner, operation, restored), operation.linkId)]
      }
      case "setPrivacyZones": {
        const lost = yield* zones.lost(owner, operation.zones)
        return lost === 0 ? [] : [shrinking(lost)]
      }
      case "createLink":
      case "updateLink":
      case "updateAccount":
        return []
    }
  })

  const linkChange = (owner: UserId, operation: LinkOperation): Change =>
    Effect.fnUntraced(function*(before) {
      const opened = yield* openedIn(before, operation)
      switch (operation.op) {
        case "createLink":
          return linkOutcome(yield* inBatch(links.create(owner, opened, operation.link)), 201)
        case "updateLink":
          return linkOutcome(yield* inBatch(links.change(owner, opened, operation.linkId, operation.changes)))
        case "deleteLink":
          return yield* Effect.as(inBatch(links.remove(owner, opened, operation.linkId)), done)
      }
    })

  const change = (owner: UserId, operation: AccountOperation, mayShrink: boolean): Change => {
    switch (operation.op) {
      case "setPrivacyZones":
        return () => Effect.map(inBatch(zones.replace(owner, operation.zones, { mayShrink })), zonesOutcome)
      case "updateAccount":
        return () => Effect.map(inBatch(profiles.update(owner, operation.changes)), accountOutcome)
      case "createLink":
      case "updateLink":
      case "deleteLink":
        return linkChange(owner, operation)
    }
  }

  return { change, impactOf, requireLink }
})
