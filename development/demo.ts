import { Console, Effect, Redacted, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { FetchHttpClient, HttpClientError } from "effect/http"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { makeClient } from "../src/client.ts"
import { run } from "../src/layers/Run.ts"
import { wellFormedLayer } from "../src/layers/Settings.ts"
import { ServiceError } from "../src/schema/Errors.ts"
import type { Position } from "../src/schema/Geometry.ts"
import { settings } from "../src/services/operations/SettingsRegistry.ts"
import { mailboxFile } from "./DevelopmentMailbox.ts"

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

class DemoFailed extends Schema.TaggedError<DemoFailed>()("DemoFailed", { message: Schema.String }) {}

const isAway = (error: unknown) => HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"

const isServiceError = Schema.is(ServiceError)

const problemOf = (error: unknown, title: string, { href }: URL) => {
  if (isAway(error)) return `No server responds at ${href}: start one by "npm run dev", or set BASE_URL to yours`
  return isServiceError(error)
    ? `${title}: ${href} responded with ${error.statusCode}: ${error.message}`
    : `${title}: ${href} does not respond as this service does: set BASE_URL to one of this version`
}

const show = <A, E, R>(title: string, step: Effect.Effect<A, E, R>) =>
  step.pipe(
    Effect.catch((error) =>
      Effect.flatMap(settings.BASE_URL, (url) => Effect.fail(new DemoFailed({ message: problemOf(error, title, url) })))
    ),
    Effect.tap((response) => Console.log(`\n== ${title}\n${JSON.stringify(response, abridge, 2) ?? "done"}`))
  )

const mailedToken = Effect.fnUntraced(function*(email: string) {
  const file = mailboxFile(resolve(yield* settings.DATA_DIR))
  return yield* Effect.tryPromise(() => readFile(file, "utf8")).pipe(
    Effect.map((lines) => lines.split("\n").findLast((line) => line.startsWith(`mail to ${email}:`))),
    Effect.flatMap((line) => Effect.fromNullishOr(/[?&]token=([\w-]+)/.exec(line ?? "")?.[1])),
    Effect.retry({ times: 20, schedule: Schedule.spaced("100 millis") }),
    Effect.mapError(() => {
      const message =
        `${file} has no mail to ${email}: set DATA_DIR to that of "npm run dev", which writes mails there `
        + "unless EMAIL_API_KEY or SMTP_URL is set"
      return new DemoFailed({ message })
    })
  )
})

const walk = Effect.gen(function*() {
  const baseUrl = yield* settings.BASE_URL
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

run(walk.pipe(Effect.provide([FetchHttpClient.layer, SecureRandom.layerWebCrypto])), {
  format: "pretty",
  settings: wellFormedLayer(["BASE_URL", "LOG_LEVEL", "LOG_FORMAT"])
})
