import { Context, DateTime, Effect, flow, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { DeletedStoredCollection, StoredCollection } from "../../schema/Collection.ts"
import { CollectionId, UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { Lanes } from "../admission/Lanes.ts"
import { quotaFailures } from "../admission/Quotas.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { deletionCutoff } from "../db/Sweeps.ts"
import { Missing, type Overloaded, type QuotaExceeded } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { trashQueries } from "../routes/RouteTrash.ts"
import { collectionQueries, CollectionRecord } from "./CollectionRows.ts"

/** Deleted collections, until their grace period ends, in no quota. Changes take a turn (`Lanes.writes`). */
export class CollectionTrash extends Context.Service<CollectionTrash, {
  /** Lists an owner's collections that can be restored, newest deletion first. */
  readonly list: (owner: UserId, page: Page) => Effect.Effect<PageOf<DeletedStoredCollection>>
  readonly count: (owner: UserId) => Effect.Effect<number>
  /** Returns the collection for a confirmation before restoring or erasing. */
  readonly requireOwn: (owner: UserId, id: CollectionId) => Effect.Effect<typeof DeletedRow.Type, Missing>
  /** Restores a collection as it was, a public one only if it `mayPublish`. One of concurrent callers succeeds. */
  readonly restore: (
    owner: UserId,
    id: CollectionId,
    options: { readonly mayPublish: boolean }
  ) => Effect.Effect<StoredCollection, Missing | QuotaExceeded | Overloaded>
  readonly purge: (owner: UserId, id: CollectionId) => Effect.Effect<void, Missing | Overloaded>
  /** Erases all collections in the trash. After a failure another call erases the rest. */
  readonly empty: (owner: UserId) => Effect.Effect<void, Overloaded>
}>()("route-planning-service/CollectionTrash") {
  static readonly layer = Layer.effect(
    CollectionTrash,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const queries = yield* collectionQueries
      const trash = yield* trashQueries("collection")
      const { writes } = yield* Lanes

      const findDeleted = SqlSchema.findOneOption({
        Request: Schema.Struct({ owner: UserId, id: CollectionId, since: Schema.Date }),
        Result: DeletedRow,
        execute: ({ id, owner, since }) =>
          sql`
            SELECT name, visibility FROM collections
            WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${since}`
      })

      return CollectionTrash.of({
        list: Effect.fnUntraced(function*(owner, page) {
          return yield* queries.deleted(owner, yield* deletionCutoff, page, pseudonyms)
        }),

        count: flow((owner) => trash.count(owner), Effect.orDie),

        requireOwn: Effect.fnUntraced(function*(owner, id) {
          const row = yield* findDeleted({ owner, id, since: yield* deletionCutoff })
          return Option.isSome(row) ? row.value : yield* new Missing({ kind: "collection" })
        }, databaseDefects),

        restore: Effect.fnUntraced(
          function*(owner, id, { mayPublish }) {
            const rows = yield* sql`
              UPDATE collections SET deleted_at = NULL, updated_at = ${yield* DateTime.nowAsDate}, version = version + 1
              WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${yield* deletionCutoff}
                AND (${mayPublish} OR visibility <> 'public')
              RETURNING id`
            const restored = rows.length === 0
              ? Option.none()
              : yield* queries.find(id, Option.some(owner), pseudonyms)
            return Option.isSome(restored) ? restored.value : yield* new Missing({ kind: "collection" })
          },
          sql.withTransaction,
          (restoring, owner) => writes(owner, restoring),
          quotaFailures
        ),

        purge: flow((owner, id) => trash.purge(owner, id), databaseDefects),
        empty: flow((owner) => trash.empty(owner), databaseDefects)
      })
    })
  )
}

const DeletedRow = CollectionRecord.select.mapFields(Struct.pick(["name", "visibility"]))
