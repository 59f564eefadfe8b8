import { Array as Arrays, Effect } from "effect"
import type { Manifest } from "../../schema/Archive.ts"
import type { ShareToken, UserId } from "../../schema/Ids.ts"
import type { Quotas } from "../limits/Quotas.ts"
import type { Contents } from "./Elements.ts"
import type { ImportedRows, ImportedTable } from "./ImportedRows.ts"
import type { Turn } from "./ImportTurns.ts"

const ORIGINS_AT_ONCE = 1000

/** Checks an archive against the account's quotas before anything is written. `QuotaExceeded` names it. */
export const importRoom = (quotas: Quotas["Service"], rows: ImportedRows) => {
  const uncountedOf = Effect.fnUntraced(function*(
    table: ImportedTable,
    owner: UserId,
    contents: Contents,
    turn: Turn
  ) {
    const uncounted: Array<ShareToken> = []
    for (const origins of Arrays.chunksOf([...contents.keys()], ORIGINS_AT_ONCE)) {
      uncounted.push(...yield* turn(rows.uncounted(table, owner, origins)))
    }
    return uncounted
  })

  return {
    /** By the manifest's counts, before the archive is read: assumes that it has everything the account has. */
    requireCounts: Effect.fnUntraced(function*(owner: UserId, counts: Manifest["counts"]) {
      const { collections, routes } = yield* quotas.usage(owner)
      yield* quotas.requireRoom(owner, {
        routes: counts.routes - routes.used,
        storedBytes: 0,
        collections: counts.collections - collections.used
      })
    }),

    requireContents: Effect.fnUntraced(function*(
      owner: UserId,
      archived: Readonly<Record<ImportedTable, Contents>>,
      turn: Turn
    ) {
      const routes = yield* uncountedOf("routes", owner, archived.routes, turn)
      const collections = yield* uncountedOf("collections", owner, archived.collections, turn)
      yield* turn(quotas.requireRoom(owner, {
        routes: routes.length,
        storedBytes: routes.reduce((sum, origin) => sum + (archived.routes.get(origin) ?? 0), 0),
        collections: collections.length
      }))
    })
  }
}
