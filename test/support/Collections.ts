import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Actor, Rider } from "./Actors.ts"
import { created, idOf, idsIn, newRoute } from "./Routes.ts"

export const routeIdsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({ routeIds: Schema.Array(Schema.Int), routeCount: Schema.Int }))(body)

export const makeRoute = (rider: Actor, members: Record<string, unknown> = {}) =>
  Effect.map(rider.post("/routes", newRoute(members)), ({ body }) => idOf(body))

export const make = (rider: Actor, members: Record<string, unknown> = {}) =>
  Effect.map(rider.post("/collections", { name: "Summer", ...members }), ({ body }) => created(body))

/** Makes as many routes as a collection may have, and adds them to it. */
export const fill = Effect.fnUntraced(function*({ email, id: owner }: Rider, id: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    WITH made AS (
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at,
        updated_at)
      SELECT ${owner}, 'r', 'private', '{}', false, '[{"coord":[1,2]}]', 'generation', md5(n::text || ${email}::text),
        now(), now() FROM generate_series(1, 1000) n RETURNING id
    )
    INSERT INTO collection_routes (collection_id, route_id, position)
    SELECT ${id}, id, row_number() OVER (ORDER BY id) FROM made`
})

/** Returns the routes of a collection as a viewer gets them. It asserts that all its pages and its total agree. */
export const shownTo = Effect.fnUntraced(function*(viewer: Actor, ref: number | string, geometry = "full") {
  const path = `/collections/${ref}/routes?geometry=${geometry}`
  const whole = yield* viewer.get(path)
  const ids = idsIn(whole.body)
  assert.strictEqual(whole.headers.get("x-total-count"), String(ids.length))
  for (const [offset, id] of ids.entries()) {
    assert.deepStrictEqual(idsIn((yield* viewer.get(`${path}&limit=1&offset=${offset}`)).body), [id])
  }
  return ids
})
