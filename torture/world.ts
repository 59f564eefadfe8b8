import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { type Account, accounts } from "./accounts.ts"
import { type Asking, asking } from "./ask.ts"
import type { Keeper } from "./keeper.ts"
import { type Network, networkTo } from "./network.ts"
import { type Postgres, postgres } from "./postgres.ts"
import { type Service, service } from "./service.ts"

/** PostgreSQL, a network before it, one process of the service, and its clients. */
export interface World {
  readonly postgres: Postgres
  readonly network: Network
  readonly service: Service
  readonly asking: Asking
  readonly accounts: ReadonlyArray<Account>
}

/** The address of a database through the network. */
const through = (network: Network, url: string) => {
  const address = new URL(url)
  address.port = String(network.port)
  return address.href
}

const ACCOUNTS = 10

export const world = Effect.fnUntraced(function*(
  directory: string,
  keeper: Keeper,
  env: Readonly<Record<string, string>> = {},
  bin?: string
) {
  const programs = bin === undefined ? {} : { bin }
  const database = yield* postgres({ directory: join(directory, "postgres"), keeper, ...programs })
  const network = yield* networkTo(database.port)
  const one = yield* served(keeper, { DATABASE_URL: through(network, database.url()), ...env })
  const made: World = {
    ...one,
    postgres: database,
    network,
    accounts: yield* accounts(database.url(), one.asking, "client", ACCOUNTS)
  }
  yield* warmUp(made)
  return made
})

/** A process that is ready, and its clients. */
const served = Effect.fnUntraced(function*(keeper: Keeper, env: Readonly<Record<string, string>>) {
  const process = yield* service(keeper, env)
  yield* process.spawn
  if (!(yield* process.ready)) return yield* Effect.die(new Error(`The service is not ready:\n${process.tail()}`))
  const client = asking(process.origin)
  yield* Effect.addFinalizer(() => Effect.sync(client.close))
  return { service: process, asking: client }
})

/** The same with a further process, which has rate limits for accounts and for forwarded addresses, and accounts of its own. */
export const limited = Effect.fnUntraced(function*(
  world: World,
  keeper: Keeper,
  people: number,
  env: Readonly<Record<string, string>>
) {
  const limits = {
    DATABASE_URL: through(world.network, world.postgres.url()),
    RATE_LIMITS_ENABLED: "true",
    TRUSTED_PROXIES: "127.0.0.0/8"
  }
  const made: World = {
    ...world,
    ...(yield* served(keeper, { ...limits, ...env })),
    // Of the process without limits: they would refuse so many sign-ins.
    accounts: yield* accounts(world.postgres.url(), world.asking, "limited", people)
  }
  yield* warmUp(made)
  return made
})

/** Calls of each kind until the service has compiled its code. */
const WARM_UP = 60

/** A few requests at a time: a load at a fixed rate would queue before a cold process. */
const warmUp = ({ accounts: people, asking: { ask } }: World) =>
  Effect.forEach(
    Array.from({ length: WARM_UP }, (_, n) => people[n % people.length]?.token),
    (token) =>
      Effect.promise(async () => {
        const body = JSON.stringify({ name: "Warm", waypoints: [{ coord: [9.5, 47.1] }] })
        await ask({ method: "POST", path: "/api/v1/routes", token, body, headers: { "idempotency-key": randomUUID() } })
        await ask({ path: "/api/v1/users/me", token })
        await ask({ path: "/api/v1/routes?limit=3&geometry=none", token })
        await ask({ path: "/api/v1/routes/public?limit=3", token })
      }),
    { concurrency: 2, discard: true }
  )

/** Whether reads with and without lists succeed within two seconds. */
const isWorking = ({ accounts: [account], asking: { ask } }: World) =>
  Effect.promise(async () => {
    const answers = await Promise.all(
      ["/api/v1/users/me", "/api/v1/routes?limit=1"].map((path) => ask({ path, token: account?.token, timeout: 2000 }))
    )
    return answers.every(({ status }) => status === 200)
  })

/** The same, with another process of the service where it does not work after the fault before. */
export const healed = Effect.fnUntraced(function*(world: World) {
  yield* world.network.become("pass")
  if (yield* isWorking(world)) return world
  yield* world.service.kill
  yield* world.service.spawn
  yield* world.service.ready
  yield* warmUp(world)
  return world
})
