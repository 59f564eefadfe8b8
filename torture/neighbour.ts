import { Effect, Schema } from "effect"
import { fork } from "node:child_process"
import { join } from "node:path"
import type { Keeper } from "./keeper.ts"
import { endingOf } from "./service.ts"

/** How another service behaves; `refuse` takes no connections, `endless` is a body without an end. */
export const FAILURES = ["hang", "fail", "drip", "garbage", "endless", "refuse"] as const

export const Behaviour = Schema.Literals(["normal", ...FAILURES])

export type Behaviour = typeof Behaviour.Type

/** Those that speak HTTP: routing engine, mail provider, identity provider, collector of telemetry. */
export const HttpRole = Schema.Literals(["engine", "mail", "identity", "collector"])

export type HttpRole = typeof HttpRole.Type

type Role = HttpRole | "redis"

const programOf = (role: Role) => join(import.meta.dirname, role === "redis" ? "redisServer.ts" : "neighbourServer.ts")

/** What a mail provider was asked to send, and the `Idempotency-Key` of that request. */
const TakenMail = Schema.Struct({ body: Schema.String, key: Schema.optionalKey(Schema.String) })

export type TakenMail = typeof TakenMail.Type

/** What the process of a neighbour says: its URL, each behaviour that it has taken on, each mail. */
export const Report = Schema.Union([
  Schema.Struct({ url: Schema.String }),
  Schema.Struct({ behaviour: Behaviour }),
  Schema.Struct({ mail: TakenMail })
])

export interface Neighbour {
  readonly url: string
  readonly become: (behaviour: Behaviour) => Effect.Effect<void>
}

const decodeReport = Schema.decodeUnknownSync(Report)

/**
 * Another service on the loopback interface, which works at first. It is a process of its own: what it costs to send
 * without end is not taken for a delay of the service, whose clients and whose network to PostgreSQL are of this process.
 */
export const neighbour = Effect.fnUntraced(function*(
  keeper: Keeper,
  role: Role,
  took: (mail: TakenMail) => void = () => undefined
) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => fork(programOf(role), [role], { execArgv: [] })),
    (started) =>
      Effect.promise(() => {
        started.kill("SIGKILL")
        return endingOf(started)
      })
  )
  const pid = child.pid ?? 0
  keeper.add(pid)
  child.once("exit", () => keeper.remove(pid))
  const until = <A>(read: (report: typeof Report.Type) => A | undefined) =>
    Effect.callback<A>((resume) => {
      const hear = (message: unknown) => {
        const value = read(decodeReport(message))
        if (value === undefined) return
        child.off("message", hear)
        resume(Effect.succeed(value))
      }
      child.on("message", hear)
    })
  child.on("message", (message) => {
    const report = decodeReport(message)
    if ("mail" in report) took(report.mail)
  })
  const made: Neighbour = {
    url: yield* until((report) => "url" in report ? report.url : undefined),
    become: (behaviour) =>
      Effect.suspend(() => {
        child.send(behaviour)
        return Effect.asVoid(until((report) => "behaviour" in report ? report.behaviour : undefined))
      })
  }
  return made
})
