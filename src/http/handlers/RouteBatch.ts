import { Array as Arr, Effect, type Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { Conflict, NotFound, PreconditionRequired, ValidationFailed } from "../../schema/Errors.ts"
import type { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import type { BatchOperation, RouteBatch } from "../../schema/RouteBatch.ts"
import { Collections } from "../../services/collections/Collections.ts"
import type { Missing, Overloaded } from "../../services/DomainErrors.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { RouteTrash } from "../../services/routes/RouteTrash.ts"
import { Batches, type FailedOperation } from "../../services/sync/Batches.ts"
import { Caller } from "../api/Access.ts"
import { HEADERS } from "../api/Headers.ts"
import type { ConfirmHeader, IdempotencyHeader } from "../api/Requests.ts"
import { deleting, isConfirmed, publishing, unconfirmedAll } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { bodyDigest, BodyParts, makeWithGeometry } from "../request/RequestBodies.ts"
import { worded } from "../response/PublicErrors.ts"
import { batchResults, collectionOutcome, done, routeOutcome } from "../response/ResourceJson.ts"
import { expectedVersions, readForm, withCurrentTag } from "../response/Versioned.ts"
import {
  accountOperations,
  type Before,
  type Change,
  changesAccount,
  collectionIn,
  inBatch,
  known,
  membersIn,
  openedBefore,
  type Operation,
  type Refusal,
  routeIn
} from "./BatchParts.ts"
import { currentCollection, currentRoute } from "./Current.ts"
import { swappedWarnings, withDuration } from "./RouteDefaults.ts"

interface Call {
  readonly headers: Schema.Struct.Type<typeof ConfirmHeader> & Schema.Struct.Type<typeof IdempotencyHeader>
  readonly payload: RouteBatch
  readonly request: HttpServerRequest.HttpServerRequest
}

const matchHeader = ({ ifMatch }: { readonly ifMatch?: string }) =>
  ifMatch === undefined ? {} : { [HEADERS.ifMatch.key]: ifMatch }

const expected = ({ ifVersion, ...operation }: { readonly ifMatch?: string; readonly ifVersion?: number }) =>
  ifVersion === undefined ? expectedVersions(matchHeader(operation)) : [ifVersion]

const under = (path: string) => (error: ValidationFailed) =>
  ValidationFailed.of(
    "body",
    error.details?.issues?.map((issue) => ({ ...issue, path: issue.path.replace(/^body/, path) })) ?? []
  )

const refusal = ({ error, index }: FailedOperation<Refusal>) => {
  const message = `operations.${index}: ${error.message}`
  switch (error._tag) {
    case "NotFound":
      return new NotFound({ message, details: { ...error.details, operation: index } })
    case "Conflict":
      return new Conflict({ message, details: { ...error.details, operation: index } })
    case "ValidationFailed":
      return new ValidationFailed({ message, details: { ...error.details, operation: index } })
    case "PreconditionRequired":
      return new PreconditionRequired({ message, details: { ...error.details, operation: index } })
  }
}

const changed = (operations: ReadonlyArray<BatchOperation>) => ({
  account: operations.some(changesAccount),
  routes: operations.flatMap((operation) => {
    if (operation.op === "createCollection") return known(operation.collection.routeIds)
    if (operation.op === "updateCollection") return known(operation.changes.routeIds)
    if ("routeId" in operation) return known([operation.routeId])
    return "id" in operation ? [operation.id] : []
  }),
  collections: operations.flatMap((operation) => "collectionId" in operation ? known([operation.collectionId]) : [])
})

interface GivenOperation {
  readonly op: string
  /** An operation that does not match its schema is undefined. */
  readonly operation: BatchOperation | undefined
  readonly issues: ReadonlyArray<ValidationIssue>
}

export const routeBatch = Effect.gen(function*() {
  const account = yield* accountOperations
  const batches = yield* Batches
  const collections = yield* Collections
  const idempotency = yield* Idempotency
  const routes = yield* Routes
  const trash = yield* RouteTrash
  const withGeometry = yield* makeWithGeometry

  const routeNow = yield* currentRoute
  const collectionNow = yield* currentCollection

  /** Routes that the batch restores are in the trash before. */
  const requireOwn = (owner: UserId, id: RouteId, restored: ReadonlySet<RouteId>) =>
    Effect.catchTag(
      routes.requireOwn(owner, id),
      "Missing",
      (missing) => restored.has(id) ? trash.requireOwn(owner, id) : Effect.fail(missing)
    )

  const requireAddable = (
    owner: UserId,
    ids: ReadonlyArray<RouteId>,
    restored: ReadonlySet<RouteId>,
    collection?: CollectionId
  ) => {
    const asked = ids.filter((id) => !restored.has(id))
    return asked.length === 0 ? Effect.void : collections.requireAddable(owner, asked, collection)
  }

  const requireFound = Effect.fnUntraced(function*(
    owner: UserId,
    operation: BatchOperation,
    restored: ReadonlySet<RouteId>
  ) {
    switch (operation.op) {
      case "create":
        return
      case "update":
      case "delete":
        return yield* Effect.asVoid(requireOwn(owner, operation.id, restored))
      case "restore":
        return yield* Effect.asVoid(trash.requireOwn(owner, operation.id))
      case "createCollection":
        return yield* requireAddable(owner, known(operation.collection.routeIds), restored)
      case "updateCollection":
      case "addToCollection": {
        const [collection] = known([operation.collectionId])
        const added = operation.op === "addToCollection" ? [operation.routeId] : operation.changes.routeIds
        if (collection !== undefined) yield* collections.requireOwn(owner, collection)
        return yield* requireAddable(owner, known(added), restored, collection)
      }
      case "deleteCollection":
      case "removeFromCollection":
        return yield* Effect.forEach(known([operation.collectionId]), (id) => collections.requireOwn(owner, id), {
          discard: true
        })
      case "createLink":
      case "updateLink":
      case "deleteLink": {
        for (const opened of openedBefore(operation)) {
          if (opened.kind === "route") yield* requireOwn(owner, opened.id, restored)
          else yield* collections.requireOwn(owner, opened.id)
        }
        if (operation.op !== "createLink") yield* account.requireLink(owner, operation, restored)
        return
      }
      case "setPrivacyZones":
      case "updateAccount":
        return
    }
  }, worded)

  const impactOf = Effect.fnUntraced(function*(
    owner: UserId,
    operation: BatchOperation,
    restored: ReadonlySet<RouteId>
  ) {
    switch (operation.op) {
      case "create":
        return operation.route.visibility === "public" ? [publishing("route", operation.route.name)] : []
      case "update": {
        if (operation.changes.visibility !== "public") return []
        return [publishing("route", (yield* requireOwn(owner, operation.id, restored)).name, operation.id)]
      }
      case "delete":
        return [deleting("route", (yield* requireOwn(owner, operation.id, restored)).name, operation.id)]
      case "restore": {
        const { name, visibility } = yield* trash.requireOwn(owner, operation.id)
        return visibility === "public" ? [publishing("route", name, operation.id)] : []
      }
      case "createCollection":
        return operation.collection.visibility === "public" ? [publishing("collection", operation.collection.name)] : []
      case "updateCollection": {
        if (operation.changes.visibility !== "public") return []
        const [id] = known([operation.collectionId])
        return id === undefined
          ? [publishing("collection", operation.changes.name ?? String(operation.collectionId))]
          : [publishing("collection", (yield* collections.requireOwn(owner, id)).name, id)]
      }
      case "deleteCollection": {
        // The collection is older than the batch if an earlier operation changes it, or makes it by a known `clientId`.
        const [id] = known([operation.collectionId])
        return id === undefined
          ? [deleting("collection", String(operation.collectionId))]
          : [deleting("collection", (yield* collections.requireOwn(owner, id)).name, id)]
      }
      case "addToCollection":
      case "removeFromCollection":
        return []
      case "createLink":
      case "updateLink":
      case "deleteLink":
      case "setPrivacyZones":
      case "updateAccount":
        return yield* account.impactOf(owner, operation, restored)
    }
  })

  /** Leaves out operations on what does not exist, and notes them in `missing`. */
  const impactsOf = (
    owner: UserId,
    operations: ReadonlyArray<BatchOperation>,
    restored: ReadonlySet<RouteId>,
    missing: Map<BatchOperation, Missing>
  ) =>
    Effect.map(
      Effect.forEach(
        operations,
        (operation) =>
          Effect.catchTag(impactOf(owner, operation, restored), "Missing", (error) => {
            missing.set(operation, error)
            return Effect.succeed<ReadonlyArray<Impact>>([])
          })
      ),
      (impacts) => impacts.flat()
    )

  /**
   * An atomic batch with an operation on a missing resource is refused before it must be confirmed. Returns the
   * operations on missing resources: an earlier one may make them meanwhile, and the change would not be confirmed.
   */
  const requireConfirmed = Effect.fnUntraced(function*(
    owner: UserId,
    operations: ReadonlyArray<BatchOperation>,
    isAtomic: boolean
  ) {
    const restored = new Set(operations.flatMap((operation) => operation.op === "restore" ? [operation.id] : []))
    const missing = new Map<BatchOperation, Missing>()
    const impacts = yield* impactsOf(owner, operations, restored, missing)
    if (!Arr.isReadonlyArrayNonEmpty(impacts)) return missing
    if (isAtomic) {
      yield* Effect.forEach(
        operations,
        (operation, index) =>
          Effect.mapError(requireFound(owner, operation, restored), (error) => refusal({ error, index }))
      )
    }
    return yield* unconfirmedAll(impacts)
  })

  const newCollection = (owner: UserId, { collection }: Operation<"createCollection">): Change =>
    Effect.fnUntraced(function*(before) {
      const routeIds = yield* membersIn(before)(collection.routeIds ?? [])
      return collectionOutcome(yield* inBatch(collections.create(owner, { ...collection, routeIds })), 201)
    })

  const changeCollection = Effect.fnUntraced(function*(
    owner: UserId,
    id: CollectionId,
    { changes: { routeIds, ...changes }, ...operation }: Operation<"updateCollection">,
    before: Before
  ) {
    const changed = yield* collections.update(owner, id, changes, expected(operation))
    if (routeIds === undefined || routeIds === null) return changed
    return yield* collections.setRoutes(owner, id, yield* membersIn(before)(routeIds), undefined)
  })

  const collectionChange = (
    owner: UserId,
    operation: Operation<"updateCollection" | "deleteCollection" | "addToCollection" | "removeFromCollection">
  ): Change =>
    Effect.fnUntraced(function*(before) {
      const id = yield* collectionIn(before)(operation.collectionId)
      const current = collectionNow(owner, id)
      switch (operation.op) {
        case "updateCollection":
          return collectionOutcome(
            yield* inBatch(withCurrentTag(changeCollection(owner, id, operation, before), current))
          )
        case "deleteCollection": {
          const change = collections.remove(owner, id, expected(operation))
          return yield* Effect.as(inBatch(withCurrentTag(change, current)), done)
        }
        case "addToCollection": {
          const addition = { ...operation, routeId: yield* routeIn(before)(operation.routeId) }
          const change = collections.addRoute(owner, id, addition, expected(operation))
          return collectionOutcome(yield* inBatch(withCurrentTag(change, current)))
        }
        case "removeFromCollection": {
          const routeId = yield* routeIn(before)(operation.routeId)
          const change = collections.removeRoute(owner, id, routeId, expected(operation))
          return collectionOutcome(yield* inBatch(withCurrentTag(change, current)))
        }
      }
    })

  // Lines are measured before the transaction begins.
  const prepared = Effect.fnUntraced(function*(
    owner: UserId,
    operation: BatchOperation,
    isAllowed: boolean
  ): Effect.fn.Return<Change, ValidationFailed | Overloaded> {
    switch (operation.op) {
      case "create": {
        const route = withDuration(yield* withGeometry(operation.route))
        const warnings = swappedWarnings(route)
        return () => Effect.map(inBatch(routes.create(owner, route)), (route) => routeOutcome(route, 201, warnings))
      }
      case "update": {
        const { changes, id } = operation
        const form = readForm(matchHeader(operation))
        const change = routes.update(owner, id, yield* withGeometry(changes), expected(operation), form)
        return () => Effect.map(inBatch(withCurrentTag(change, routeNow(owner, id))), (route) => routeOutcome(route))
      }
      case "delete": {
        const change = routes.remove(owner, operation.id, expected(operation))
        return () => Effect.as(inBatch(withCurrentTag(change, routeNow(owner, operation.id))), done)
      }
      case "restore":
        return () =>
          Effect.map(
            inBatch(trash.restore(owner, operation.id, { mayPublish: isAllowed })),
            (route) => routeOutcome(route)
          )
      case "createCollection":
        return newCollection(owner, operation)
      case "updateCollection":
      case "deleteCollection":
      case "addToCollection":
      case "removeFromCollection":
        return collectionChange(owner, operation)
      case "createLink":
      case "updateLink":
      case "deleteLink":
      case "setPrivacyZones":
      case "updateAccount":
        return account.change(owner, operation, isAllowed)
    }
  })

  const preparedAll = Effect.fnUntraced(function*(
    owner: UserId,
    operations: ReadonlyArray<GivenOperation>,
    isAllowed: boolean
  ) {
    const { lines = [] } = yield* BodyParts
    return yield* Effect.forEach(operations, ({ issues, operation }, index) => {
      if (operation === undefined) {
        const refused: Change = () => Effect.fail(ValidationFailed.of("body", issues))
        return Effect.succeed(refused)
      }
      const line = lines[index]
      return prepared(owner, operation, isAllowed).pipe(
        Effect.provideService(BodyParts, line === undefined ? {} : { line }),
        Effect.catchTag(
          "ValidationFailed",
          (error) => Effect.fail(under(`operations.${index}.${operation.op === "create" ? "route" : "changes"}`)(error))
        )
      )
    })
  })

  return Effect.fnUntraced(function*({ headers, payload, request }: Call) {
    const { atomic: isAtomic = false } = payload
    const caller = yield* Caller
    const isAllowed = isConfirmed(caller, headers)
    const { refused = [] } = yield* BodyParts
    const given = payload.operations.map((operation, index): GivenOperation =>
      refused[index] === undefined
        ? { op: operation.op, operation, issues: [] }
        : { ...refused[index], operation: undefined }
    )
    const operations = given.flatMap(({ operation }) => operation === undefined ? [] : [operation])
    const changes = yield* preparedAll(caller.userId, given, isAllowed)
    const missing = isAllowed
      ? new Map<BatchOperation, Missing>()
      : yield* requireConfirmed(caller.userId, operations, isAtomic)
    const allowed = changes.map((change, index): Change => {
      const operation = given[index]?.operation
      const error = operation === undefined ? undefined : missing.get(operation)
      return error === undefined ? change : () => inBatch(Effect.fail(error))
    })
    return yield* idempotency.once(
      caller.userId,
      { headers, request },
      yield* bodyDigest,
      batches.run(caller.userId, changed(operations), allowed, { isAtomic }).pipe(
        Effect.mapError((error) => "index" in error ? refusal(error) : error),
        Effect.map((results) => batchResults(given, results))
      )
    )
  }, worded)
})
