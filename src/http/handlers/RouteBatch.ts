import { Array as Arr, Effect, type Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { Conflict, NotFound, PreconditionRequired, ValidationFailed } from "../../schema/Errors.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import type { BatchOperation, RouteBatch } from "../../schema/RouteBatch.ts"
import type { Missing } from "../../services/DomainErrors.ts"
import { Batches, type FailedOperation } from "../../services/sync/Batches.ts"
import { Caller } from "../api/Access.ts"
import type { ConfirmHeader, IdempotencyHeader } from "../api/Requests.ts"
import { isConfirmed, unconfirmedAll } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { bodyDigest, BodyParts } from "../request/RequestBodies.ts"
import { worded } from "../response/PublicErrors.ts"
import { batchResults } from "../response/ResourceJson.ts"
import { batchOperations, type Change, inBatch, known, type Refusal, type Work } from "./BatchOperations.ts"

interface Call {
  readonly headers: Schema.Struct.Type<typeof ConfirmHeader> & Schema.Struct.Type<typeof IdempotencyHeader>
  readonly payload: RouteBatch
  readonly request: HttpServerRequest.HttpServerRequest
}

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
  account: operations.some(({ op }) => op === "setPrivacyZones" || op === "updateAccount"),
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
  /** An operation that does not match its schema has no work. */
  readonly work: Work | undefined
  readonly issues: ReadonlyArray<ValidationIssue>
}

/**
 * An atomic batch with an operation on a missing resource is refused before it must be confirmed. Returns the
 * operations on missing resources: an earlier one may make them meanwhile, and the change would not be confirmed.
 */
const requireConfirmed = Effect.fnUntraced(function*(works: ReadonlyArray<Work>, isAtomic: boolean) {
  const missing = new Map<Work, Missing>()
  const impacts = yield* Effect.forEach(works, (work) =>
    Effect.catchTag(work.impacts, "Missing", (error) => {
      missing.set(work, error)
      return Effect.succeed<ReadonlyArray<Impact>>([])
    }))
  const all = impacts.flat()
  if (!Arr.isReadonlyArrayNonEmpty(all)) return missing
  if (isAtomic) {
    yield* Effect.forEach(
      works,
      ({ required }, index) => Effect.mapError(worded(required), (error) => refusal({ error, index }))
    )
  }
  return yield* unconfirmedAll(all)
})

const preparedAll = Effect.fnUntraced(function*(given: ReadonlyArray<GivenOperation>) {
  const { lines = [] } = yield* BodyParts
  return yield* Effect.forEach(given, ({ issues, op, work }, index) => {
    if (work === undefined) {
      const refused: Change = () => Effect.fail(ValidationFailed.of("body", issues))
      return Effect.succeed(refused)
    }
    const line = lines[index]
    return work.change.pipe(
      Effect.provideService(BodyParts, line === undefined ? {} : { line }),
      Effect.catchTag(
        "ValidationFailed",
        (error) => Effect.fail(under(`operations.${index}.${op === "create" ? "route" : "changes"}`)(error))
      )
    )
  })
})

export const routeBatch = Effect.gen(function*() {
  const batches = yield* Batches
  const idempotency = yield* Idempotency
  const workIn = yield* batchOperations

  return Effect.fnUntraced(function*({ headers, payload, request }: Call) {
    const { atomic: isAtomic = false } = payload
    const caller = yield* Caller
    const { refused = [] } = yield* BodyParts
    const operations = payload.operations.filter((_, index) => refused[index] === undefined)
    const workOf = workIn({
      owner: caller.userId,
      restored: new Set(operations.flatMap((operation) => operation.op === "restore" ? [operation.id] : [])),
      isConfirmed: isConfirmed(caller, headers)
    })
    const given = payload.operations.map((operation, index): GivenOperation =>
      refused[index] === undefined
        ? { op: operation.op, work: workOf(operation), issues: [] }
        : { ...refused[index], work: undefined }
    )
    const changes = yield* preparedAll(given)
    const missing = isConfirmed(caller, headers)
      ? new Map<Work, Missing>()
      : yield* requireConfirmed(given.flatMap(({ work }) => work === undefined ? [] : [work]), isAtomic)
    const allowed = changes.map((change, index): Change => {
      const work = given[index]?.work
      const error = work === undefined ? undefined : missing.get(work)
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
