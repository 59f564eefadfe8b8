import { Effect, Schema } from "effect"
import { accounts } from "../accounts.ts"
import type { Asking } from "../ask.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { neighbour, type TakenMail } from "../neighbour.ts"
import { formOf } from "../options.ts"
import { makeRecorder, type Recorder } from "../recorder.ts"
import { world } from "../world.ts"

const ROUNDS = { short: 5, full: 40 }

/** How many use their links at once, each of an account of their own. */
const CROWD = 64

const AT_ONCE = 1000

const Mail = Schema.fromJsonString(Schema.Struct({ to: Schema.Tuple([Schema.String]), text: Schema.String }))

const TOKEN = /token=([\w-]+)/

const links = () => {
  const tokens = new Map<string, Array<string>>()
  const take = ({ body }: TakenMail) => {
    const { text, to: [to] } = Schema.decodeSync(Mail)(body)
    const token = TOKEN.exec(text)?.[1]
    if (token !== undefined) tokens.set(to, [...tokens.get(to) ?? [], token])
  }
  const arrived = (email: string, count: number): Effect.Effect<ReadonlyArray<string>> =>
    Effect.suspend(() => {
      const known = tokens.get(email) ?? []
      if (known.length >= count) return Effect.succeed(known)
      return Effect.andThen(Effect.sleep("50 millis"), arrived(email, count))
    })
  return { take, arrived }
}

const post = ({ ask }: Asking, path: string, body: unknown) =>
  Effect.promise(() => ask({ method: "POST", path: `/api/v1/auth/${path}`, body: JSON.stringify(body) }))

const linksOf = Effect.fnUntraced(function*(
  asking: Asking,
  { arrived }: ReturnType<typeof links>,
  email: string,
  count: number
) {
  yield* Effect.forEach(Array.from({ length: count }), () => post(asking, "request-password-reset", { email }))
  return yield* arrived(email, count)
})

const used = (asking: Asking, token: string) =>
  post(asking, "reset-password", { token, password: `a new password ${token}` })

/** Two links of one account at one instant: one wins, the other gets its 400 at once. */
const twoAtOnce = Effect.fnUntraced(function*(asking: Asking, recorder: Recorder, tokens: ReadonlyArray<string>) {
  const replies = yield* Effect.forEach(tokens, (token) => used(asking, token), { concurrency: "unbounded" })
  const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b).join(" and ")
  if (statuses !== "200 and 400") recorder.report(`two links of one account at once: ${statuses}`)
  const slow = replies.filter(({ began, ended }) => ended - began > AT_ONCE)
  recorder.reportSlowness("one of two links of an account took more than 1 s", slow.length)
})

export const resetLinks: Fault = {
  key: "reset-links",
  title: "reset links of one account used at once",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const form = formOf(run.options)
    const recorder = makeRecorder()
    const mails = links()
    const provider = yield* neighbour(run.keeper, "mail", mails.take)
    const { asking, postgres } = yield* world(`${run.directory}/links`, run.keeper, {
      EMAIL_API_URL: provider.url,
      EMAIL_API_KEY: "key",
      EMAIL_FROM: "service@example.com",
      OUTBOX_POLL_INTERVAL: "100 millis"
    })
    const rounds = run.options.rounds ?? ROUNDS[form]
    const people = yield* accounts(postgres.url(), asking, "links", rounds)
    yield* Effect.forEach(
      people,
      ({ email }) => Effect.flatMap(linksOf(asking, mails, email, 2), (tokens) => twoAtOnce(asking, recorder, tokens))
    )
    const crowd = run.options.isShort ? [] : yield* accounts(postgres.url(), asking, "crowd", CROWD)
    const tokens = yield* Effect.forEach(crowd, ({ email }) => linksOf(asking, mails, email, 1), { concurrency: 4 })
    const replies = yield* Effect.forEach(tokens.flat(), (token) => used(asking, token), { concurrency: "unbounded" })
    replies.filter(({ text }) => text.includes("database is not reachable")).forEach(({ status }) =>
      recorder.report(`${CROWD} resets at once: ${status}: the database is said not to be reachable`)
    )
    replies.filter(({ headers, status }) => status !== 200 && headers["retry-after"] === undefined).forEach((
      { status }
    ) => recorder.report(`${CROWD} resets at once: ${status} without Retry-After`))
    return outcomeOf(recorder, {
      rounds,
      requests: rounds * 4 + crowd.length * 2
    })
  })
}
