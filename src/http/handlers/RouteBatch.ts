import { Array as Arr, Effect, type Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { Conflict, NotFound, ValidationFailed } from "../../schema/Errors.ts"
import type { RouteId, UserId } from "../../schema/Ids.ts"
import type { BatchOperation, RouteBatch } from "../../schema/RouteBatch.ts"
import { Collections } from "../../services/collections/Collections.ts"
import type { Overloaded } from "../../services/DomainErrors.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { RouteTrash } from "../../services/routes/RouteTrash.ts"
import { Batches, type FailedOperation } from "../../services/sync/Batches.ts"
import { Caller } from "../api/Authentication.ts"
import { HEADERS } from "../api/Headers.ts"
import type { ConfirmHeader, IdempotencyHeader } from "../api/Requests.ts"
import { deleting, isConfirmed, publishing, unconfirmedAll } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { bodyDigest, BodyParts, makeWithGeometry } from "../request/RequestBodies.ts"
import { worded } from "../response/PublicErrors.ts"
import { type BatchOutcome, batchResults, collectionOutcome, done, routeOutcome } from "../response/ResourceJson.ts"
import { expectedVersions, withCurrentTag } from "../response/Versioned.ts"
import { currentCollection, currentRoute } from "./Current.ts"
import { withDuration } from "./RouteDefaults.ts"

interface Call {
  readonly headers: Schema.Struct.Type<typeof ConfirmHeader> & Schema.Struct.Type<typeof IdempotencyHeader>
  readonly payload: RouteBatch
  readonly request: HttpServerRequest.HttpServerRequest
}

type Operation<Op extends BatchOperation["op"]> = Extract<BatchOperation, { readonly op: Op }>

type Refusal = Conflict | NotFound | ValidationFailed

type Change = Effect.Effect<BatchOutcome, Refusal>

const expected = ({ ifMatch }: { readonly ifMatch?: string }) =>
  expectedVersions(ifMatch === undefined ? {} : { [HEADERS.ifMatch.key]: ifMatch })

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
  }
}

/** An operation uses the turn of its batch, and waits for none. */
const inBatch = <A, E extends { readonly _tag: string }>(change: Effect.Effect<A, E | Overloaded>) =>
  worded(Effect.catchTag(change, "Overloaded", Effect.die))

const changed = (operations: ReadonlyArray<BatchOperation>) => ({
  routes: operations.flatMap((operation) => "id" in operation ? [operation.id] : []),
  collections: operations.flatMap((operation) => "collectionId" in operation ? [operation.collectionId] : [])
})

export const routeBatch = Effect.gen(function*() {
  const batches = yield* Batches
  const collections = yield* Collections
  const idempotency = yield* Idempotency
  const routes = yield* Routes
  const trash = yield* RouteTrash
  const withGeometry = yield* makeWithGeometry

  const routeNow = yield* currentRoute
  const collectionNow = yield* currentCollection

  /** A route that the batch restores is in the trash before. */
  const requireOwn = (owner: UserId, id: RouteId, restored: ReadonlySet<RouteId>) =>
    Effect.catchTag(
      routes.requireOwn(owner, id),
      "Missing",
      (missing) => restored.has(id) ? trash.requireOwn(owner, id) : Effect.fail(missing)
    )

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
      case "addToCollection": {
        const { collectionId, routeId } = operation
        yield* collections.requireOwn(owner, collectionId)
        return restored.has(routeId) ? undefined : yield* collections.requireAddable(owner, [routeId], collectionId)
      }
      case "removeFromCollection":
        return yield* Effect.asVoid(collections.requireOwn(owner, operation.collectionId))
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
      case "addToCollection":
      case "removeFromCollection":
        return []
    }
  })

  /** Leaves out operations on routes that do not exist: their results refuse them. */
  const impactsOf = (owner: UserId, operations: ReadonlyArray<BatchOperation>, restored: ReadonlySet<RouteId>) =>
    Effect.map(
      Effect.forEach(
        operations,
        (operation) =>
          Effect.catchTag(
            impactOf(owner, operation, restored),
            "Missing",
            () => Effect.succeed<ReadonlyArray<Impact>>([])
          )
      ),
      (impacts) => impacts.flat()
    )

  /** An atomic batch is refused because of an operation on what is not there before it must be confirmed. */
  const requireConfirmed = Effect.fnUntraced(function*(owner: UserId, { atomic, operations }: RouteBatch) {
    const restored = new Set(operations.flatMap((operation) => operation.op === "restore" ? [operation.id] : []))
    const impacts = yield* impactsOf(owner, operations, restored)
    if (!Arr.isReadonlyArrayNonEmpty(impacts)) return
    if (atomic === true) {
      yield* Effect.forEach(
        operations,
        (operation, index) =>
          Effect.mapError(requireFound(owner, operation, restored), (error) => refusal({ error, index }))
      )
    }
    return yield* unconfirmedAll(impacts)
  })

  const collectionChange = (
    owner: UserId,
    { collectionId, ...operation }: Operation<"addToCollection" | "removeFromCollection">
  ): Change => {
    const change = operation.op === "addToCollection"
      ? collections.addRoute(owner, collectionId, operation, expected(operation))
      : collections.removeRoute(owner, collectionId, operation.routeId, expected(operation))
    return Effect.map(inBatch(withCurrentTag(change, collectionNow(owner, collectionId))), collectionOutcome)
  }

  // Lines are measured before the transaction begins.
  const prepared = Effect.fnUntraced(function*(
    owner: UserId,
    operation: BatchOperation,
    mayPublish: boolean
  ): Effect.fn.Return<Change, ValidationFailed | Overloaded> {
    switch (operation.op) {
      case "create": {
        const route = withDuration(yield* withGeometry(operation.route))
        return Effect.map(inBatch(routes.create(owner, route)), (route) => routeOutcome(route, 201))
      }
      case "update": {
        const { changes, id } = operation
        const change = routes.update(owner, id, yield* withGeometry(changes), expected(operation))
        return Effect.map(inBatch(withCurrentTag(change, routeNow(owner, id))), (route) => routeOutcome(route))
      }
      case "delete": {
        const change = routes.remove(owner, operation.id, expected(operation))
        return Effect.as(inBatch(withCurrentTag(change, routeNow(owner, operation.id))), done)
      }
      case "restore":
        return Effect.map(inBatch(trash.restore(owner, operation.id, { mayPublish })), (route) => routeOutcome(route))
      case "addToCollection":
      case "removeFromCollection":
        return collectionChange(owner, operation)
    }
  })

  const preparedAll = Effect.fnUntraced(function*(
    owner: UserId,
    operations: ReadonlyArray<BatchOperation>,
    mayPublish: boolean
  ) {
    const { lines = [] } = yield* BodyParts
    return yield* Effect.forEach(operations, (operation, index) => {
      const line = lines[index]
      return prepared(owner, operation, mayPublish).pipe(
        Effect.provideService(BodyParts, line === undefined ? {} : { line }),
        Effect.catchTag(
          "ValidationFailed",
          (error) => Effect.fail(under(`operations.${index}.${operation.op === "create" ? "route" : "changes"}`)(error))
        )
      )
    })
  })

  return Effect.fnUntraced(function*({ headers, payload, request }: Call) {
    const { atomic: isAtomic = false, operations } = payload
    const caller = yield* Caller
    const mayPublish = isConfirmed(caller, headers)
    const changes = yield* preparedAll(caller.userId, operations, mayPublish)
    if (!mayPublish) yield* requireConfirmed(caller.userId, payload)
    return yield* idempotency.once(
      caller.userId,
      { headers, request },
      yield* bodyDigest,
      batches.run(caller.userId, changed(operations), changes, { isAtomic }).pipe(
        Effect.mapError((error) => "index" in error ? refusal(error) : error),
        Effect.map((results) => batchResults(operations, results))
      )
    )
  }, worded)
})
