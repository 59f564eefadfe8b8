import { Effect, Option, Ref, Scope } from "effect"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { databaseProxy } from "../test/support/DatabaseProxy.ts"
import type { ProxyMode } from "../test/support/TcpProxy.ts"
import { type Account, accounts } from "./accounts.ts"
import { type Asking, asking } from "./ask.ts"
import type { Keeper } from "./keeper.ts"
import { type Postgres, postgres } from "./postgres.ts"
import { type Service, service } from "./service.ts"

/** PostgreSQL, a network before it, one process of the service, and its clients. */
export interface World {
  readonly postgres: Postgres
  readonly network: { readonly become: (mode: ProxyMode) => Effect.Effect<void> }
  readonly service: Service
  readonly asking: Asking
  readonly accounts: ReadonlyArray<Account>
}

const ACCOUNTS = 10

/** `bin` has the programs of another PostgreSQL than the embedded one. */
export const world = Effect.fnUntraced(function*(directory: string, keeper: Keeper, bin?: string) {
  const programs = bin === undefined ? {} : { bin }
  const database = yield* postgres({ directory: join(directory, "postgres"), keeper, ...programs })
  const { proxy, url } = yield* databaseProxy(database.url())
  const process = yield* service(keeper, { DATABASE_URL: url })
  yield* process.spawn
  if (!(yield* process.ready)) return yield* Effect.die(new Error(`The service is not ready:\n${process.tail()}`))
  const client = asking(process.origin)
  yield* Effect.addFinalizer(() => Effect.sync(client.close))
  const made: World = {
    postgres: database,
    network: { become: (mode) => Effect.promise(() => proxy.set(mode)) },
    service: process,
    asking: client,
    accounts: yield* accounts(database.url(), client, "client", ACCOUNTS)
  }
  yield* warmUp(made)
  return made
})

/** Calls of each kind until the service has compiled its code. */
const WARM_UP = 60

/** A few requests at a time: a load at a fixed rate would queue before a cold process. */
export const warmUp = ({ accounts: people, asking: { ask } }: Pick<World, "accounts" | "asking">) =>
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

/** True where reads with and without lists succeed within two seconds. */
const isWorking = ({ accounts: [account], asking: { ask } }: World) =>
  Effect.promise(async () => {
    const answers = await Promise.all(
      ["/api/v1/users/me", "/api/v1/routes?limit=1"].map((path) => ask({ path, token: account?.token, timeout: 2000 }))
    )
    return answers.every(({ status }) => status === 200)
  })

/** Returns the world with a new process of the service where the last one does not work after a fault. */
export const healed = Effect.fnUntraced(function*(world: World) {
  yield* world.network.become("pass")
  if (yield* isWorking(world)) return world
  yield* world.service.kill
  yield* world.service.spawn
  yield* world.service.ready
  yield* warmUp(world)
  return world
})

/** One world, made at its first use, ready whenever it is given, and gone with the scope. */
export const sharedWorld = Effect.fnUntraced(function*(directory: string, keeper: Keeper) {
  const scope = yield* Effect.scope
  const made = yield* Ref.make(Option.none<World>())
  const given = Effect.gen(function*() {
    const known = yield* Ref.get(made)
    if (Option.isSome(known)) return yield* healed(known.value)
    const first = yield* Scope.provide(world(directory, keeper), scope)
    yield* Ref.set(made, Option.some(first))
    return first
  })
  return { given }
})
