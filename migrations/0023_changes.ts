import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const PLACE = (row: string) => `${row}.place_city, ${row}.place_region, ${row}.place_country_code`

/** Every edit has a new version. Whatever else is derived again, such as a search index, is no change. */
const RESOURCES = [
  {
    table: "routes",
    type: "route",
    isChanged: `(n.version, n.deleted_at, ${PLACE("n")}) IS DISTINCT FROM (o.version, o.deleted_at, ${PLACE("o")})`,
    isListing: `(n.deleted_at IS NULL) <> (o.deleted_at IS NULL)
      OR (n.visibility = 'private') <> (o.visibility = 'private')`,
    wasListed: "n.deleted_at IS NULL"
  },
  {
    table: "collections",
    type: "collection",
    isChanged: "(n.version, n.deleted_at) IS DISTINCT FROM (o.version, o.deleted_at)",
    isListing: "false",
    wasListed: "false"
  }
]

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // An operator renews it after a restore that PostgreSQL cannot know of, such as of a copied volume.
  yield* sql`
    CREATE TABLE change_epochs (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      epoch uuid NOT NULL DEFAULT gen_random_uuid()
    )`
  yield* sql`INSERT INTO change_epochs DEFAULT VALUES`

  // What changed and has no number yet. Writers only append and wait for nobody: committed rows are numbered later,
  // with the counter of their account locked. A foreign key would let a writer wait for the erasure of another account.
  yield* sql`
    CREATE TABLE pending_changes (
      position bigint GENERATED ALWAYS AS IDENTITY,
      user_id bigint NOT NULL,
      type text NOT NULL,
      id bigint NOT NULL,
      version bigint NOT NULL,
      is_listing boolean NOT NULL
    )`
  yield* sql`CREATE INDEX pending_changes_user_idx ON pending_changes (user_id)`

  // A cursor before `complete_from` misses deletions that were purged.
  yield* sql`
    CREATE TABLE change_counters (
      user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
      last bigint NOT NULL DEFAULT 0,
      complete_from bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50)`

  // The newest change of each route and collection. What has not changed since this migration has none.
  yield* sql`
    CREATE TABLE changes (
      user_id bigint NOT NULL REFERENCES change_counters ON DELETE CASCADE,
      type text NOT NULL CHECK (type IN ('route', 'collection')),
      id bigint NOT NULL,
      number bigint NOT NULL,
      version bigint NOT NULL,
      deleted_at timestamptz,
      PRIMARY KEY (user_id, type, id)
    )`
  yield* sql`CREATE INDEX changes_order_idx ON changes (user_id, number)`
  yield* sql`CREATE INDEX changes_purge_idx ON changes (deleted_at) WHERE deleted_at IS NOT NULL`

  yield* sql`
    CREATE FUNCTION announce_changes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('account_changes', user_id::text) FROM (SELECT DISTINCT user_id FROM added) accounts;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER announce_on_insert AFTER INSERT ON pending_changes REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION announce_changes()`

  // What the collections of others show depends on whether the route is deleted or private.
  yield* sql`
    CREATE FUNCTION relist_for_others(owner bigint, route_ids bigint[]) RETURNS void LANGUAGE sql AS $$
      INSERT INTO pending_changes (user_id, type, id, version, is_listing)
      SELECT DISTINCT c.user_id, 'collection', c.id, c.version, false
      FROM collection_routes m JOIN collections c ON c.id = m.collection_id
      WHERE m.route_id = ANY(route_ids) AND c.user_id <> owner AND c.deleted_at IS NULL
    $$`

  for (const { isChanged, isListing, table, type, wasListed } of RESOURCES) {
    const append = (listing: string, rows: string) =>
      sql.literal(`
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, '${type}', n.id, n.version, ${listing} FROM ${rows}`)
    const on = (event: string, tables: string, body: ReturnType<typeof append>) => {
      const name = sql.literal(`record_${event.toLowerCase()}_of_${table}`)
      return Effect.andThen(
        sql`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NULL; END $$`,
        sql`
          CREATE TRIGGER ${sql.literal(`change_on_${event.toLowerCase()}`)}
          AFTER ${sql.literal(event)} ON ${sql.literal(table)} REFERENCING ${sql.literal(tables)}
          FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`
      )
    }
    yield* on("INSERT", "NEW TABLE AS added", append("false", "added n"))
    yield* on(
      "UPDATE",
      "NEW TABLE AS added OLD TABLE AS removed",
      sql`${append(isListing, `added n JOIN removed o ON o.id = n.id WHERE ${isChanged}`)};
        PERFORM relist_for_others(n.user_id, array_agg(n.id)) FROM added n JOIN removed o ON o.id = n.id
        WHERE ${sql.literal(isListing)} GROUP BY n.user_id`
    )
    // The changes of an account that is being erased are erased with it.
    yield* on(
      "DELETE",
      "OLD TABLE AS removed",
      append(wasListed, "removed n WHERE EXISTS (SELECT FROM users u WHERE u.id = n.user_id)")
    )
  }

  yield* sql`
    CREATE FUNCTION relist_routes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM relist_for_others(new.id, (SELECT array_agg(r.id) FROM routes r WHERE r.user_id = new.id));
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER change_on_deletion AFTER UPDATE OF deletion_requested_at ON users FOR EACH ROW
    WHEN ((new.deletion_requested_at IS NULL) <> (old.deletion_requested_at IS NULL))
    EXECUTE FUNCTION relist_routes_of_user()`
  yield* sql`
    CREATE FUNCTION forget_changes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM pending_changes WHERE user_id = old.id;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER forget_changes AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION forget_changes_of_user()`
})
