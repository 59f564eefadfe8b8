import { assert, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Ref } from "effect"
import { FetchHttpClient } from "effect/http"
import { SqlClient } from "effect/sql"
import { batch, makeClient, sync, type SyncStore } from "../../src/client.ts"
import { signedIn } from "../support/Actors.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const ride = { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }] } as const

const writer = Effect.gen(function*() {
  const { origin } = yield* TestServer
  const { token } = yield* mint(yield* signedIn, "write")
  return yield* makeClient({ baseUrl: origin, token: Redacted.make(token) })
}).pipe(Effect.provide(FetchHttpClient.layer))

interface Kept {
  readonly cursor: Option.Option<string>
  readonly names: ReadonlyMap<number, string>
  readonly resets: number
}

const nothing: Kept = { cursor: Option.none(), names: new Map(), resets: 0 }

const storeIn = (kept: Ref.Ref<Kept>): SyncStore => ({
  cursor: Effect.map(Ref.get(kept), ({ cursor }) => cursor),
  apply: ({ changes, cursor }) =>
    Ref.update(kept, ({ names, resets }) => {
      const next = new Map(names)
      for (const { id, route } of changes) {
        if (route === undefined) next.delete(id)
        else next.set(id, route.name)
      }
      return { cursor: Option.some(cursor), names: next, resets }
    }),
  reset: Ref.update(kept, ({ resets }) => ({ ...nothing, resets: resets + 1 }))
})

layer(TestServer.layer())("the typed client", (it) => {
  it.effect("does any number of operations, and keeps a copy of the account", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const client = yield* writer
      const kept = yield* Ref.make(nothing)
      const store = storeIn(kept)
      const made = yield* batch(client, Array.from({ length: 101 }, () => ({ op: "create", route: ride })), {
        idempotencyKey: "all"
      })
      assert.deepStrictEqual(new Set(made.map(({ status }) => status)), new Set([201]))
      yield* sync(client, store, { limit: 50, include: ["route"] })
      assert.strictEqual((yield* Ref.get(kept)).names.size, 101)

      const ids = made.flatMap(({ route }) => route === undefined ? [] : [route.id])
      yield* batch(client, ids.slice(1).map((id) => ({ op: "delete", id })), { confirm: true })
      yield* sync(client, store, { include: ["route"] })
      assert.deepStrictEqual([...(yield* Ref.get(kept)).names], [[ids[0], ride.name]])

      yield* sql`UPDATE change_epochs SET epoch = gen_random_uuid()`
      yield* sync(client, store, { include: ["route"] })
      const { names, resets } = yield* Ref.get(kept)
      assert.deepStrictEqual([names.size, resets], [1, 1])
    }))
})
