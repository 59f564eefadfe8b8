import { Config, Console, Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { makeClient } from "../src/client.ts"

const main = Effect.gen(function*() {
  const client = yield* makeClient({ baseUrl: yield* Config.URL("BASE_URL"), token: yield* Config.Redacted("TOKEN") })
  const payload = { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }] } as const
  const { id } = yield* client.routes.create({ headers: {}, query: {}, payload })
  const { name } = yield* client.routes.get({ headers: {}, params: { ref: id }, query: {} })
  yield* Console.log(`stored ${name} as ${id}`)
}).pipe(Effect.catchTag("RateLimited", ({ message }) => Console.error(message)))

Effect.runPromise(Effect.provide(main, FetchHttpClient.layer))
