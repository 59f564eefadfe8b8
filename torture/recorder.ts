import { Effect, Schedule } from "effect"
import { type Ask, type Call, GAVE_UP, type Reply } from "./ask.ts"

interface Request {
  readonly began: number
  /** The status is 0 if no response came, and undefined until then. */
  status?: number
  /** The kind is the status, or why there is no response. */
  kind?: string
}

/** The service has recovered with a second, in milliseconds, at one of these shares of the rate before the fault. */
const STEADY = 1000
const SHARE = { recovered: 0.9, clear: 0.5 }
const STEP = 50

/** These refusals are allowed while a part does not work. Any other failure is wrong. */
const REFUSALS = new Set([0, 429, 503])

/** A locked key is a problem of its own, and no outage. */
const LOCKED = 409

const isGood = ({ status = 0 }: Pick<Request, "status">) => status === 304 || (status >= 200 && status < 300)

export const messageOf = ({ failure, text }: Reply) =>
  /"message":"([^"]*)"/.exec(text)?.[1] ?? (failure || text.slice(0, 80))

const countIn = (problems: Map<string, number>) => (text: string, count = 1) => {
  if (count > 0) problems.set(text, (problems.get(text) ?? 0) + count)
}

/** Records what the clients of one fault saw. */
export const makeRecorder = () => {
  const seen: Array<Request> = []
  const wrong = new Map<string, number>()
  const late = new Map<string, number>()
  const writes: Array<{ readonly began: number; readonly ended: number; readonly count: number }> = []
  const state = { lastGood: performance.now(), longestOutage: 0 }
  const report = countIn(wrong)
  const reportSlowness = countIn(late)
  const reportUntimed = ({ headers, status }: Reply, what: string) => {
    if (status === 503 && headers["retry-after"] === undefined) report(`${what}: 503 without Retry-After`)
  }
  /** Waits for a reply and counts it. `what` names the call in a problem. */
  const watch = Effect.fnUntraced(function*(call: Effect.Effect<Reply>, what: string) {
    const request: Request = { began: performance.now() }
    seen.push(request)
    const reply = yield* call
    const { failure, status } = reply
    Object.assign(request, { status, kind: failure || String(status) })
    if (isGood(reply)) {
      const now = performance.now()
      state.longestOutage = Math.max(state.longestOutage, now - state.lastGood)
      state.lastGood = now
    } else if (status !== LOCKED && !REFUSALS.has(status)) {
      report(`${what}: ${status} ${messageOf(reply)}`)
    }
    reportUntimed(reply, what)
    if (failure === GAVE_UP) reportSlowness(`${what}: ${GAVE_UP}`)
    return reply
  })
  const begunIn = (from: number, to: number) =>
    seen.filter(({ began, status }) => began >= from && began < to && status !== LOCKED)
  /** Returns the successes a second. */
  const rateIn = (from: number, to: number) => begunIn(from, to).filter(isGood).length / Math.max(to - from, 1) * 1000
  /** Returns the milliseconds from an instant to the first second whose calls are as wanted. */
  const firstSecond = (since: number, isWanted: (begun: ReadonlyArray<Request>) => boolean) => {
    const now = performance.now()
    const begun = begunIn(since, now)
    for (let from = since; from + STEADY <= now; from += STEP) {
      if (isWanted(begun.filter(({ began }) => began >= from && began < from + STEADY))) return from - since
    }
    return undefined
  }
  /** Returns the milliseconds to the first second in which as many calls succeed as before. */
  const recovery = (since: number, rate: number) =>
    firstSecond(since, (begun) => begun.filter(isGood).length >= rate * SHARE.recovered)
  /** Returns the milliseconds to the first second in which no call fails, repeated ones of the time before included. */
  const clear = (since: number, rate: number) =>
    firstSecond(since, (begun) => begun.length >= rate * SHARE.clear && begun.every(isGood))
  return {
    watch,
    report,
    /** Reports a 503 that does not say when to retry. A proxy's own 503 does not say it either. */
    reportUntimed,
    /** Reports what took too long. The short form does not judge it, since other work on the machine causes it too. */
    reportSlowness,
    rateIn,
    recovery,
    clear,
    /** Outages are counted from here. */
    begin: () => void (state.lastGood = performance.now()),
    wrong,
    late,
    /** Returns the replies in print: `201: 500, 503: 20, ECONNREFUSED: 100`. */
    replies: (since = 0) =>
      Object.entries(Object.groupBy(seen.filter(({ began }) => began >= since), ({ kind = "open" }) => kind))
        .map(([kind, some]) => `${kind}: ${some?.length}`).join(", "),
    /** Notes that a write of `count` rows has got its response, after any number of tries. */
    acknowledged: (began: number, count: number) => void writes.push({ began, ended: performance.now(), count }),
    writesSince: (instant: number) => {
      const some = writes.filter(({ ended }) => ended > instant)
      return {
        count: some.reduce((all, { count }) => all + count, 0),
        first: Math.min(...some.map(({ ended }) => ended - instant)),
        longest: Math.max(0, ...some.map(({ began, ended }) => ended - began))
      }
    },
    /** Returns how many requests were refused or got no response, where none may be. */
    refused: () => seen.filter(({ status }) => status !== undefined && REFUSALS.has(status)).length,
    requests: () => seen.length,
    longestOutage: () => state.longestOutage
  }
}

export type Recorder = ReturnType<typeof makeRecorder>

/** A call is repeated after this many milliseconds, or after `Retry-After`. */
const RETRY = 250

const paced = Schedule.forever.pipe(
  Schedule.setInputType<Reply>(),
  Schedule.addDelay(({ input: { headers } }) =>
    Effect.succeed(Math.max(RETRY, Number(headers["retry-after"] ?? 0) * 1000))
  )
)

/** Repeats a call until its status is wanted. Reports a 5xx other than 503, and a 503 without `Retry-After`. */
export const insistent = (ask: Ask, recorder: Recorder) => (call: Call, wanted: ReadonlyArray<number>) =>
  ask(call).pipe(
    Effect.tap((reply) =>
      Effect.sync(() => {
        const [what = ""] = call.path.split("?")
        if (reply.status >= 500 && reply.status !== 503) recorder.report(`${what}: ${reply.status}`)
        recorder.reportUntimed(reply, what)
      })
    ),
    Effect.repeat({ until: ({ status }) => wanted.includes(status), schedule: paced })
  )
