import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { embeddedPostgres } from "../../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const query = (url: Redacted.Redacted<string>, statement: string) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe<Record<string, unknown>>(statement)).pipe(
    Effect.provide(PgClient.layer({ url, maxConnections: 1 }))
  )

it.live(
  "an embedded PostgreSQL keeps its data between starts, and refuses to be started twice at once",
  () =>
    Effect.gen(function*() {
      const options = { directory: join(yield* temporaryDirectory, "deep", "postgres"), durable: false }
      yield* Effect.gen(function*() {
        const url = yield* embeddedPostgres(options)
        yield* query(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        const second = yield* Effect.flip(Effect.scoped(embeddedPostgres(options)))
        assert.include(second.message, `another run uses ${options.directory}`)
        assert.strictEqual((yield* query(url, "SHOW fsync"))[0]?.["fsync"], "off")
      }).pipe(Effect.scoped)

      const url = yield* embeddedPostgres({ ...options, durable: true })
      assert.deepStrictEqual(yield* query(url, "SELECT answer FROM kept"), [{ answer: 42 }])
      assert.strictEqual((yield* query(url, "SHOW fsync"))[0]?.["fsync"], "on")
      assert.match(String((yield* query(url, "SHOW server_version"))[0]?.["server_version"]), /^18\./)
    }).pipe(Effect.scoped)
)
