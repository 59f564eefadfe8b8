import { Array as Arrays, Effect } from "effect"
import type { Manifest } from "../../schema/Archive.ts"
import type { ShareToken, UserId } from "../../schema/Ids.ts"
import { Quotas } from "../limits/Quotas.ts"
import type { Contents } from "./Elements.ts"
import { importedRows, type ImportedTable } from "./ImportedRows.ts"
import type { Turn } from "./ImportTurns.ts"

const ORIGINS_AT_ONCE = 1000

/** What refuses an archive that an account has no room for, before anything of it is written. `Conflict` names the quota. */
export const importRoom = Effect.gen(function*() {
  const quotas = yield* Quotas
  const rows = yield* importedRows

  const missingOf = Effect.fnUntraced(function*(
    table: ImportedTable,
    owner: UserId,
    contents: Contents,
    turn: Turn
  ) {
    const missing: Array<ShareToken> = []
    for (const origins of Arrays.chunksOf([...contents.keys()], ORIGINS_AT_ONCE)) {
      missing.push(...yield* turn(rows.missing(table, owner, origins)))
    }
    return missing
  })

  return {
    /** By what the manifest says, before the archive is read: the account has at most what it has in all. */
    requireCounts: Effect.fnUntraced(function*(owner: UserId, counts: Manifest["counts"]) {
      const { collections, routes } = yield* quotas.usage(owner)
      yield* quotas.requireRoom(owner, {
        routes: counts.routes - routes.used,
        storedBytes: 0,
        collections: counts.collections - collections.used
      })
    }),

    /** By what of the contents the account does not have yet, which is looked up in turns. */
    requireContents: Effect.fnUntraced(function*(
      owner: UserId,
      archived: Readonly<Record<ImportedTable, { readonly contents: Contents }>>,
      turn: Turn
    ) {
      const routes = yield* missingOf("routes", owner, archived.routes.contents, turn)
      const collections = yield* missingOf("collections", owner, archived.collections.contents, turn)
      yield* turn(quotas.requireRoom(owner, {
        routes: routes.length,
        storedBytes: routes.reduce((sum, origin) => sum + (archived.routes.contents.get(origin) ?? 0), 0),
        collections: collections.length
      }))
    })
  }
})
