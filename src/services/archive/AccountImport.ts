import { Context, DateTime, Effect, Layer, Option, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { ArchivedCollection, ImportReport, Outcome } from "../../schema/Archive.ts"
import { PreferencesColumn } from "../../schema/Columns.ts"
import { Conflict, type Forbidden, type Unavailable, type ValidationFailed } from "../../schema/Errors.ts"
import { type RouteId, UserId } from "../../schema/Ids.ts"
import type { Preferences } from "../../schema/Preferences.ts"
import { mergePreferences } from "../accounts/PreferenceMerge.ts"
import { type CountBytes, importDisk } from "../spool/ImportDisk.ts"
import { kept, type NamelessFile } from "../spool/NamelessFile.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { checkElements } from "./Elements.ts"
import { accountLeaves, importedRows } from "./ImportedRows.ts"
import { importRoom } from "./ImportRoom.ts"
import { importTurns } from "./ImportTurns.ts"
import type { ImportedRoute } from "./ListJobs.ts"
import type { Batch } from "./RecordSpool.ts"
import { checkedArchive } from "./ZipReader.ts"

/**
 * Takes the archive of an account in, into the same account or another one.
 *
 * All of the archive is decoded and checked, long parts in threads, before the first row is written, so a refused one leaves
 * nothing. What was decoded is on the disk until then. It is written in batches of about 1 MiB, each of which is done or not
 * and may be done again: an import that was cut short is finished by sending the archive once more.
 *
 * What the account has, by the `origin` that a route or collection keeps through every export and import, stays as it is,
 * whatever became of it since; what is in the bin comes back. New ones get an id and a share token of their own: a link is
 * this service's to give, and an archive is only somebody's word. A collection keeps those of its routes that are in the
 * archive, and others' where they are public. Preferences are added where the account has none.
 */
export class AccountImport extends Context.Service<AccountImport, {
  /**
   * `ValidationFailed` names what is wrong with the archive, by file and line. `Conflict` while this process takes another
   * one into the account, from its first byte on, so that nobody has two on the disk, and when the account has no room for
   * all of it. `Unavailable` when the uploads on the disk, which are there for as long as this takes, have no room for this
   * one, when `HeavyWork` fails at a part of it (nothing is written then), and while too many are worked on, counted once
   * they have arrived, so that slow uploads do not block others. `Forbidden` once the account is to be deleted: what was
   * imported by then is deleted with it.
   */
  readonly restore: <E>(
    owner: UserId,
    upload: Stream.Stream<Uint8Array, E>
  ) => Effect.Effect<ImportReport, E | Conflict | Forbidden | ValidationFailed | Unavailable>
}>()("route-planning-service/AccountImport") {
  static readonly layer = Layer.effect(
    AccountImport,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const room = yield* importRoom
      const rows = yield* importedRows
      const disk = yield* importDisk
      const turns = yield* importTurns
      const busy = new Set<UserId>()

      const aloneFor = (owner: UserId) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          Effect.suspend(() => busy.has(owner) ? Effect.fail(alreadyBusy) : Effect.sync(() => busy.add(owner))),
          () => work,
          () => Effect.sync(() => busy.delete(owner))
        )

      const lockPreferences = SqlSchema.findOneOption({
        Request: UserId,
        Result: Schema.Struct({ preferences: PreferencesColumn }),
        execute: (id) =>
          sql`SELECT preferences FROM users WHERE id = ${id} AND deletion_requested_at IS NULL FOR UPDATE`
      })

      const restorePreferences = Effect.fnUntraced(
        function*(owner: UserId, archived: Preferences) {
          const now = yield* DateTime.nowAsDate
          const user = yield* lockPreferences(owner)
          if (Option.isNone(user)) return yield* accountLeaves
          const merged = JSON.stringify(mergePreferences(archived, user.value.preferences ?? {}))
          const rows = yield* sql`
            UPDATE users SET preferences = ${merged}, updated_at = ${now}
            WHERE id = ${owner} AND coalesce(preferences, '{}') <> ${merged}::jsonb RETURNING id`
          return rows.length === 0 ? "unchanged" as const : "restored" as const
        },
        sql.withTransaction,
        databaseDefects
      )

      const writeBatch = Effect.fnUntraced(function*(
        owner: UserId,
        batch: Batch<ImportedRoute>,
        ids: Map<RouteId, RouteId>
      ) {
        const written = yield* rows.routes(owner, batch)
        for (const { id, origin } of batch.records) {
          const imported = written.ids.get(origin)
          if (imported !== undefined) ids.set(id, imported)
        }
        return written.outcome
      })

      const writeCollection = Effect.fnUntraced(function*(
        owner: UserId,
        collection: ArchivedCollection,
        own: ReadonlyMap<RouteId, RouteId>
      ) {
        const open = yield* rows.publicRoutes(collection.others.map(({ shareToken }) => shareToken))
        const others = new Map(collection.others.map(({ id, shareToken }) => [id, open.get(shareToken)]))
        const members = collection.routeIds.map((id) => own.get(id) ?? others.get(id)).filter((id) => id !== undefined)
        return yield* rows.collection(owner, collection, [...new Set(members)])
      })

      const take = Effect.fnUntraced(function*(owner: UserId, file: NamelessFile, count: CountBytes) {
        const archive = yield* checkedArchive(file, turns.run)
        yield* turns.turn(room.requireCounts(owner, archive.counts))
        const { preferences } = yield* archive.profile
        const contents = yield* checkElements(archive, turns.run, count)
        yield* room.requireContents(owner, contents, turns.turn)
        const ids = new Map<RouteId, RouteId>()
        const routes = yield* Stream.runCollect(
          contents.routes.forEach((batch) => turns.turn(writeBatch(owner, batch, ids)))
        )
        const collections = yield* Stream.runCollect(
          contents.collections.forEach(({ records }) =>
            Effect.forEach(records, (collection) => turns.turn(writeCollection(owner, collection, ids)))
          )
        )
        const report: ImportReport = {
          routes: sumOf(routes),
          collections: sumOf(collections.flat()),
          preferences: preferences === null ? "unchanged" : yield* turns.turn(restorePreferences(owner, preferences))
        }
        return report
      })

      return AccountImport.of({
        restore: Effect.fn("AccountImport.restore")(
          <E>(owner: UserId, upload: Stream.Stream<Uint8Array, E>) =>
            disk.share.pipe(
              Effect.flatMap((count) =>
                kept(upload, count).pipe(
                  Effect.tap(() => turns.place),
                  Effect.flatMap((file) => take(owner, file, count))
                )
              ),
              Effect.scoped,
              aloneFor(owner)
            )
        )
      })
    })
  )
}

const alreadyBusy = new Conflict({
  message: "Another archive is being taken into this account: try again when that is done"
})

const sumOf = (outcomes: ReadonlyArray<Outcome>): Outcome => ({
  created: outcomes.reduce((sum, { created }) => sum + created, 0),
  restored: outcomes.reduce((sum, { restored }) => sum + restored, 0),
  unchanged: outcomes.reduce((sum, { unchanged }) => sum + unchanged, 0)
})
