import { Context, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { bigints } from "../db/Tables.ts"
import type { Overloaded } from "../DomainErrors.ts"

export interface Locked {
  readonly account: boolean
  readonly routes: ReadonlyArray<RouteId>
  readonly collections: ReadonlyArray<CollectionId>
}

/** The failure of this operation undid an atomic batch. */
export interface FailedOperation<E> {
  readonly index: number
  readonly error: E
}

export type Operation<A, E> = (before: ReadonlyArray<Result.Result<A, E>>) => Effect.Effect<A, E>

export class Batches extends Context.Service<Batches, {
  /**
   * Runs operations in their order. A failed operation is undone alone; an atomic batch is undone as a whole, and fails
   * with its first failed operation. Rows are locked before, in one order, so that no two batches wait for each other.
   * Takes a turn of the account (`Lanes.writes`), which its operations share.
   */
  readonly run: <A, E>(
    owner: UserId,
    locked: Locked,
    operations: ReadonlyArray<Operation<A, E>>,
    options: { readonly isAtomic: boolean }
  ) => Effect.Effect<ReadonlyArray<Result.Result<A, E>>, FailedOperation<E> | Overloaded>
}>()("route-planning-service/Batches") {
  static readonly layer = Layer.effect(
    Batches,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { writes } = yield* Lanes

      // Other calls lock a route, then share the account by a foreign key, then count: no lock here may wait against that
      // order. Routes are locked less than `FOR UPDATE`, so that collections of others that list them need not wait.
      const lock = Effect.fnUntraced(function*(owner: UserId, { account, collections, routes }: Locked) {
        if (account) yield* sql`SELECT FROM users WHERE id = ${owner} FOR NO KEY UPDATE`
        if (collections.length > 0) {
          yield* sql`
            SELECT FROM collections WHERE user_id = ${owner} AND ${sql.in("id", collections)} ORDER BY id FOR UPDATE`
        }
        if (routes.length > 0) {
          yield* sql`
            SELECT FROM routes WHERE user_id = ${owner} AND id = ANY(${bigints(new Set(routes))}::bigint[])
            ORDER BY id FOR NO KEY UPDATE`
        }
        yield* sql`SELECT FROM collection_usage WHERE user_id = ${owner} FOR NO KEY UPDATE`
        yield* sql`SELECT FROM route_usage WHERE user_id = ${owner} FOR NO KEY UPDATE`
      })

      return Batches.of({
        run: Effect.fnUntraced(
          function*<A, E>(
            owner: UserId,
            locked: Locked,
            operations: ReadonlyArray<Operation<A, E>>,
            { isAtomic }: { readonly isAtomic: boolean }
          ) {
            yield* lock(owner, locked)
            const results: Array<Result.Result<A, E>> = []
            for (const [index, operation] of operations.entries()) {
              const result = yield* Effect.result(databaseDefects(sql.withTransaction(operation(results))))
              if (isAtomic && Result.isFailure(result)) {
                return yield* Effect.fail<FailedOperation<E>>({ index, error: result.failure })
              }
              results.push(result)
            }
            return results
          },
          sql.withTransaction,
          (changes, owner) => writes(owner, changes),
          databaseDefects
        )
      })
    })
  )
}
