import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Null: no zones, which costs a read by others one comparison. Of a sequence, so that no revision comes twice: what
  // was cut for one is not shown for another.
  yield* sql`CREATE SEQUENCE zones_revisions`
  yield* sql`ALTER TABLE users ADD COLUMN zones_revision bigint`
  yield* sql`CREATE INDEX users_zones_idx ON users (id) WHERE zones_revision IS NOT NULL`

  // Degrees and metres. The circle that is cut is kept, since a new one for the same home could be averaged with it.
  yield* sql`
    CREATE TABLE privacy_zones (
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      position smallint NOT NULL,
      lng float8 NOT NULL,
      lat float8 NOT NULL,
      radius float8 NOT NULL,
      label text,
      cut_lng float8 NOT NULL,
      cut_lat float8 NOT NULL,
      cut_radius float8 NOT NULL,
      PRIMARY KEY (user_id, position)
    )`

  // What others see of a route whose owner has zones, made beside the requests. A row of another version of the route, of
  // the zones or of the places is not shown.
  yield* sql`
    CREATE TABLE route_views (
      route_id bigint PRIMARY KEY REFERENCES routes ON DELETE CASCADE,
      route_version bigint NOT NULL,
      zones_revision bigint NOT NULL,
      place_version smallint NOT NULL,
      is_whole boolean NOT NULL,
      geometry text,
      simplified text,
      polyline6 text,
      bounds box,
      waypoints text,
      cues text,
      start_address text,
      end_address text,
      place_city text,
      words tsvector
    )`
})
