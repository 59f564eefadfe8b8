import { Effect } from "effect"
import { Client } from "pg"

/** A connection until the scope closes. */
export const connected = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Autovacuum does so within a minute; until then PostgreSQL plans for empty tables. */
export const analyzed = (url: string) =>
  connected(url).pipe(
    Effect.flatMap((client) => Effect.promise(() => client.query("ANALYZE"))),
    Effect.scoped,
    Effect.asVoid
  )
