import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Ref, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"
import { anonymous, signedUp, withHeaders } from "../support/Actors.ts"
import { Collector } from "../support/Collector.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { front } from "../support/Front.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { sendRaw } from "../support/RawHttp.ts"
import { logged, type Replica, replica } from "../support/Replica.ts"
import { idOf, newRoute } from "../support/Routes.ts"
import { StandInEngine } from "../support/StandInEngine.ts"
import { serverAt, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const DELAY = 500

/** The front looks forty times meanwhile: a busy machine delays some looks. */
const FRONT_DELAY = 4_000

const ROUTE = { activity: "walk", preferences: {}, locations: [{ lat: 47, lon: 9 }, { lat: 47.1, lon: 9 }] }

/** The processes are on one database. Those that a test leaves running are the next one's. */
class Processes extends Context.Service<Processes, {
  readonly start: (settings: Readonly<Record<string, string>>, port?: number) => Effect.Effect<Replica>
  readonly take: Effect.Effect<Replica>
  readonly leave: (...processes: ReadonlyArray<Replica>) => Effect.Effect<void>
}>()("test/Processes") {
  static readonly layer = Layer.unwrap(Effect.gen(function*() {
    const url = yield* clonedDatabase
    const settings = {
      ...yield* MailProvider,
      DATABASE_URL: url,
      NODE_ENV: "test",
      RATE_LIMITS_ENABLED: "false",
      SHUTDOWN_DRAIN_DELAY: `${DELAY} millis`
    }
    const scope = yield* Effect.scope
    const left = yield* Ref.make<ReadonlyArray<Replica>>([])
    const start = (more: Readonly<Record<string, string>>, port?: number) =>
      replica({ ...settings, ...more }, port).pipe(Effect.tap(({ ready }) => ready), Scope.provide(scope))
    const take = Ref.modify(left, ([first, ...rest]) => [first, rest]).pipe(
      Effect.flatMap((process) => process === undefined ? start({}) : Effect.succeed(process))
    )
    return Layer.merge(
      Layer.succeed(Processes, { start, take, leave: (...processes) => Ref.set(left, processes) }),
      PgClient.layer({ url: Redacted.make(url), maxConnections: 2 })
    )
  })).pipe(Layer.provideMerge(MailProvider.layer(0)))
}

const one = Effect.flatMap(Processes, ({ take }) => take)

const two = Effect.all([one, one], { concurrency: 2 })

const portOf = ({ server }: Replica) => Number(new URL(server.origin).port)

const riderAt = Effect.fnUntraced(function*(server: TestServer["Service"]) {
  const { token } = yield* Effect.provideService(signedUp, TestServer, server)
  return {
    token,
    callerAt: (server: TestServer["Service"]) =>
      Effect.provideService(withHeaders({ authorization: `Bearer ${token}` }), TestServer, server)
  }
})

/** Makes a connection that was used and is kept. */
const idleConnection = Effect.fnUntraced(function*(origin: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const closed = Promise.withResolvers<void>()
  const live = Effect.callback<string>((resume) => {
    request(`${origin}/health/live`, { agent }, (response) => {
      response.socket.once("close", () => closed.resolve())
      response.resume().on("end", () => resume(Effect.succeed(`${response.statusCode} ${response.headers.connection}`)))
    }).on("error", ({ message }) => resume(Effect.succeed(message))).end()
  })
  yield* live
  return { closed: Effect.promise(() => closed.promise), live }
})

/** Sends a new route of which the service has half, until it is given the rest. */
const heldRequest = Effect.fnUntraced(function*(origin: string, token: string) {
  const body = JSON.stringify(newRoute({}))
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", expect: "100-continue" }
  const answer = Promise.withResolvers<
    { readonly status: number | undefined; readonly connection: string | undefined }
  >()
  const sending = request(`${origin}/api/v1/routes`, { method: "POST", headers }, ({ headers, statusCode }) => {
    answer.resolve({ status: statusCode, connection: headers.connection })
  })
  sending.on("error", () => undefined).flushHeaders()
  yield* Effect.promise(() => once(sending, "continue"))
  yield* Effect.callback<void>((resume) => void sending.write(body.slice(0, 20), () => resume(Effect.void)))
  return {
    finish: Effect.promise(() => {
      sending.end(body.slice(20))
      return answer.promise
    })
  }
})

/** Sends half of a request's head. */
const sendHalf = (origin: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => {
        socket.write("GET / HTTP/1.1\r\nHost", () => resume(Effect.succeed(socket)))
      }).on("error", () => undefined)
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const DRAINING = [["//health/ready", 503], ["//health", 503], ["//health/live", 200], ["/routes", 200]] as const

layer(Processes.layer, { excludeTestServices: true })(
  "a process that gets a signal to end",
  (it) => {
    it.effect("fails no request of a front while one of two is restarted", () =>
      Effect.gen(function*() {
        const { leave, start } = yield* Processes
        const [old, other] = yield* Effect.all([start({ SHUTDOWN_DRAIN_DELAY: `${FRONT_DELAY} millis` }), one], {
          concurrency: 2
        })
        const { origin, readyCount } = yield* front([old.server.origin, other.server.origin])
        const { callerAt } = yield* riderAt(serverAt(origin))
        const caller = yield* callerAt(serverAt(origin))
        const statuses = yield* Ref.make<ReadonlyArray<number>>([])
        const record = ({ status }: { readonly status: number }) => Ref.update(statuses, (all) => [...all, status])
        const load = Effect.flatMap(caller.get("/routes?limit=10"), record).pipe(
          Effect.andThen(Effect.flatMap(caller.post("/routes", newRoute({})), record)),
          Effect.andThen(Effect.sleep("30 millis")),
          Effect.forever
        )
        const loads = Effect.andThen(Effect.all([load, load, load, load], { concurrency: 4 }), Effect.never)
        const underLoad = <A>(work: Effect.Effect<A>) => Effect.raceFirst(work, loads)
        const moreResponses = Effect.flatMap(
          Ref.get(statuses),
          ({ length }) => until(Effect.map(Ref.get(statuses), (all) => all.length > length + 30))
        )

        const { code, milliseconds, signal } = yield* underLoad(Effect.gen(function*() {
          yield* moreResponses
          yield* old.tell("SIGTERM")
          const ending = yield* old.ended
          yield* moreResponses
          return ending
        }))
        assert.deepStrictEqual([code, signal], [0, null])
        assert.isAtLeast(milliseconds, FRONT_DELAY)
        assert.strictEqual(yield* readyCount, 1)
        const young = yield* start({}, portOf(old))
        yield* underLoad(Effect.andThen(until(Effect.map(readyCount, (count) => count === 2)), moreResponses))
        yield* leave(other, young)
        assert.deepStrictEqual((yield* Ref.get(statuses)).filter((status) => status >= 300), [])
      }))

    it.effect("loses nothing that it has responded to when it is killed under load", () =>
      Effect.gen(function*() {
        const [killed, other] = yield* two
        const { callerAt } = yield* riderAt(other.server)
        const caller = yield* callerAt(killed.server)
        const acknowledged = yield* Ref.make<ReadonlyArray<number>>([])
        const load = Effect.gen(function*() {
          const { body, status } = yield* caller.post("/routes", newRoute({}))
          assert.strictEqual(status, 201)
          yield* Ref.update(acknowledged, (all) => [...all, idOf(body)])
        }).pipe(Effect.forever, Effect.exit)
        const loads = yield* Effect.forkChild(Effect.all(Array.from({ length: 8 }, () => load), { concurrency: 8 }))
        yield* until(Effect.map(Ref.get(acknowledged), (ids) => ids.length > 40))
        yield* killed.tell("SIGKILL")
        yield* Fiber.join(loads)
        const ids = yield* Ref.get(acknowledged)
        const rows = yield* SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM routes WHERE ${sql.in("id", ids)}`)
        assert.strictEqual(rows.length, ids.length)
        const readable = yield* (yield* callerAt(other.server)).get(`/routes/${ids.at(-1)}`)
        assert.strictEqual(readable.status, 200)
        yield* (yield* Processes).leave(other)
      }))

    it.effect(
      "says so, answers still, then takes no more, ends what it began and closes what is idle",
      () =>
        Effect.gen(function*() {
          const process = yield* one
          const { token, callerAt } = yield* riderAt(process.server)
          const caller = yield* callerAt(process.server)
          const idle = yield* idleConnection(process.server.origin)
          const used = yield* idleConnection(process.server.origin)
          const held = yield* heldRequest(process.server.origin, token)
          yield* process.tell("SIGTERM")
          yield* until(Effect.map(caller.get("//health/ready"), ({ status }) => status === 503))
          for (const [path, status] of DRAINING) {
            const answer = yield* caller.get(path)
            assert.deepStrictEqual([path, answer.status, answer.headers.get("connection")], [path, status, "close"])
          }
          const rubbish = yield* sendRaw(process.server.origin, "rubbish\r\n\r\n")
          assert.deepStrictEqual([rubbish.status, /^Connection: close$/im.test(rubbish.head)], [400, true])
          assert.include(rubbish.body, `{"statusCode":400,"code":"VALIDATION_FAILED"`)
          yield* until(Effect.map(Effect.exit(caller.get("//health/live")), Exit.isFailure))
          assert.strictEqual(yield* used.live, "200 close")
          yield* idle.closed
          assert.deepStrictEqual(yield* held.finish, { status: 201, connection: "close" })
          const { code, milliseconds } = yield* process.ended
          assert.strictEqual(code, 0)
          assert.isAtLeast(milliseconds, DELAY)
        })
    )

    it.effect(
      "ends in time while requests, the engine and the collector hold it up all together",
      () =>
        Effect.gen(function*() {
          const collector = yield* Collector
          yield* collector.become("hang")
          const engine = yield* StandInEngine
          yield* engine.behave(() => undefined)
          const process = yield* (yield* Processes).start({
            OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
            OTEL_TRACES_SAMPLER: "always_on",
            ROUTING_ENGINE_URL: engine.url
          })
          const { origin } = process.server
          const { token } = yield* riderAt(process.server)
          yield* heldRequest(origin, token)
          yield* sendHalf(origin)
          const visitor = yield* Effect.provideService(anonymous, TestServer, process.server)
          const call = yield* Effect.forkChild(visitor.post("/routing/route", ROUTE))
          yield* until(Effect.sync(() => engine.asked.length === 1))
          yield* process.tell("SIGTERM")
          assert.strictEqual((yield* Fiber.join(call)).status, 503)
          // One that is not at its end in time ends by force, with 1.
          assert.strictEqual((yield* process.ended).code, 0)
          assert.isAbove(collector.requests.length, 0)
          const lines = logged(process, "INFO")
          const started = lines.find(({ message }) => message === "starting")
          assert.match(`${started?.annotations["version"]} ${started?.annotations["commit"]}`, /^\d+\.\d+\.\d+ \w+$/)
          const last = lines.at(-1)
          assert.deepInclude(last, { message: "stopped" })
          assert.deepInclude(last?.annotations, { reason: "SIGTERM" })
          assert.isAtLeast(Number(last?.annotations["requests"]), 1)
        }).pipe(Effect.provide([Collector.layer, StandInEngine.layer]))
    )

    it.effect("ends at once at a second signal", () =>
      Effect.gen(function*() {
        const process = yield* one
        const { token } = yield* riderAt(process.server)
        yield* heldRequest(process.server.origin, token)
        yield* process.tell("SIGINT")
        const forced = yield* Effect.forkChild(process.ended)
        // A signal within half a second of the first is taken for the same one.
        yield* until(Effect.andThen(process.tell("SIGTERM"), Effect.sync(() => forced.pollUnsafe() !== undefined)))
        assert.strictEqual((yield* Fiber.join(forced)).code, 1)
        assert.include(JSON.stringify(logged(process, "ERROR")), "second signal")
      }))

    it.effect("by an uncaught exception ends what it began, logs it and fails", () =>
      Effect.gen(function*() {
        const script = `process.on("SIGUSR2", () => Promise.reject(new Error("thrown away")))`
        const process = yield* (yield* Processes).start({
          NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`
        })
        const { token } = yield* riderAt(process.server)
        const held = yield* heldRequest(process.server.origin, token)
        yield* process.tell("SIGUSR2")
        const visitor = yield* Effect.provideService(anonymous, TestServer, process.server)
        yield* until(Effect.map(Effect.exit(visitor.get("//health/live")), Exit.isFailure))
        assert.deepStrictEqual(yield* held.finish, { status: 201, connection: "close" })
        assert.strictEqual((yield* process.ended).code, 1)
        assert.strictEqual(logged(process, "FATAL").length, 1)
        assert.include(process.output(), "thrown away")
      }))
  }
)
