import { Effect } from "effect"
import { RATE_TIERS } from "../../src/schema/Limits.ts"
import { hasRedis, RedisServer } from "../../test/support/RedisServer.ts"
import { accounts, sessionOf } from "../accounts.ts"
import { asking } from "../ask.ts"
import type { Keeper } from "../keeper.ts"
import type { Recorder } from "../recorder.ts"
import { started } from "../replicas.ts"

const PROCESSES = 3

/** Of lists, for each account and minute. */
const LIMIT = RATE_TIERS.moderate

/** Of each process: more than its share of the limit, and less than the limit. */
const CALLS = 27

const statusesOf = Effect.fnUntraced(function*(url: string, origins: ReadonlyArray<string>) {
  const clients = origins.map(asking)
  yield* Effect.addFinalizer(() => Effect.sync(() => clients.forEach(({ close }) => close())))
  const [first] = clients
  if (first === undefined) return []
  const [person] = yield* accounts(url, first, "limited", 1)
  if (person === undefined) return []
  const { accessToken } = yield* sessionOf(first, person.email)
  const list = { path: "/api/v1/routes", token: accessToken }
  const asked = Array.from({ length: CALLS }, () => clients.map(({ ask }) => ask(list))).flat()
  return (yield* Effect.promise(() => Promise.all(asked))).map(({ status }) => status)
})

/** Processes that count in one Redis allow one account the limit, and no request more; returns what there is to print. */
export const sharedLimits = Effect.fnUntraced(function*(url: string, keeper: Keeper, recorder: Recorder) {
  if (!hasRedis) return "limits that are exact together: not run, they need a redis-server"
  const { url: REDIS_URL } = yield* RedisServer
  const { all } = yield* started(keeper, url, PROCESSES, {
    DATABASE_POOL_SIZE: "6",
    RATE_LIMITS_ENABLED: "true",
    REDIS_URL
  })
  const statuses = yield* statusesOf(url, all.map(({ origin }) => origin))
  const allowed = statuses.filter((status) => status === 200).length
  const refused = statuses.filter((status) => status === 429).length
  recorder.report(`${LIMIT} requests are allowed together, ${allowed} were`, Math.abs(LIMIT - allowed))
  recorder.report("a request above the limit is not 429", Math.abs(PROCESSES * CALLS - LIMIT - refused))
  return `${PROCESSES} processes on one Redis: of ${statuses.length} requests of one account ${allowed} were allowed, of ${LIMIT}`
}, Effect.provide(RedisServer.layer))
