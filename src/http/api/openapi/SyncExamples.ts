export const SYNC_EXAMPLES: Readonly<Record<string, unknown>> = {
  AddToCollectionOperation: { op: "addToCollection", collectionId: 4, routeId: 12, position: 0 },
  BatchOperation: { op: "delete", id: 12 },
  BatchResult: { op: "delete", status: 200 },
  BatchResults: {
    results: [{ op: "delete", status: 200 }, {
      op: "restore",
      status: 404,
      error: { statusCode: 404, code: "NOT_FOUND", message: "No such route" }
    }]
  },
  Change: { type: "route", id: 12, change: "deleted", version: 3, at: "2025-06-02T10:00:00.000Z" },
  ChangePage: {
    changes: [{ type: "route", id: 12, change: "deleted", version: 3, at: "2025-06-02T10:00:00.000Z" }],
    cursor: "AUvkzyqN7cS2T7oO1cXh0nsi...",
    hasMore: false
  },
  CreateOperation: { op: "create", route: { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }] } },
  DeleteOperation: { op: "delete", id: 12, ifMatch: "W/\"3-full-9ae0daaf\"" },
  OperationError: { statusCode: 404, code: "NOT_FOUND", message: "No such route" },
  RemoveFromCollectionOperation: { op: "removeFromCollection", collectionId: 4, routeId: 12 },
  RestoreOperation: { op: "restore", id: 13 },
  RouteBatch: { atomic: true, operations: [{ op: "delete", id: 12 }, { op: "restore", id: 13 }] },
  UpdateOperation: { op: "update", id: 12, changes: { name: "Around Vaduz by night" } }
}
