import { Context, Effect, flow, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import type { Duplicate } from "../../schema/Import.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import {
  type CueBeyondLine,
  DuplicateRoutes,
  type Overloaded,
  type QuotaExceeded,
  type SourceUsed
} from "../DomainErrors.ts"
import type { MeasuredPolyline } from "../geometry/MeasuredPolyline.ts"
import { accountLock } from "../identity/Users.ts"
import type { RouteDraft } from "./RouteRow.ts"
import { Routes } from "./Routes.ts"
import { lineDigest, sameLines } from "./RouteText.ts"

export type ReadDraft = RouteDraft & { readonly geometry: MeasuredPolyline }

/** Finds own live routes with the same positions as an imported one, rounded to 1e-6 degrees. */
export class RouteDuplicates extends Context.Service<RouteDuplicates, {
  /** Finds the oldest such route for each of the drafts. */
  readonly find: (owner: UserId, drafts: ReadonlyArray<ReadDraft>) => Effect.Effect<ReadonlyArray<Duplicate>>
  /** Creates all routes or none; exact also if the same file is imported twice at once. */
  readonly createUnlessThere: (
    owner: UserId,
    drafts: ReadonlyArray<ReadDraft>
  ) => Effect.Effect<
    ReadonlyArray<StoredRoute>,
    CueBeyondLine | DuplicateRoutes | QuotaExceeded | SourceUsed | Overloaded
  >
}>()("route-planning-service/RouteDuplicates") {
  static readonly layer = Layer.effect(
    RouteDuplicates,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const routes = yield* Routes
      const lockAccount = yield* accountLock
      const findSame = yield* sameLines
      const { writes } = yield* Lanes

      const find = (owner: UserId, drafts: ReadonlyArray<ReadDraft>) =>
        findSame({
          owner,
          lines: drafts.map(({ geometry }, index) => ({ index, ...lineDigest(geometry) })),
          upTo: Number.MAX_SAFE_INTEGER
        })

      return RouteDuplicates.of({
        find: flow(find, Effect.orDie),

        createUnlessThere: Effect.fnUntraced(
          function*(owner, drafts) {
            yield* lockAccount(owner)
            const duplicates = yield* find(owner, drafts)
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
