import { Schema } from "effect"
import { Addition, Collection } from "./Collection.ts"
import { ErrorDetails } from "./ErrorDetails.ts"
import { EntityTags } from "./Http.ts"
import { CollectionId, RouteId } from "./Ids.ts"
import { optionalMember } from "./Optional.ts"
import { NewRoute, Route, RoutePatch } from "./Route.ts"

export const MAX_OPERATIONS = 100

const ifMatch = optionalMember(
  EntityTags.annotate({ description: "The `ETag` to be changed, as the header `If-Match`" })
)

const operation = <const Op extends string, const Fields extends Schema.Struct.Fields>(op: Op, fields: Fields) =>
  Schema.Struct({ op: Schema.Literal(op).annotate({ description: "What to do" }), ...fields })

const DELETION = { op: "delete", id: RouteId.make(12) } as const

const RESTORATION = { op: "restore", id: RouteId.make(13) } as const

const ROUTE_ID = { collectionId: CollectionId.make(4), routeId: RouteId.make(12) }

const OPERATIONS = [
  operation("create", { route: NewRoute }).annotate({
    identifier: "CreateOperation",
    description: "Stores a route.",
    examples: [{ op: "create", route: { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }] } }]
  }),
  operation("update", { id: RouteId, ifMatch, changes: RoutePatch }).annotate({
    identifier: "UpdateOperation",
    description: "Changes a route.",
    examples: [{ op: "update", id: RouteId.make(12), changes: { name: "Around Vaduz by night" } }]
  }),
  operation("delete", { id: RouteId, ifMatch }).annotate({
    identifier: "DeleteOperation",
    description: "Moves a route to the trash.",
    examples: [{ ...DELETION, ifMatch: "W/\"3-full-9ae0daaf\"" }]
  }),
  operation("restore", { id: RouteId }).annotate({
    identifier: "RestoreOperation",
    description: "Restores a route from the trash.",
    examples: [RESTORATION]
  }),
  operation("addToCollection", { collectionId: CollectionId, ifMatch, ...Addition.fields }).annotate({
    identifier: "AddToCollectionOperation",
    description: "Adds a route to a collection, or moves one that it has.",
    examples: [{ op: "addToCollection", ...ROUTE_ID, position: 0 }]
  }),
  operation("removeFromCollection", { collectionId: CollectionId, ifMatch, routeId: RouteId }).annotate({
    identifier: "RemoveFromCollectionOperation",
    description: "Takes a route out of a collection.",
    examples: [{ op: "removeFromCollection", ...ROUTE_ID }]
  })
] as const

export const BatchOperation = Schema.Union(OPERATIONS).annotate({
  identifier: "BatchOperation",
  description: "One operation of a batch.",
  examples: [DELETION],
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
  operations: Schema.Array(BatchOperation).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_OPERATIONS)).annotate({
    description: "What to do, in order"
  })
}).annotate({
  identifier: "RouteBatch",
  description: "Operations on the caller's routes.",
  examples: [{ atomic: true, operations: [DELETION, RESTORATION] }]
})
export type RouteBatch = typeof RouteBatch.Type

const ERROR = { statusCode: 404, code: "NOT_FOUND", message: "No such route" }

const OperationError = Schema.Struct({
  statusCode: Schema.Int.annotate({ description: "The status of the response" }),
  code: Schema.String.annotate({ description: "A stable word for a program" }),
  message: Schema.String.annotate({ description: "For people" }),
  details: Schema.optionalKey(ErrorDetails)
}).annotate({ identifier: "OperationError", description: "Why an operation was refused.", examples: [ERROR] })

const DELETED = { op: "delete", status: 200 }

const BatchResult = Schema.Struct({
  op: Schema.String.annotate({ description: "The `op` of the operation" }),
  status: Schema.Int.annotate({ description: "The status that the operation has as a request of its own" }),
  etag: Schema.optionalKey(Schema.String.annotate({ description: "The `ETag` of the route or collection" })),
  route: Schema.optionalKey(Route),
  collection: Schema.optionalKey(Collection),
  error: Schema.optionalKey(OperationError)
}).annotate({
  identifier: "BatchResult",
  description: "What became of an operation.",
  examples: [DELETED]
})

export const BatchResults = Schema.Struct({
  results: Schema.Array(BatchResult).annotate({ description: "In the order of the operations" })
}).annotate({
  identifier: "BatchResults",
  description: "What became of each operation.",
  examples: [{ results: [DELETED, { op: "restore", status: 404, error: ERROR }] }]
})
