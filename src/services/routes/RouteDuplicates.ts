import { Context, Effect, flow, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RouteId, UserId } from "../../schema/Ids.ts"
import type { Duplicate } from "../../schema/Import.ts"
import { Source, type StoredRoute } from "../../schema/Route.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import {
  type ClientIdUsed,
  type CueBeyondLine,
  DuplicateRoutes,
  type Overloaded,
  type QuotaExceeded,
  type SourceUsed
} from "../DomainErrors.ts"
import type { MeasuredPolyline } from "../geometry/MeasuredPolyline.ts"
import { accountLock } from "../identity/Users.ts"
import { routeVisibility } from "../sharing/Visibility.ts"
import type { RouteDraft } from "./RouteRow.ts"
import { Routes } from "./Routes.ts"
import { lineDigest, routeDigest, sameRoutes } from "./RouteText.ts"

/** `track` is the index of a draft among the tracks of its file, where that is not its index in a list of drafts. */
export type ReadDraft = RouteDraft & { readonly geometry: MeasuredPolyline; readonly track?: number }

/** Returns which lines of a file repeat the positions of an earlier one, rounded to 1e-6 degrees. */
export const repeatsIn = (lines: ReadonlyArray<MeasuredPolyline>): ReadonlySet<number> => {
  if (lines.length < 2) return new Set()
  const known = new Set<string>()
  const repeats = new Set<number>()
  for (const [index, line] of lines.entries()) {
    if (line.positionCount === 0) continue
    const { digest } = lineDigest(line)
    if (known.has(digest)) repeats.add(index)
    known.add(digest)
  }
  return repeats
}

export interface Kept {
  readonly routeId: RouteId
  readonly isNew: boolean
}

/**
 * Finds own live routes with the same positions as an imported one, rounded to 1e-6 degrees; of one without a line, with
 * its name and waypoints.
 */
export class RouteDuplicates extends Context.Service<RouteDuplicates, {
  /** Finds the oldest such route for each of the drafts. */
  readonly find: (owner: UserId, drafts: ReadonlyArray<ReadDraft>) => Effect.Effect<ReadonlyArray<Duplicate>>
  /** Creates all routes or none, also in concurrent imports. A repeated `clientId` repeats `Routes.create`. */
  readonly createUnlessThere: (
    owner: UserId,
    drafts: ReadonlyArray<ReadDraft>
  ) => Effect.Effect<
    ReadonlyArray<StoredRoute>,
    ClientIdUsed | CueBeyondLine | DuplicateRoutes | QuotaExceeded | SourceUsed | Overloaded
  >
  /**
   * Creates the routes unless an own one has the same positions or the same source. Fails with `SourceUsed` where it is
   * in the trash.
   */
  readonly createOthers: (
    owner: UserId,
    drafts: ReadonlyArray<ReadDraft>
  ) => Effect.Effect<ReadonlyArray<Kept>, ClientIdUsed | CueBeyondLine | QuotaExceeded | SourceUsed | Overloaded>
}>()("route-planning-service/RouteDuplicates") {
  static readonly layer = Layer.effect(
    RouteDuplicates,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const routes = yield* Routes
      const lockAccount = yield* accountLock
      const findSame = yield* sameRoutes
      const { writes } = yield* Lanes

      const find = (owner: UserId, drafts: ReadonlyArray<ReadDraft>) =>
        findSame({
          owner,
          digests: drafts.map((draft, index) => ({ index: draft.track ?? index, ...routeDigest(draft) })),
          upTo: Number.MAX_SAFE_INTEGER,
          except: []
        })

      const visibility = routeVisibility(sql)

      const findFrom = SqlSchema.findOneOption({
        Request: Schema.Struct({ owner: UserId, source: Source }),
        Result: Schema.Struct({ id: RouteId }),
        execute: ({ owner, source: { externalId, provider } }) =>
          sql`
            SELECT id FROM routes r WHERE ${visibility.own(owner)}
              AND source_provider = ${provider} AND source_external_id = ${externalId}`
      })

      const findOwn = Effect.fnUntraced(function*(owner: UserId, draft: ReadDraft) {
        const { source = null } = draft
        const from = source === null ? Option.none() : yield* findFrom({ owner, source })
        if (Option.isSome(from)) return from.value.id
        return (yield* find(owner, [draft]))[0]?.routeId
      })

      const keep = Effect.fnUntraced(function*(owner: UserId, draft: ReadDraft) {
        const own = yield* findOwn(owner, draft)
        if (own !== undefined) return [{ routeId: own, isNew: false }]
        return (yield* routes.createAll(owner, [draft])).map(({ id }): Kept => ({ routeId: id, isNew: true }))
      })

      return RouteDuplicates.of({
        createOthers: Effect.fnUntraced(
          function*(owner, drafts) {
            yield* lockAccount(owner)
            // The routes follow one after the other, so that a track that a file has twice makes one route.
            return (yield* Effect.forEach(drafts, (draft) => keep(owner, draft))).flat()
          },
          sql.withTransaction,
          (change, owner) => writes(owner, change),
          databaseDefects
        ),

        find: flow(find, Effect.orDie),

        createUnlessThere: Effect.fnUntraced(
          function*(owner, drafts) {
            yield* lockAccount(owner)
            const made = yield* sql`
              SELECT FROM routes WHERE user_id = ${owner} AND client_id = ${drafts[0]?.clientId ?? null}::uuid`
            const duplicates = made.length > 0 ? [] : yield* find(owner, drafts)
            if (duplicates.length > 0) return yield* new DuplicateRoutes({ duplicates })
            return yield* routes.createAll(owner, drafts)
          },
          sql.withTransaction,
          (change, owner) => writes(owner, change),
          databaseDefects
        )
      })
    })
  )
}
