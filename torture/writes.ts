import { Effect, Option, Schedule, Schema } from "effect"
import type { Account } from "./accounts.ts"
import type { Ask, Call, Reply } from "./ask.ts"
import type { Ledger } from "./ledger.ts"
import type { Recorder } from "./recorder.ts"

/** A second call waits for the first for 5 seconds, and a crash frees the key: a longer wait shows a locked key. */
const HELD_AFTER = 6000

const Kept = Schema.Struct({ id: Schema.Int, name: Schema.String })

const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(
  Schema.Union([Kept, Schema.Struct({ results: Schema.Array(Schema.Struct({ route: Kept })) })])
))

/** Returns the routes or the collection in a response; none if it has another shape. */
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
  /** A write is repeated for this many milliseconds. */
  readonly persistence: number
  /** The next call comes this many milliseconds after a reply. */
  readonly pauseAfter: (reply: Reply, attempt: number) => number
}

/** Makes a function that reports once that a key is locked for too long. */
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

/** Repeats writes, with their keys, until they get a response, and notes both in the ledger. */
export const writing = ({ ask, ledger, pauseAfter, persistence, recorder }: Writing) => {
  const pauses = Schedule.forever.pipe(
    Schedule.setInputType<Reply>(),
    Schedule.addDelay(({ attempt, input }) => Effect.succeed(pauseAfter(input, attempt)))
  )
  /** Returns the first row. The first call is aborted after `abort` milliseconds. */
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
