import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { databaseProxy } from "../test/support/DatabaseProxy.ts"
import type { ProxyMode } from "../test/support/TcpProxy.ts"
import { type Account, accounts } from "./accounts.ts"
import { type Ask, creation, routeNamed } from "./ask.ts"
import type { Keeper } from "./keeper.ts"
import { postgres } from "./postgres.ts"
import { serving } from "./service.ts"

/** Calls reach the service, in the name of these accounts. */
export interface Clients {
  readonly ask: Ask
  readonly accounts: ReadonlyArray<Account>
}

const ACCOUNTS = 10

/** Starts PostgreSQL, a network before it, one process of the service, and its clients. */
export const world = Effect.fnUntraced(function*(directory: string, keeper: Keeper) {
  const database = yield* postgres(join(directory, "postgres"), keeper)
  const { proxy, url } = yield* databaseProxy(database.url())
  const service = yield* serving(keeper, { DATABASE_URL: url })
  const clients: Clients = {
    ask: service.ask,
    accounts: yield* accounts(database.url(), service.origin, "client", ACCOUNTS)
  }
  yield* warmUp(clients)
  const become = (mode: ProxyMode) => Effect.promise(() => proxy.set(mode))
  return { postgres: database, network: { become }, service, ...clients }
})

export type World = Effect.Success<ReturnType<typeof world>>

/** The service compiles its code during this many calls of each kind. */
const WARM_UP = 60

/** Sends a few requests at a time: a load at a fixed rate would queue before a cold process. */
export const warmUp = ({ accounts, ask }: Clients) =>
  Effect.forEach(
    Array.from({ length: WARM_UP }, (_, n) => accounts[n % accounts.length]?.token),
    (token) =>
      Effect.forEach([
        creation("routes", randomUUID(), routeNamed("Warm")),
        { path: "/api/v1/users/me" },
        { path: "/api/v1/routes?limit=3&geometry=none" },
        { path: "/api/v1/routes/public?limit=3" }
      ], (call) => ask({ ...call, token })),
    { concurrency: 2, discard: true }
  )

/** Returns true if reads with and without lists succeed within two seconds. */
const isWorking = ({ accounts: [account], ask }: Clients) =>
  Effect.forEach(
    ["/api/v1/users/me", "/api/v1/routes?limit=1"],
    (path) => ask({ path, token: account?.token }),
    { concurrency: 2 }
  ).pipe(
    Effect.timeoutOption("2 seconds"),
    Effect.map(Option.exists((replies) => replies.every(({ status }) => status === 200)))
  )

/** Starts the service of a world again if it does not work after a fault. */
export const healed = Effect.fnUntraced(function*(world: World) {
  yield* world.network.become("pass")
  if (yield* isWorking(world)) return world
  yield* world.service.restart
  yield* warmUp(world)
  return world
})
