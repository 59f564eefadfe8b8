import { Effect, Option, Schedule, Schema } from "effect"
import type { Account } from "./accounts.ts"
import type { Ask, Call, Reply } from "./ask.ts"
import type { Ledger } from "./ledger.ts"
import type { Recorder } from "./recorder.ts"

/** A second call waits for the first for 5 seconds, and a crash frees the key: a longer wait is a locked key. */
const HELD_AFTER = 6000

const Kept = Schema.Struct({ id: Schema.Int, name: Schema.String })

const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(
  Schema.Union([Kept, Schema.Struct({ results: Schema.Array(Schema.Struct({ route: Kept })) })])
))

/** The routes or the collection in a response; none in one of another shape. */
export const storedIn = ({ text }: Reply): ReadonlyArray<typeof Kept.Type> =>
  Option.match(decoded(text), {
    onNone: () => [],
    onSome: (stored) => "results" in stored ? stored.results.map(({ route }) => route) : [stored]
  })

/** A call with a key stores all of these or nothing. */
export interface Write {
  readonly endpoint: "routes" | "collections"
  readonly names: ReadonlyArray<string>
  readonly call: Call
}

interface Writing {
  readonly ask: Ask
  readonly ledger: Ledger
  readonly recorder: Recorder
  /** Milliseconds for which a write is repeated. */
  readonly persistence: number
  /** Milliseconds after a reply to the next call. */
  readonly pauseAfter: (reply: Reply, attempt: number) => number
}

/** Reports a key that is locked for too long, once. */
const lockWatch = (recorder: Recorder) => {
  const state = { since: Infinity, isReported: false }
  return ({ status }: Reply) =>
    Effect.sync(() => {
      const now = performance.now()
      state.since = status === 409 ? Math.min(state.since, now) : Infinity
      if (now - state.since <= HELD_AFTER || state.isReported) return
      state.isReported = true
      recorder.reportSlowness("a key is held for more than 6 s (409)")
    })
}

/** Repeats a write until it gets a response, between its intent and its acknowledgement in the ledger; returns what it stored first. */
export const writing = ({ ask, ledger, pauseAfter, persistence, recorder }: Writing) => {
  const pauses = Schedule.forever.pipe(
    Schedule.setInputType<Reply>(),
    Schedule.addDelay(({ attempt, input }) => Effect.succeed(pauseAfter(input, attempt)))
  )
  /** The first call may be aborted after some milliseconds. */
  return Effect.fnUntraced(function*({ id: account, token }: Account, { call, endpoint, names }: Write, abort = 0) {
    const calling = ask({ ...call, token })
    yield* ledger.append(names.map((name) => ({ kind: "intent", name, endpoint, account })))
    if (abort > 0) yield* Effect.timeoutOption(calling, abort)
    const began = performance.now()
    const reply = yield* recorder.watch(calling, `${call.method} ${call.path}`).pipe(
      Effect.tap(lockWatch(recorder)),
      Effect.repeat({ until: ({ status }) => status === 200 || status === 201, schedule: pauses }),
      Effect.timeoutOption(persistence)
    )
    if (Option.isNone(reply)) {
      recorder.reportSlowness(`a write got no response within ${persistence / 1000} s`)
      return undefined
    }
    const stored = storedIn(reply.value)
    if (names.some((name, n) => stored[n]?.name !== name)) {
      recorder.report("a response of another write")
      return undefined
    }
    yield* ledger.append(stored.map(({ id, name }) => ({ kind: "acknowledged", name, endpoint, account, id })))
    recorder.acknowledged(began, names.length)
    return stored[0]
  })
}
