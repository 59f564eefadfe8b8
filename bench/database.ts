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
