import { NodeHttpClient, NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Redacted, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpClientError } from "effect/http"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { makeClient } from "../src/client.ts"
import type { Position } from "../src/schema/Geometry.ts"

const POSITIONS = 5_000

const round = (value: number, digits: number) => Number(value.toFixed(digits))

const ride: ReadonlyArray<Position> = Array.from({ length: POSITIONS }, (_, index) => {
  const angle = (2 * Math.PI * index) / (POSITIONS - 1)
  const wobble = 1 + 0.04 * Math.sin(37 * angle) + 0.01 * Math.sin(211 * angle)
  return [
    round(9.52 + 0.06 * wobble * Math.cos(angle), 6),
    round(47.14 + 0.04 * wobble * Math.sin(angle), 6),
    round(460 + 150 * Math.sin(3 * angle), 1)
  ]
})

const abridge = (key: string, value: unknown) => {
  if (key === "accessToken") return "(not shown)"
  return Array.isArray(value) && value.length > 20 ? `... ${value.length} entries` : value
}

const isAway = (error: unknown) => HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"

const show = <A, E, R>(title: string, step: Effect.Effect<A, E, R>) =>
  step.pipe(
    Effect.tap((response) => Console.log(`\n== ${title}\n${JSON.stringify(response, abridge, 2) ?? "done"}`)),
    Effect.tapError((error) => isAway(error) ? Effect.void : Console.error(`\n== ${title}\n${JSON.stringify(error)}`))
  )

const mailedToken = (email: string) =>
  Effect.gen(function*() {
    const directory = yield* Config.String("DATA_DIR").pipe(Config.withDefault(".data"))
    const lines = yield* Effect.tryPromise(() => readFile(join(directory, "mailbox.log"), "utf8"))
    const line = lines.split("\n").findLast((line) => line.startsWith(`mail to ${email}:`))
    return yield* Effect.fromNullishOr(/[?&]token=([\w-]+)/.exec(line ?? "")?.[1])
  }).pipe(Effect.retry({ times: 20, schedule: Schedule.spaced("100 millis") }))

const server = Config.URL("BASE_URL").pipe(Config.withDefault(new URL("http://localhost:3000")))

const noServer = Effect.gen(function*() {
  yield* Console.error(`No server responds at ${yield* server}: start one by "npm run dev", or set BASE_URL to yours`)
  yield* Effect.sync(() => void (process.exitCode = 1))
})

const walk = Effect.gen(function*() {
  const baseUrl = yield* server
  const random = yield* SecureRandom.SecureRandom
  const email = `demo-${yield* random.uuidV4()}@example.com`
  const password = Redacted.make(`a long demo password ${yield* random.uuidV4()}`)
  const rider = yield* makeClient({ baseUrl })
  const visitor = yield* makeClient({ baseUrl })

  yield* show("sign up", rider.auth.signUp({ payload: { email, password, name: "Demo Rider" } }))
  const token = Redacted.make(yield* mailedToken(email))
  yield* show("verify the address, which signs in", rider.auth.verifyEmail({ payload: { token } }))

  const route = yield* show(
    `save a route of ${POSITIONS} positions`,
    rider.routes.create({
      headers: {},
      query: {},
      payload: {
        name: "Around Vaduz",
        activity: "cycle",
        tags: ["demo", "gravel-loop"],
        waypoints: [{ coord: [9.58, 47.14], type: "routed", name: "Start" }],
        geometry: ride
      }
    })
  )
  yield* show("list my routes", Effect.map(rider.routes.list({ query: { limit: 5 } }), (routes) => routes.length))
  yield* show(
    "a stranger does not see it",
    Effect.flip(visitor.routes.get({ headers: {}, params: { ref: route.shareToken }, query: {} }))
  )
  yield* show(
    "share it by link",
    rider.routes.update({ headers: {}, params: { id: route.id }, payload: { visibility: "unlisted" } })
  )
  yield* show(
    "a stranger opens the link",
    visitor.routes.get({ headers: {}, params: { ref: route.shareToken }, query: {} })
  )
  yield* show("my statistics", Effect.map(rider.users.me(), ({ statistics }) => statistics))
  yield* show("delete it", rider.routes.remove({ headers: {}, params: { id: route.id } }))
})

walk.pipe(
  Effect.catchIf(isAway, () => noServer),
  Effect.provide([NodeHttpClient.layerUndici, SecureRandom.layerWebCrypto]),
  NodeRuntime.runMain
)
