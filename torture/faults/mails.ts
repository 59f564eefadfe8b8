import { Effect, Fiber, Schema } from "effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { listening } from "../../test/support/Listening.ts"
import { asking } from "../ask.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { formOf } from "../options.ts"
import { makeRecorder } from "../recorder.ts"
import { service } from "../service.ts"

const FAILURES = ["hang", "fail", "refuse"] as const

type Behaviour = "take" | (typeof FAILURES)[number]

const HOLD = { short: 1000, full: 10_000 }

/** The outbox sends what waits in this time, once the provider works: the claim of a process that was killed is a lease. */
const DELIVERED_WITHIN = { short: 40_000, full: 180_000 }

const EVERY = "250 millis"

const Mail = Schema.fromJsonString(Schema.Struct({ to: Schema.Tuple([Schema.String]) }))

/** A provider that takes a mail as soon as it has come, whatever its response is, and each `Idempotency-Key` once. */
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
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const form = formOf(run.options)
    const recorder = makeRecorder()
    const { become, got, url } = yield* provider
    const { postgres } = yield* run.world
    yield* postgres.query("CREATE DATABASE mails")
    const one = yield* service(run.keeper, {
      DATABASE_URL: postgres.url("mails"),
      EMAIL_API_URL: url,
      EMAIL_API_KEY: "key",
      EMAIL_FROM: "service@example.com",
      OUTBOX_POLL_INTERVAL: "100 millis"
    })
    yield* one.spawn
    if (!(yield* one.ready)) recorder.report("the service is not ready")
    const { ask, close } = asking(one.origin)
    yield* Effect.addFinalizer(() => Effect.sync(close))
    const wanted = new Set<string>()
    const state = { asked: 0 }
    const signUp = Effect.promise(async () => {
      const email = `person-${state.asked++}@example.net`
      const body = JSON.stringify({ email, password: "a long enough password" })
      const call = () => ask({ method: "POST", path: "/api/v1/auth/signup-email", body })
      const { status } = await recorder.watch(call, "POST /auth/signup-email")
      if (status === 201) wanted.add(email)
    })
    const clients = yield* Effect.forkChild(Effect.forever(Effect.andThen(signUp, Effect.sleep(EVERY))))
    yield* Effect.forEach(FAILURES, (behaviour) =>
      become(behaviour).pipe(
        Effect.andThen(Effect.sleep(HOLD[form])),
        Effect.andThen(one.kill),
        Effect.andThen(become("take")),
        Effect.andThen(one.spawn),
        Effect.andThen(one.ready),
        Effect.andThen(Effect.sleep(HOLD[form]))
      ))
    yield* Fiber.interrupt(clients)
    const missing = () => [...wanted].filter((to) => !got.has(to)).length
    const since = performance.now()
    while (missing() > 0 && performance.now() - since < DELIVERED_WITHIN[form]) yield* Effect.sleep("250 millis")
    return outcomeOf(recorder, {
      rounds: FAILURES.length,
      requests: recorder.requests(),
      lost: missing(),
      twice: [...got.values()].filter((count) => count > 1).length,
      figures: [`${wanted.size} mails wanted, ${got.size} people got one`]
    })
  })
}
