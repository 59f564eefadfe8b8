import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { Client } from "pg"
import { inject } from "vitest"
import { databaseLive } from "../../src/layers/Database.ts"
import { refusalOf } from "../../src/layers/Settings.ts"
import { databaseAt, emptyDatabase, onServer } from "../support/Databases.ts"

const nameOf = (url: string) => new URL(url).pathname.slice(1)

/** The role owns nothing, and is gone when the scope closes. */
const aRole = Effect.acquireRelease(
  Effect.sync(() => `role_${randomUUID().replaceAll("-", "")}`).pipe(
    Effect.tap((role) => onServer((sql) => sql`CREATE ROLE ${sql(role)} LOGIN PASSWORD 'canary'`))
  ),
  (role) => onServer((sql) => sql`DROP ROLE ${sql(role)}`)
)

const asRole = (url: string, role: string) => {
  const address = new URL(url)
  address.username = role
  address.password = "canary"
  return address.href
}

/** Returns what a start says that is refused by its database, and nothing where it starts. */
const refusal = (url: string) =>
  Layer.build(Layer.fresh(databaseLive)).pipe(
    Effect.scoped,
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url, DATABASE_POOL_SIZE: "2" }))),
    Effect.exit,
    Effect.map((exit) => Exit.isFailure(exit) ? refusalOf(exit.cause) : "")
  )

/** Runs statements in a database, as the superuser. */
const inDatabase = (url: string, statements: string) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.query(statements)),
    (client) => Effect.promise(() => client.end())
  )

it.live("a role that may not make tables is named, with the command that lets it", () =>
  Effect.gen(function*() {
    const role = yield* aRole
    const url = yield* emptyDatabase
    const said = yield* refusal(asRole(url, role))
    assert.strictEqual(
      said,
      `DATABASE_URL: the role ${role} may not make tables in the schema public. As its owner run: `
        + `GRANT USAGE, CREATE ON SCHEMA public TO ${role}`
    )
    yield* inDatabase(url, said.slice(said.indexOf("GRANT")))
    assert.strictEqual(yield* refusal(asRole(url, role)), "")
    yield* inDatabase(url, `DROP OWNED BY ${role}`)
  }).pipe(Effect.scoped))

it.live(
  "a role that does not own the tables gets the name of their owner, and the command that changes it",
  () =>
    Effect.gen(function*() {
      const url = yield* emptyDatabase
      const [other, role] = [yield* aRole, yield* aRole]
      yield* inDatabase(url, `GRANT USAGE, CREATE ON SCHEMA public TO ${other}, ${role}`)
      assert.strictEqual(yield* refusal(asRole(url, other)), "")
      const said = yield* refusal(asRole(url, role))
      assert.strictEqual(
        said,
        `DATABASE_URL: the tables of the schema public belong to ${other}, and not to the role ${role}. `
          + `As a superuser run: REASSIGN OWNED BY ${other} TO ${role}`
      )
      yield* inDatabase(url, said.slice(said.indexOf("REASSIGN")))
      assert.strictEqual(yield* refusal(asRole(url, role)), "")
      yield* inDatabase(url, `DROP OWNED BY ${other}; DROP OWNED BY ${role}`)
    }).pipe(Effect.scoped)
)

it.live("tables that a superuser restored are to be restored as the role", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    const role = yield* aRole
    yield* inDatabase(url, `GRANT USAGE, CREATE ON SCHEMA public TO ${role}`)
    assert.strictEqual(yield* refusal(url), "")
    assert.match(
      yield* refusal(asRole(url, role)),
      new RegExp(
        `belong to \\w+, and not to the role ${role}\\. Restore them again by: pg_restore --no-owner --role=${role}$`
      )
    )
    yield* inDatabase(url, `DROP OWNED BY ${role}`)
  }).pipe(Effect.scoped))

it.live(
  "a database of another encoding than UTF8 is refused, with the command that makes another",
  () =>
    Effect.gen(function*() {
      const name = `test_${randomUUID().replaceAll("-", "")}`
      yield* Effect.acquireRelease(
        onServer((sql) => sql`CREATE DATABASE ${sql(name)} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`),
        () => onServer((sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)
      )
      assert.strictEqual(
        yield* refusal(databaseAt(inject("postgresUrl"), name)),
        `DATABASE_URL: the database ${name} has the encoding LATIN1, and UTF8 is needed. Run: `
          + "CREATE DATABASE routes TEMPLATE template0 ENCODING 'UTF8', with a name that is free, and set it here"
      )
    }).pipe(Effect.scoped)
)

it.live("a PostgreSQL that is too old is refused, with the command that upgrades it", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    // The server of this version says that it is an older one.
    yield* inDatabase(
      url,
      `CREATE SCHEMA old;
      CREATE FUNCTION old.current_setting(name text) RETURNS text LANGUAGE sql AS $$
        SELECT CASE name WHEN 'server_version_num' THEN '140011' WHEN 'server_version' THEN '14.11'
          ELSE pg_catalog.current_setting(name) END $$;
      ALTER DATABASE ${nameOf(url)} SET search_path = old, pg_catalog, public`
    )
    assert.strictEqual(
      yield* refusal(url),
      "DATABASE_URL: PostgreSQL 14.11 is too old: 15 or newer is needed. On Debian install postgresql-15 or newer "
        + "and run: pg_upgradecluster 14 main"
    )
  }).pipe(Effect.scoped))
