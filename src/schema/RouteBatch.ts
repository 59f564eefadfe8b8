import { Schema } from "effect"
import { Addition, Collection } from "./Collection.ts"
import { EntityTags } from "./EntityTags.ts"
import { ErrorDetails } from "./ErrorDetails.ts"
import { CollectionId, RouteId } from "./Ids.ts"
import { optionalMember } from "./Optional.ts"
import { NewRoute, Route, RoutePatch } from "./Route.ts"

export const MAX_OPERATIONS = 100

const ifMatch = optionalMember(
  EntityTags.annotate({ description: "The `ETag` to be changed, as the header `If-Match`" })
)

const operation = <const Op extends string, const Fields extends Schema.Struct.Fields>(op: Op, fields: Fields) =>
  Schema.Struct({ op: Schema.Literal(op), ...fields }).annotate({
    identifier: `${op.charAt(0).toUpperCase()}${op.slice(1)}Operation`
  })

const OPERATIONS = [
  operation("create", { route: NewRoute }),
  operation("update", { id: RouteId, ifMatch, changes: RoutePatch }),
  operation("delete", { id: RouteId, ifMatch }),
  operation("restore", { id: RouteId }),
  operation("addToCollection", { collectionId: CollectionId, ifMatch, ...Addition.fields }),
  operation("removeFromCollection", { collectionId: CollectionId, ifMatch, routeId: RouteId })
] as const

export const BatchOperation = Schema.Union(OPERATIONS).annotate({
  identifier: "BatchOperation",
  message: `Expected an operation with an \`op\` of ${
    OPERATIONS.map(({ fields }) => `"${fields.op.literal}"`).join(", ")
  }`
})
export type BatchOperation = typeof BatchOperation.Type

export const RouteBatch = Schema.Struct({
  atomic: optionalMember(
    Schema.Boolean.annotate({
      description: "`true`: all operations or none; the response is the first one's error then"
    })
  ),
  operations: Schema.Array(BatchOperation).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_OPERATIONS))
}).annotate({ identifier: "RouteBatch" })
export type RouteBatch = typeof RouteBatch.Type

const OperationError = Schema.Struct({
  statusCode: Schema.Int,
  code: Schema.String,
  message: Schema.String,
  details: Schema.optionalKey(ErrorDetails)
}).annotate({ identifier: "OperationError" })

const BatchResult = Schema.Struct({
  op: Schema.String.annotate({ description: "The `op` of the operation" }),
  status: Schema.Int.annotate({ description: "The status that the operation has as a request of its own" }),
  etag: Schema.optionalKey(Schema.String.annotate({ description: "The `ETag` of the route or collection" })),
  route: Schema.optionalKey(Route),
  collection: Schema.optionalKey(Collection),
  error: Schema.optionalKey(OperationError)
}).annotate({ identifier: "BatchResult" })

export const BatchResults = Schema.Struct({
  results: Schema.Array(BatchResult).annotate({ description: "In the order of the operations" })
}).annotate({ identifier: "BatchResults" })
