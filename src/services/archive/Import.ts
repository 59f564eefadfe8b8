import { Array as Arrays, Context, DateTime, Effect, Layer, Option, type Scope, Stream, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { ArchivedCollection, ImportReport, Manifest, Outcome } from "../../schema/Archive.ts"
import { type RouteId, type ShareToken, UserId } from "../../schema/Ids.ts"
import { MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import type { Preferences } from "../../schema/Preferences.ts"
import { mergePreferences } from "../accounts/Profile.ts"
import { PrivacyZones } from "../accounts/Zones.ts"
import { ImportTurns, type RunJob } from "../admission/ImportTurns.ts"
import { Quotas } from "../admission/Quotas.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { DatabaseLocks } from "../db/DatabaseSessions.ts"
import {
  AccountDeleted,
  ImportRunning,
  InvalidInput,
  Overloaded,
  type QuotaExceeded,
  type ZonesFull
} from "../DomainErrors.ts"
import { type CountBytes, ImportDisk, kept, type NamelessFile, namelessFile } from "../files/Spool.ts"
import { isActive, UserRecord, users } from "../identity/Users.ts"
import { RouteViews } from "../routes/RouteViews.ts"
import { importedRows, type ImportedTable, type Others } from "./ImportedRows.ts"
import {
  type Batch,
  type ImportedRoute,
  type ListJob,
  type ListName,
  LISTS,
  PROFILE,
  readCollections,
  readRoutes
} from "./Lists.ts"
import { type CheckedArchive, checkedArchive } from "./Zip.ts"

type Contents = ReadonlyMap<ShareToken, number>

/** Keeps decoded elements on the disk until the scope closes, so that none is decoded twice. */
const batchSpool = Effect.fnUntraced(function*(count: CountBytes) {
  const file = yield* namelessFile("upload")
  const places: Array<{ readonly start: number; readonly length: number }> = []
  const size = { bytes: 0 }
  return {
    /** Counts the bytes as those of the upload. Fails with `Overloaded` without room on the disk. */
    append: Effect.fnUntraced(function*(batch: Uint8Array) {
      yield* count(batch.length)
      yield* file.append(batch)
      places.push({ start: size.bytes, length: batch.length })
      size.bytes += batch.length
    }),
    batches: Stream.suspend(() => Stream.fromIterable(places)).pipe(
      Stream.mapEffect(({ length, start }) => file.read(start, length))
    )
  }
})

const checkList = Effect.fnUntraced(function*<A>(
  archive: CheckedArchive,
  file: ListName,
  { batchIn, job }: ListJob<A>,
  run: RunJob,
  count: CountBytes
) {
  const spool = yield* batchSpool(count)
  const issues: Array<ValidationIssue> = []
  const contents = new Map<ShareToken, number>()
  yield* archive.elements(file).pipe(
    Stream.takeWhile(() => issues.length < MAX_ISSUES),
    Stream.mapEffect((elements) => run(job, elements, elements.bytes.length)),
    Stream.runForEach((decoded) =>
      Effect.suspend(() => {
        issues.push(...decoded.issues)
        for (const { bytes, line, origin } of decoded.storable) {
          if (contents.has(origin)) {
            issues.push({ path: `${file}:${line}.origin`, message: "Expected each origin once" })
          }
          contents.set(origin, bytes)
        }
        return issues.length === 0 ? spool.append(decoded.batch) : Effect.void
      })
    )
  )
  const expected = archive.counts[LISTS[file]]
  if (issues.length === 0 && contents.size !== expected) {
    issues.push({ path: file, message: `Expected ${expected} elements, as the manifest says` })
  }
  return { contents, issues, batches: Stream.map(spool.batches, batchIn) }
})

/** Decodes everything. Fails with `InvalidInput`, which names what cannot be stored. */
const checkElements = Effect.fnUntraced(function*(archive: CheckedArchive, run: RunJob, count: CountBytes) {
  const routes = yield* checkList(archive, "routes.json", readRoutes, run, count)
  const collections = yield* checkList(archive, "collections.json", readCollections, run, count)
  const issues = [...routes.issues, ...collections.issues]
  if (issues.length > 0) return yield* new InvalidInput({ issues: issues.slice(0, MAX_ISSUES) })
  return { routes, collections }
})

const ORIGINS_AT_ONCE = 1000

type Origins = ReadonlyArray<ShareToken>

/** The ZIP is on the disk until the scope closes. */
export interface Received {
  readonly file: NamelessFile
  readonly restore: Effect.Effect<ImportReport, QuotaExceeded | AccountDeleted | InvalidInput | Overloaded>
}

/**
 * Imports an archive into the same account or another. All of it is decoded and checked before the first row is
 * written, so that a refused one has no effect. Batches of about 1 MiB are idempotent transactions: the same archive,
 * sent again, finishes an interrupted import. A row with the same `origin` is not changed, only restored from the
 * trash, a collection with the routes that it lost. New rows get new ids and share tokens, as an archive is untrusted
 * input. A collection keeps its routes that are in the archive, and public ones of others. Preferences are added where
 * the account has none; privacy zones are added, before routes.
 */
export class AccountImport extends Context.Service<AccountImport, {
  /**
   * Fails with `InvalidInput`, which names file and line; with `ImportRunning` during another import into the account,
   * from the first byte on; with `QuotaExceeded` when it has no room; with `AccountDeleted` once its deletion is
   * requested, which also deletes what was imported. Fails with `Overloaded` without disk space, when `HeavyWork` fails
   * (nothing is written), and above the limit of concurrent imports, counted after the upload so that slow ones block
   * no others.
   */
  readonly receive: <E>(
    owner: UserId,
    upload: Stream.Stream<Uint8Array, E>
  ) => Effect.Effect<Received, E | ImportRunning | Overloaded, Scope.Scope>
}>()("route-planning-service/AccountImport") {
  static readonly layer = Layer.effect(
    AccountImport,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* importedRows
      const quotas = yield* Quotas
      const zones = yield* PrivacyZones
      const views = yield* RouteViews
      const disk = yield* ImportDisk
      const turns = yield* ImportTurns
      const lock = yield* DatabaseLocks
      const busy = new Set<UserId>()

      // The lock also excludes imports of other processes.
      const requireLock = Effect.fnUntraced(function*(owner: UserId) {
        if (!(yield* Effect.orDie(lock(`import ${owner}`)))) return yield* new ImportRunning()
      })

      const alone = (owner: UserId) =>
        Effect.acquireRelease(
          Effect.suspend(() => busy.has(owner) ? Effect.fail(new ImportRunning()) : Effect.sync(() => busy.add(owner))),
          () => Effect.sync(() => busy.delete(owner))
        )

      const inParts = <A>(
        { contents }: { readonly contents: Contents },
        part: (origins: Origins) => Effect.Effect<A>
      ) =>
        Effect.forEach(Arrays.chunksOf([...contents.keys()], ORIGINS_AT_ONCE), (origins) => turns.turn(part(origins)))

      /** Uses the manifest's counts before the archive is read, and assumes that it has everything the account has. */
      const requireCounts = Effect.fnUntraced(function*(owner: UserId, counts: Manifest["counts"]) {
        const { collections, routes } = yield* quotas.usage(owner)
        yield* quotas.requireRoom(owner, {
          routes: counts.routes - routes.used,
          storedBytes: 0,
          collections: counts.collections - collections.used
        })
      })

      const requireContents = Effect.fnUntraced(function*(
        owner: UserId,
        archived: Readonly<Record<ImportedTable, { readonly contents: Contents }>>
      ) {
        const uncounted = (table: ImportedTable) =>
          Effect.map(inParts(archived[table], (origins) => rows.uncounted(table, owner, origins)), Arrays.flatten)
        const routes = yield* uncounted("routes")
        const collections = yield* uncounted("collections")
        yield* turns.turn(quotas.requireRoom(owner, {
          routes: routes.length,
          storedBytes: routes.reduce((sum, origin) => sum + (archived.routes.contents.get(origin) ?? 0), 0),
          collections: collections.length
        }))
      })

      const lockPreferences = SqlSchema.findOneOption({
        Request: UserId,
        Result: UserRecord.select.mapFields(Struct.pick(["preferences"])),
        execute: (id) => sql`SELECT preferences FROM users WHERE id = ${id} AND ${isActive(sql)} FOR NO KEY UPDATE`
      })

      const restorePreferences = Effect.fnUntraced(
        function*(owner: UserId, archived: Preferences) {
          const now = yield* DateTime.nowAsDate
          const user = yield* lockPreferences(owner)
          if (Option.isNone(user)) return yield* new AccountDeleted()
          const merged = JSON.stringify(mergePreferences(archived, user.value.preferences ?? {}))
          const rows = yield* sql`
            UPDATE users SET ${users.set(sql, { preferences: merged, updatedAt: now })}
            WHERE id = ${owner} AND coalesce(preferences, '{}') <> ${merged}::jsonb RETURNING id`
          return rows.length === 0 ? "unchanged" as const : "restored" as const
        },
        sql.withTransaction,
        databaseDefects
      )

      const writeBatch = Effect.fnUntraced(function*(
        owner: UserId,
        batch: Batch<ImportedRoute>,
        ids: Map<RouteId, RouteId>,
        others: Others
      ) {
        const written = yield* rows.routes(owner, batch, others)
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
        yield* turns.turn(requireCounts(owner, archive.counts))
        const { preferences, privacyZones = [] } = yield* archive.profile
        const lists = yield* checkElements(archive, turns.run, count)
        yield* requireContents(owner, lists)
        // Zones come before the first route: no route is shown without the zones that hide a part of it.
        if (privacyZones.length > 0) {
          yield* turns.turn(
            Effect.catchTag(zones.add(owner, privacyZones, { renames: false }), "ZonesFull", tooManyZones)
          )
        }
        const ids = new Map<RouteId, RouteId>()
        const known = yield* inParts(lists.routes, (origins) => rows.known(owner, origins))
        const others = { upTo: yield* rows.newestRoute(owner), except: known.flat() }
        const routes = yield* lists.routes.batches.pipe(
          Stream.mapEffect((batch) => turns.turn(writeBatch(owner, batch, ids, others))),
          Stream.runCollect
        )
        const collections = yield* lists.collections.batches.pipe(
          Stream.mapEffect(({ records }) =>
            Effect.forEach(records, (collection) => turns.turn(writeCollection(owner, collection, ids)))
          ),
          Stream.runCollect
        )
        return {
          routes: { ...sumOf(routes), duplicates: routes.reduce((sum, { duplicates }) => sum + duplicates, 0) },
          collections: sumOf(collections.flat()),
          preferences: preferences === null ? "unchanged" : yield* turns.turn(restorePreferences(owner, preferences))
        }
      }, (taken, owner) => Effect.ensuring(taken, views.refresh(owner)))

      return AccountImport.of({
        receive: Effect.fnUntraced(function*(owner, upload) {
          yield* alone(owner)
          yield* requireLock(owner)
          const count = yield* disk.share
          const file = yield* kept(upload, count)
          yield* turns.place
          return { file, restore: Effect.scoped(take(owner, file, count)) }
        })
      })
    })
  )
}

const tooManyZones = ({ limit, used }: ZonesFull) =>
  InvalidInput.at(`${PROFILE}.privacyZones`, `Expected at most ${limit - used} that the account does not have`)

const sumOf = (outcomes: ReadonlyArray<Outcome>): Outcome => ({
  created: outcomes.reduce((sum, { created }) => sum + created, 0),
  restored: outcomes.reduce((sum, { restored }) => sum + restored, 0),
  unchanged: outcomes.reduce((sum, { unchanged }) => sum + unchanged, 0)
})
