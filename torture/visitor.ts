import { Effect, Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import type { Reply } from "./ask.ts"
import type { World } from "./world.ts"

const EVERY = 100

const Created = Schema.fromJsonString(Schema.Struct({ id: Schema.Int }))

const published = ({ accounts: [account], asking: { ask } }: World) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ name: "Public", visibility: "public", waypoints: [{ coord: [9.5, 47.1] }] })
    const { text } = await ask({ method: "POST", path: "/api/v1/routes", token: account?.token, body })
    return Schema.decodeUnknownSync(Created)(text).id
  })

/**
 * Someone without an account reads a public route ten times a second, for as long as they are not interrupted: `signal`
 * is aborted then, and what has no response yet gets none.
 */
export const visitor = Effect.fnUntraced(function*(
  world: World,
  look: (call: () => Promise<Reply>, signal: AbortSignal) => Promise<void>
) {
  const id = yield* published(world)
  yield* Effect.promise(async (signal) => {
    while (!signal.aborted) {
      void look(() => world.asking.ask({ path: `/api/v1/routes/${id}` }), signal)
      await pause(EVERY)
    }
  })
})
