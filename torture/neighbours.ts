import { Effect, Schema } from "effect"
import type { Ask, Asking } from "./ask.ts"
import type { Keeper } from "./keeper.ts"
import { type Neighbour, neighbour, type TakenMail } from "./neighbour.ts"

const Mail = Schema.fromJsonString(Schema.Struct({ to: Schema.Tuple([Schema.String]) }))

/** Mails that one person wanted and got, and those that one person got more than once. */
interface Mails {
  readonly sent: number
  readonly given: number
  readonly lost: number
  readonly twice: number
}

/** Another service, and how it is made to be called. */
export interface NamedNeighbour {
  readonly name: string
  readonly neighbour: Neighbour
  readonly perSecond: number
  /** Whether the service uses it, or does within the time that it may take once the other works again. */
  readonly isUsed: Effect.Effect<boolean>
  readonly call: (ask: Asking["ask"]) => Promise<unknown>
}

const address = (n: number) => `person-${n}@example.net`

/** A provider that takes a mail as soon as it has it, whatever its response is, and one with an `Idempotency-Key` once. */
const mailbox = () => {
  const wanted = new Set<string>()
  const got = new Map<string, number>()
  const keys = new Set<string>()
  const take = ({ body, key }: TakenMail) => {
    const { to: [to] } = Schema.decodeSync(Mail)(body)
    const isKnown = key !== undefined && keys.has(key)
    if (key !== undefined) keys.add(key)
    if (!isKnown) got.set(to, (got.get(to) ?? 0) + 1)
  }
  const state = { asked: 0 }
  /** A sign-up that was refused has no mail. */
  const want = async (ask: Asking["ask"]) => {
    const email = address(state.asked++)
    const body = JSON.stringify({ email, password: "a long enough password" })
    const { status } = await ask({ method: "POST", path: "/api/v1/auth/signup-email", body })
    if (status === 201) wanted.add(email)
  }
  const seen = (): Mails => ({
    sent: wanted.size,
    given: [...got.values()].reduce((sum, count) => sum + count, 0),
    lost: [...wanted].filter((to) => !got.has(to)).length,
    twice: [...got].filter(([to, count]) => count > 1 && wanted.has(to)).length
  })
  return { take, want, seen }
}

const routing = (n: number): Ask => ({
  method: "POST",
  path: "/api/v1/routing/route",
  body: JSON.stringify({
    activity: "walk",
    preferences: {},
    locations: [{ lat: 47 + n / 1e6, lon: 9 }, { lat: 47.1, lon: 9 }]
  })
})

const signIn = (n: number): Ask => ({
  method: "POST",
  path: "/api/v1/auth/google",
  body: JSON.stringify({ code: `code-${n}` })
})

const counted = (callOf: (n: number) => Ask) => {
  const state = { asked: 0 }
  return (ask: Asking["ask"]) => ask(callOf(state.asked++))
}

/** All services that the service calls over HTTP, and the settings by which it finds them. */
export const allNeighbours = Effect.fnUntraced(function*(keeper: Keeper) {
  const mails = mailbox()
  const engine = yield* neighbour(keeper, "engine")
  const provider = yield* neighbour(keeper, "mail", mails.take)
  const identity = yield* neighbour(keeper, "identity")
  const collector = yield* neighbour(keeper, "collector")
  const settled = (deadline: number): Effect.Effect<Mails> =>
    Effect.suspend(() => {
      const seen = mails.seen()
      if (seen.lost === 0 || performance.now() > deadline) return Effect.succeed(seen)
      return Effect.andThen(Effect.sleep("250 millis"), settled(deadline))
    })
  const isUsed = Effect.succeed(true)
  const named: ReadonlyArray<NamedNeighbour> = [
    { name: "routing engine", neighbour: engine, call: counted(routing), perSecond: 20, isUsed },
    { name: "mail provider", neighbour: provider, call: mails.want, perSecond: 4, isUsed },
    { name: "identity provider", neighbour: identity, call: counted(signIn), perSecond: 10, isUsed },
    {
      name: "OTLP collector",
      neighbour: collector,
      call: counted(() => ({ path: "/health/live" })),
      perSecond: 20,
      isUsed
    }
  ]
  return {
    settings: {
      ROUTING_ENGINE_URL: engine.url,
      EMAIL_API_URL: provider.url,
      EMAIL_API_KEY: "key",
      EMAIL_FROM: "service@example.com",
      GOOGLE_ISSUER: identity.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url
    },
    named,
    /** Waits so many milliseconds for the mails that are due. */
    mails: (within: number) => Effect.suspend(() => settled(performance.now() + within))
  }
})
