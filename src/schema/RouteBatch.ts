import { Schema } from "effect"
import { Addition, Collection, CollectionPatch, MAX_ROUTES, NewCollection } from "./Collection.ts"
import { ErrorDetails } from "./ErrorDetails.ts"
import { EntityTags } from "./Http.ts"
import { CollectionId, LinkId, RouteId } from "./Ids.ts"
import { CreatedRoute } from "./Import.ts"
import { Count } from "./Measures.ts"
import { named } from "./Named.ts"
import { optionalMember } from "./Optional.ts"
import { ZONE, ZoneList } from "./PrivacyZone.ts"
import { NewRoute, RoutePatch } from "./Route.ts"
import { NewShareLink, ShareLink, ShareLinkPatch } from "./ShareLink.ts"
import { Profile, ProfilePatch } from "./User.ts"

export const MAX_OPERATIONS = 100

const ifMatch = optionalMember(
  EntityTags.annotate({ description: "The `ETag` to be changed, as the header `If-Match`" })
)

const VERSION = "The `version` to be changed, as `GET /sync` has it; not with `ifMatch`"

/** A change expects one of these; an absent one expects nothing. */
const expectation = { ifMatch, ifVersion: optionalMember(Count.annotate({ description: VERSION })) }

const isOneExpectation = ({ ifMatch, ifVersion }: { readonly ifMatch?: string; readonly ifVersion?: number }) =>
  ifMatch === undefined || ifVersion === undefined || {
    path: ["ifVersion"],
    issue: "Expected either ifMatch or ifVersion"
  }

const MADE = "`$` and the index of an earlier operation of the batch, for what that made"

/** An operation names by this what an earlier one made, whose id the client does not know yet. */
const Made = Schema.String.check(Schema.isPattern(/^\$(0|[1-9][0-9]?)$/u, { expected: MADE })).annotate({
  description: MADE
})

const ROUTE_OR_MADE = { description: `The id of a route, or ${MADE}` }

/** Without an identifier, generators name it after each member. Some make one class of all operations. */
const RouteIdOrMade = Schema.Union([RouteId, Made]).annotate({
  ...ROUTE_OR_MADE,
  identifier: "RouteIdOrMade",
  examples: ["$0"]
})

const COLLECTION_OR_MADE = { description: `The id of a collection, or ${MADE}` }

const CollectionIdOrMade = Schema.Union([CollectionId, Made]).annotate({
  ...COLLECTION_OR_MADE,
  identifier: "CollectionIdOrMade",
  examples: ["$0"]
})

const routeIds = Schema.optionalKey(
  Schema.NullOr(
    Schema.Array(RouteIdOrMade).check(
      Schema.isMaxLength(MAX_ROUTES),
      Schema.makeFilter((ids) => new Set(ids).size === ids.length || "Expected each route at most once", {
        toJsonSchema: () => ({ uniqueItems: true })
      })
    ).annotate({ description: "The routes of the collection, in order" })
  )
)

const BatchCollectionInput = Schema.Struct({ ...NewCollection.fields, routeIds }).annotate(
  named("BatchCollectionInput", "A collection to be made, also of routes that the batch makes.", {
    name: "Alpine passes",
    routeIds: ["$0"]
  })
)

const BatchCollectionPatch = Schema.Struct({ ...CollectionPatch.fields, routeIds }).annotate(
  named("BatchCollectionPatch", "What to change of a collection; `routeIds` is its whole order.", {
    name: "Alpine passes by bike"
  })
)

const operation = <const Op extends string, const Fields extends Schema.Struct.Fields>(op: Op, fields: Fields) =>
  Schema.Struct({ op: Schema.Literal(op).annotate({ description: "What to do" }), ...fields })

const isOneOpened = (
  { collectionId, routeId }: { readonly collectionId?: unknown; readonly routeId?: unknown }
) =>
  (routeId === undefined) !== (collectionId === undefined) || {
    path: ["routeId"],
    issue: "Expected either routeId or collectionId"
  }

const oneOpened = Schema.makeFilter(isOneOpened, { toJsonSchema: () => ({}) })

const opened = {
  routeId: optionalMember(RouteIdOrMade, ROUTE_OR_MADE),
  collectionId: optionalMember(CollectionIdOrMade, COLLECTION_OR_MADE)
}

/** Without a JSON Schema of its own the filter would hide the name of its operation in the document. */
const oneExpectation = Schema.makeFilter(isOneExpectation, { toJsonSchema: () => ({}) })

const DELETION = { op: "delete", id: RouteId.make(12) } as const

const RESTORATION = { op: "restore", id: RouteId.make(13) } as const

const ROUTE_ID = { collectionId: CollectionId.make(4), routeId: RouteId.make(12) }

const LINK_ID = LinkId.make(9)

const OPERATIONS = [
  operation("create", { route: NewRoute }).annotate(named("CreateOperation", "Stores a route.", {
    op: "create",
    route: { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }] }
  })),
  operation("update", { id: RouteId, ...expectation, changes: RoutePatch }).check(oneExpectation).annotate(
    named("UpdateOperation", "Changes a route.", {
      op: "update",
      id: RouteId.make(12),
      changes: { name: "Around Vaduz by night" }
    })
  ),
  operation("delete", { id: RouteId, ...expectation }).check(oneExpectation).annotate(
    named("DeleteOperation", "Moves a route to the trash.", {
      ...DELETION,
      ifMatch: "W/\"3-full-9ae0daaf@2025-06-01T08:30:00.000Z\""
    })
  ),
  operation("restore", { id: RouteId }).annotate(
    named("RestoreOperation", "Restores a route from the trash.", RESTORATION)
  ),
  operation("createCollection", { collection: BatchCollectionInput }).annotate(
    named("CreateCollectionOperation", "Makes a collection.", {
      op: "createCollection",
      collection: { name: "Alpine passes", routeIds: ["$0"] }
    })
  ),
  operation("updateCollection", { collectionId: CollectionIdOrMade, ...expectation, changes: BatchCollectionPatch })
    .check(oneExpectation).annotate(named("UpdateCollectionOperation", "Changes a collection.", {
      op: "updateCollection",
      collectionId: CollectionId.make(4),
      changes: { name: "Passes" }
    })),
  operation("deleteCollection", { collectionId: CollectionIdOrMade, ...expectation }).check(oneExpectation).annotate(
    named("DeleteCollectionOperation", "Moves a collection to the trash; its routes stay.", {
      op: "deleteCollection",
      collectionId: CollectionId.make(4)
    })
  ),
  operation("addToCollection", {
    collectionId: CollectionIdOrMade,
    ...expectation,
    ...Addition.fields,
    routeId: RouteIdOrMade
  }).check(oneExpectation).annotate(
    named("AddToCollectionOperation", "Adds a route to a collection, or moves one that it has.", {
      op: "addToCollection",
      ...ROUTE_ID,
      position: 0
    })
  ),
  operation("removeFromCollection", { collectionId: CollectionIdOrMade, ...expectation, routeId: RouteIdOrMade })
    .check(oneExpectation).annotate(named("RemoveFromCollectionOperation", "Takes a route out of a collection.", {
      op: "removeFromCollection",
      ...ROUTE_ID
    })),
  operation("createLink", { ...opened, link: NewShareLink }).check(oneOpened).annotate(
    named("CreateLinkOperation", "Makes a link to a route or a collection.", {
      op: "createLink",
      routeId: "$0",
      link: { label: "Sunday ride" }
    })
  ),
  operation("updateLink", { ...opened, linkId: LinkId, changes: ShareLinkPatch }).check(oneOpened).annotate(
    named("UpdateLinkOperation", "Changes a link to a route or a collection.", {
      op: "updateLink",
      routeId: RouteId.make(12),
      linkId: LINK_ID,
      changes: { expiresAt: null }
    })
  ),
  operation("deleteLink", { ...opened, linkId: LinkId }).check(oneOpened).annotate(
    named("DeleteLinkOperation", "Deletes a link to a route or a collection.", {
      op: "deleteLink",
      collectionId: CollectionId.make(4),
      linkId: LINK_ID
    })
  ),
  operation("setPrivacyZones", { zones: ZoneList }).annotate(
    named("SetPrivacyZonesOperation", "Replaces the privacy zones of the account.", {
      op: "setPrivacyZones",
      zones: [ZONE]
    })
  ),
  operation("updateAccount", { changes: ProfilePatch }).annotate(
    named("UpdateAccountOperation", "Changes the profile and the preferences of the account.", {
      op: "updateAccount",
      changes: { preferences: { units: "imperial" } }
    })
  )
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

export const operationCount = [Schema.isMinLength(1), Schema.isMaxLength(MAX_OPERATIONS)] as const

export const RouteBatch = Schema.Struct({
  atomic: optionalMember(
    Schema.Boolean.annotate({
      description: "`true`: all operations or none; the response is the first one's error then"
    })
  ),
  operations: Schema.Array(BatchOperation).check(...operationCount).annotate({
    description: "What to do, in order"
  })
}).annotate(named("RouteBatch", "Operations on what the caller has stored.", {
  atomic: true,
  operations: [DELETION, RESTORATION]
}))
export type RouteBatch = typeof RouteBatch.Type

const ERROR = { statusCode: 404, code: "NOT_FOUND", message: "No such route" }

const OperationError = Schema.Struct({
  statusCode: Schema.Int.annotate({ description: "The status of the response" }),
  code: Schema.String.annotate({ description: "A stable word for a program" }),
  message: Schema.String.annotate({ description: "For people" }),
  details: Schema.optionalKey(ErrorDetails)
}).annotate(named("OperationError", "Why an operation was refused.", ERROR))

const DELETED = { op: "delete", status: 200 }

const BatchResult = Schema.Struct({
  op: Schema.String.annotate({ description: "The `op` of the operation" }),
  status: Schema.Int.annotate({ description: "The status that the operation has as a request of its own" }),
  etag: Schema.optionalKey(Schema.String.annotate({ description: "The `ETag` of the route or collection" })),
  route: Schema.optionalKey(CreatedRoute),
  collection: Schema.optionalKey(Collection),
  link: Schema.optionalKey(ShareLink),
  zones: Schema.optionalKey(ZoneList),
  account: Schema.optionalKey(Profile),
  error: Schema.optionalKey(OperationError)
}).annotate(named("BatchResult", "What became of an operation.", DELETED))

export const BatchResults = Schema.Struct({
  results: Schema.Array(BatchResult).annotate({ description: "In the order of the operations" })
}).annotate(named("BatchResults", "What became of each operation.", {
  results: [DELETED, { op: "restore", status: 404, error: ERROR }]
}))
