import { Effect, Result } from "effect"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { type Conflict, NotFound, type PreconditionRequired, type ValidationFailed } from "../../schema/Errors.ts"
import type { CollectionId, LinkId, RouteId, UserId } from "../../schema/Ids.ts"
import type { BatchOperation } from "../../schema/RouteBatch.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { PrivacyZones } from "../../services/accounts/Zones.ts"
import { Collections } from "../../services/collections/Collections.ts"
import type {
  AlreadyPast,
  CollectionFull,
  CueBeyondLine,
  Missing,
  Overloaded,
  QuotaExceeded,
  RoutesMissing,
  SourceUsed,
  StaleVersion,
  TooManyLinks
} from "../../services/DomainErrors.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { RouteTrash } from "../../services/routes/RouteTrash.ts"
import { type Shared, ShareLinks } from "../../services/sharing/ShareLinks.ts"
import type { Operation as BatchChange } from "../../services/sync/Batches.ts"
import { HEADERS } from "../api/Headers.ts"
import { deleting, deletingLink, publishing, shrinking } from "../request/Confirmation.ts"
import { makeWithGeometry } from "../request/RequestBodies.ts"
import { worded } from "../response/PublicErrors.ts"
import {
  accountOutcome,
  type BatchOutcome,
  collectionOutcome,
  done,
  linkOutcome,
  routeOutcome,
  zonesOutcome
} from "../response/ResourceJson.ts"
import { expectedVersions, readForm, withCurrentTag } from "../response/Versioned.ts"
import { currentCollection, currentRoute } from "./Current.ts"
import { swappedWarnings, withDuration } from "./RouteDefaults.ts"

export type Refusal = Conflict | NotFound | PreconditionRequired | ValidationFailed

export type Change = BatchChange<BatchOutcome, Refusal>

type Before = Parameters<Change>[0]

type Failure =
  | AlreadyPast
  | CollectionFull
  | CueBeyondLine
  | Missing
  | NotFound
  | QuotaExceeded
  | RoutesMissing
  | SourceUsed
  | TooManyLinks

/** The parts of an operation's work have their own times: the first two are for a call that is not confirmed. */
export interface Work {
  /** Fails if something is missing that must be there before the batch. */
  readonly required: Effect.Effect<unknown, Missing | RoutesMissing>
  readonly impacts: Effect.Effect<ReadonlyArray<Impact>, Missing>
  /** Measures lines, before the transaction begins. */
  readonly change: Effect.Effect<Change, ValidationFailed | Overloaded>
}

const madeBefore = (before: Before, reference = "") => {
  const result = before[Number(reference.slice(1))]
  return result !== undefined && Result.isSuccess(result) ? result.success.made : undefined
}

const nothingMade = (kind: "route" | "collection", reference = "one") =>
  Effect.fail(new NotFound({ message: `No such ${kind}: no operation before this one has made ${reference}` }))

const routeIn = (before: Before) => (id: RouteId | string | undefined): Effect.Effect<RouteId, NotFound> => {
  if (typeof id === "number") return Effect.succeed(id)
  const made = madeBefore(before, id)
  return made?.kind === "route" ? Effect.succeed(made.id) : nothingMade("route", id)
}

/** An id and a reference, or two references, may name one route. */
const membersIn = (before: Before, given: ReadonlyArray<RouteId | string>) =>
  Effect.map(Effect.forEach(given, routeIn(before)), (ids) => [...new Set(ids)])

const collectionIn = (
  before: Before,
  id: CollectionId | string | undefined
): Effect.Effect<CollectionId, NotFound> => {
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

const matchHeader = ({ ifMatch }: { readonly ifMatch?: string }) =>
  ifMatch === undefined ? {} : { [HEADERS.ifMatch.key]: ifMatch }

const expected = ({ ifVersion, ...operation }: { readonly ifMatch?: string; readonly ifVersion?: number }) =>
  ifVersion === undefined ? expectedVersions(matchHeader(operation)) : [{ version: ifVersion }]

type LinkOperation = Extract<BatchOperation, { readonly op: "createLink" | "updateLink" | "deleteLink" }>

/** Returns the route or collection that a link opens, if it exists before the batch. */
const openedBefore = ({ collectionId, routeId }: LinkOperation): Shared | undefined => {
  if (typeof routeId === "number") return { kind: "route", id: routeId }
  return typeof collectionId === "number" ? { kind: "collection", id: collectionId } : undefined
}

const openedIn = (before: Before, { collectionId, routeId }: LinkOperation) =>
  routeId === undefined
    ? Effect.map(collectionIn(before, collectionId), (id): Shared => ({ kind: "collection", id }))
    : Effect.map(routeIn(before)(routeId), (id): Shared => ({ kind: "route", id }))

const NOTHING = { required: Effect.void, impacts: Effect.succeed<ReadonlyArray<Impact>>([]) }

const ready = (change: Change) => Effect.succeed(change)

interface Batch {
  readonly owner: UserId
  /** These routes are in the trash before the batch. */
  readonly restored: ReadonlySet<RouteId>
  readonly isConfirmed: boolean
}

/** Makes the work of an operation, which is that of its own endpoint. */
export const batchOperations = Effect.gen(function*() {
  const collections = yield* Collections
  const links = yield* ShareLinks
  const profiles = yield* Profiles
  const routes = yield* Routes
  const trash = yield* RouteTrash
  const zones = yield* PrivacyZones
  const withGeometry = yield* makeWithGeometry
  const routeNow = yield* currentRoute
  const collectionNow = yield* currentCollection

  return ({ isConfirmed, owner, restored }: Batch) => {
    const ownRoute = (id: RouteId) =>
      Effect.catchTag(
        routes.requireOwn(owner, id),
        "Missing",
        (missing) => restored.has(id) ? trash.requireOwn(owner, id) : Effect.fail(missing)
      )

    /** A collection that the batch makes has no name yet. */
    const ownCollection = (
      id: CollectionId | string,
      name = String(id)
    ): Effect.Effect<{ readonly id: CollectionId | undefined; readonly name: string }, Missing> =>
      typeof id === "number" ? collections.requireOwn(owner, id) : Effect.succeed({ id: undefined, name })

    const requireAddable = (ids: ReadonlyArray<RouteId>, collection?: CollectionId) => {
      const asked = ids.filter((id) => !restored.has(id))
      return asked.length === 0 ? Effect.void : collections.requireAddable(owner, asked, collection)
    }

    const routeChange = <A>(
      id: RouteId,
      change: Effect.Effect<A, Failure | StaleVersion | Overloaded>,
      toOutcome: (changed: A) => BatchOutcome
    ): Change =>
    () => Effect.map(inBatch(withCurrentTag(change, routeNow(owner, id))), toOutcome)

    const collectionChange = <A>(
      { collectionId }: { readonly collectionId: CollectionId | string },
      change: (id: CollectionId, before: Before) => Effect.Effect<A, Failure | StaleVersion | Overloaded>,
      toOutcome: (changed: A) => BatchOutcome
    ) =>
      ready(Effect.fnUntraced(function*(before) {
        const id = yield* collectionIn(before, collectionId)
        return toOutcome(yield* inBatch(withCurrentTag(change(id, before), collectionNow(owner, id))))
      }))

    const ownOpened = (opened: Shared) => opened.kind === "route" ? ownRoute(opened.id) : ownCollection(opened.id)

    const linkWork = (operation: LinkOperation): Work => {
      const opened = openedBefore(operation)
      const required = opened === undefined ? Effect.void : ownOpened(opened)
      // A link to a route in the trash cannot be read before the route is restored.
      const labelOf = (link: LinkId) =>
        opened === undefined || (opened.kind === "route" && restored.has(opened.id))
          ? Effect.succeed(null)
          : Effect.map(links.get(owner, opened, link), ({ label }) => label)
      const changed = <A>(
        change: (opened: Shared) => Effect.Effect<A, Failure | Overloaded>,
        toOutcome: (changed: A) => BatchOutcome
      ) =>
        ready((before) =>
          Effect.flatMap(openedIn(before, operation), (opened) => Effect.map(inBatch(change(opened)), toOutcome))
        )
      switch (operation.op) {
        case "createLink": {
          const create = (opened: Shared) => links.create(owner, opened, operation.link)
          return { ...NOTHING, required, change: changed(create, (link) => linkOutcome(link, 201)) }
        }
        case "updateLink": {
          const { changes, linkId } = operation
          return {
            ...NOTHING,
            required: Effect.andThen(required, labelOf(linkId)),
            change: changed((opened) => links.change(owner, opened, linkId, changes), linkOutcome)
          }
        }
        case "deleteLink": {
          const { linkId, routeId } = operation
          const kind = routeId === undefined ? "collection" : "route"
          return {
            required: Effect.andThen(required, labelOf(linkId)),
            impacts: Effect.map(labelOf(linkId), (label) => [deletingLink(kind, label, linkId)]),
            change: changed((opened) => links.remove(owner, opened, linkId), () => done)
          }
        }
      }
    }

    return (operation: BatchOperation): Work => {
      switch (operation.op) {
        case "create": {
          const { name, visibility } = operation.route
          return {
            ...NOTHING,
            impacts: Effect.succeed(visibility === "public" ? [publishing("route", name)] : []),
            change: Effect.map(withGeometry(operation.route), (given) => {
              const route = withDuration(given)
              const warnings = swappedWarnings(route)
              return () => Effect.map(inBatch(routes.create(owner, route)), (made) => routeOutcome(made, 201, warnings))
            })
          }
        }
        case "update": {
          const { changes, id } = operation
          const own = ownRoute(id)
          const form = readForm(matchHeader(operation))
          return {
            required: own,
            impacts: changes.visibility === "public"
              ? Effect.map(own, ({ name }) => [publishing("route", name, id)])
              : NOTHING.impacts,
            change: Effect.map(
              withGeometry(changes),
              (measured) => routeChange(id, routes.update(owner, id, measured, expected(operation), form), routeOutcome)
            )
          }
        }
        case "delete": {
          const { id } = operation
          const own = ownRoute(id)
          return {
            required: own,
            impacts: Effect.map(own, ({ name }) => [deleting("route", name, id)]),
            change: ready(routeChange(id, routes.remove(owner, id, expected(operation)), () => done))
          }
        }
        case "restore": {
          const { id } = operation
          const own = trash.requireOwn(owner, id)
          return {
            required: own,
            impacts: Effect.map(
              own,
              ({ name, visibility }) => visibility === "public" ? [publishing("route", name, id)] : []
            ),
            change: ready(() =>
              Effect.map(inBatch(trash.restore(owner, id, { mayPublish: isConfirmed })), (route) => routeOutcome(route))
            )
          }
        }
        case "createCollection": {
          const { collection } = operation
          return {
            required: requireAddable(known(collection.routeIds)),
            impacts: Effect.succeed(
              collection.visibility === "public" ? [publishing("collection", collection.name)] : []
            ),
            change: ready(Effect.fnUntraced(function*(before) {
              const routeIds = yield* membersIn(before, collection.routeIds ?? [])
              return collectionOutcome(yield* inBatch(collections.create(owner, { ...collection, routeIds })), 201)
            }))
          }
        }
        case "updateCollection": {
          const { changes: { routeIds, ...changes }, collectionId } = operation
          const own = ownCollection(collectionId, changes.name)
          const update = Effect.fnUntraced(function*(id: CollectionId, before: Before) {
            const changed = yield* collections.update(owner, id, changes, expected(operation))
            if (routeIds === undefined || routeIds === null) return changed
            return yield* collections.setRoutes(owner, id, yield* membersIn(before, routeIds), undefined)
          })
          return {
            required: Effect.flatMap(own, ({ id }) => requireAddable(known(routeIds), id)),
            impacts: changes.visibility === "public"
              ? Effect.map(own, ({ id, name }) => [publishing("collection", name, id)])
              : NOTHING.impacts,
            change: collectionChange(operation, update, collectionOutcome)
          }
        }
        case "deleteCollection": {
          // The collection is older than the batch if an earlier operation changes it, or makes it by a known `clientId`.
          const own = ownCollection(operation.collectionId)
          return {
            required: own,
            impacts: Effect.map(own, ({ id, name }) => [deleting("collection", name, id)]),
            change: collectionChange(
              operation,
              (id) => collections.remove(owner, id, expected(operation)),
              () => done
            )
          }
        }
        case "addToCollection": {
          const own = ownCollection(operation.collectionId)
          const add = Effect.fnUntraced(function*(id: CollectionId, before: Before) {
            const routeId = yield* routeIn(before)(operation.routeId)
            return yield* collections.addRoute(owner, id, { ...operation, routeId }, expected(operation))
          })
          return {
            ...NOTHING,
            required: Effect.flatMap(own, ({ id }) => requireAddable(known([operation.routeId]), id)),
            change: collectionChange(operation, add, collectionOutcome)
          }
        }
        case "removeFromCollection": {
          const remove = Effect.fnUntraced(function*(id: CollectionId, before: Before) {
            const routeId = yield* routeIn(before)(operation.routeId)
            return yield* collections.removeRoute(owner, id, routeId, expected(operation))
          })
          return {
            ...NOTHING,
            required: ownCollection(operation.collectionId),
            change: collectionChange(operation, remove, collectionOutcome)
          }
        }
        case "createLink":
        case "updateLink":
        case "deleteLink":
          return linkWork(operation)
        case "setPrivacyZones":
          return {
            ...NOTHING,
            impacts: Effect.map(zones.lost(owner, operation.zones), (lost) => lost === 0 ? [] : [shrinking(lost)]),
            change: ready(() =>
              Effect.map(inBatch(zones.replace(owner, operation.zones, { mayShrink: isConfirmed })), zonesOutcome)
            )
          }
        case "updateAccount":
          return {
            ...NOTHING,
            change: ready(() => Effect.map(inBatch(profiles.update(owner, operation.changes)), accountOutcome))
          }
      }
    }
  }
})
