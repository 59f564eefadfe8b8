import { Effect, Fiber, Schedule, Schema } from "effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { listening } from "../../test/support/Listening.ts"
import type { Fault } from "../fault.ts"
import { queryAt } from "../postgres.ts"
import { serving } from "../service.ts"

const FAILURES = ["hang", "fail", "refuse"] as const

type Behaviour = "take" | (typeof FAILURES)[number]

const HOLD = { short: 1000, full: 10_000 }

/** The outbox sends waiting mails within this time once the provider works; a killed process keeps its claims. */
const DELIVERED_WITHIN = { short: 40_000, full: 180_000 }

const EVERY = "250 millis"

const Mail = Schema.fromJsonString(Schema.Struct({ to: Schema.Tuple([Schema.String]) }))

/** The provider takes a mail as soon as it has come, whatever its response is, and each `Idempotency-Key` once. */
const provider = Effect.gen(function*() {
  const got = new Map<string, number>()
  const keys = new Set<unknown>()
  const state: { behaviour: Behaviour } = { behaviour: "take" }
  const server = createServer(async (request, response) => {
    const { to: [to] } = Schema.decodeSync(Mail)(await text(request))
    const key = request.headers["idempotency-key"]
    if (!keys.has(key)) got.set(to, (got.get(to) ?? 0) + 1)
    keys.add(key)
    if (state.behaviour === "hang") return
    response.writeHead(state.behaviour === "fail" ? 500 : 200, { "content-type": "application/json" }).end(`{"id":"x"}`)
  })
  server.on("connection", (socket) => state.behaviour === "refuse" && socket.resetAndDestroy())
  const become = (behaviour: Behaviour) =>
    Effect.sync(() => {
      state.behaviour = behaviour
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${yield* listening(server)}`, got, become }
})

/** People sign up while the mail provider fails and the service is killed: each gets one mail. */
export const mails: Fault = {
  key: "mails",
  title: "the mail provider fails, the service is killed",
  run: Effect.fnUntraced(function*({ form, keeper, recorder, world }) {
    const { become, got, url } = yield* provider
    const { postgres } = yield* world
    yield* queryAt(postgres.url(), "CREATE DATABASE mails")
    const { ask, kill, ready, spawn } = yield* serving(keeper, {
      DATABASE_URL: postgres.url("mails"),
      EMAIL_API_URL: url,
      EMAIL_API_KEY: "key",
      EMAIL_FROM: "service@example.com",
      OUTBOX_POLL_INTERVAL: "100 millis"
    })
    const wanted = new Set<string>()
    const signUp = Effect.gen(function*() {
      const email = `person-${recorder.requests()}@example.net`
      const body = JSON.stringify({ email, password: "a long enough password" })
      const call = ask({ method: "POST", path: "/api/v1/auth/signup-email", body })
      const { status } = yield* recorder.watch(call, "POST /auth/signup-email")
      if (status === 201) wanted.add(email)
    })
    const clients = yield* Effect.forkChild(Effect.repeat(signUp, Schedule.spaced(EVERY)))
    for (const behaviour of FAILURES) {
      yield* become(behaviour)
      yield* Effect.sleep(HOLD[form])
      yield* kill
      yield* become("take")
      yield* spawn
      yield* ready
      yield* Effect.sleep(HOLD[form])
    }
    yield* Fiber.interrupt(clients)
    const missing = () => [...wanted].filter((to) => !got.has(to)).length
    yield* Effect.sync(missing).pipe(
      Effect.repeat({ until: (count) => count === 0, schedule: Schedule.spaced("250 millis") }),
      Effect.timeoutOption(DELIVERED_WITHIN[form])
    )
    return {
      rounds: FAILURES.length,
      lost: missing(),
      twice: [...got.values()].filter((count) => count > 1).length,
      figures: [`${wanted.size} mails wanted, ${got.size} people got one`]
    }
  })
}
