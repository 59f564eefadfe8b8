import { GAVE_UP, type Reply } from "./ask.ts"

interface Instant {
  readonly began: number
  state: "open" | "good" | "failed" | "neutral"
}

/** How long no request may fail until the service counts as back, and how much of the rate of before is enough. */
const STEADY = 1000
const SHARE = 0.5
const STEP = 50

/** A refusal that a client may get while a part does not work. What else is not a success is wrong. */
const REFUSALS = new Set([409, 429, 503])

const isSuccess = (status: number) => status === 304 || (status >= 200 && status < 300)

const stateOf = (status: number) => {
  if (isSuccess(status)) return "good"
  // A key that is held does not make the service unavailable: it has a complaint of its own.
  return status === 409 ? "neutral" : "failed"
}

const messageOf = ({ text }: Reply) => /"message":"([^"]*)"/.exec(text)?.[1] ?? text.slice(0, 80)

const countIn = (complaints: Map<string, number>) => (text: string, count = 1) => {
  if (count > 0) complaints.set(text, (complaints.get(text) ?? 0) + count)
}

/** What the clients of one fault saw. */
export const makeRecorder = () => {
  const seen: Array<Instant> = []
  const wrong = new Map<string, number>()
  const late = new Map<string, number>()
  const replies = new Map<string, number>()
  const state = { requests: 0, refused: 0, lastGood: performance.now(), longestOutage: 0 }
  const complain = countIn(wrong)
  const complainOfTime = countIn(late)
  /** Waits for a reply and counts it. `what` names the call in a complaint. */
  const watch = async (call: () => Promise<Reply>, what: string) => {
    const instant: Instant = { began: performance.now(), state: "open" }
    seen.push(instant)
    state.requests += 1
    const reply = await call()
    const { ended, failure, status } = reply
    instant.state = stateOf(status)
    const kind = status === 0 ? failure : String(status)
    replies.set(kind, (replies.get(kind) ?? 0) + 1)
    if (instant.state === "good") {
      state.longestOutage = Math.max(state.longestOutage, ended - state.lastGood)
      state.lastGood = ended
    }
    if (instant.state === "failed" && (status === 0 || REFUSALS.has(status))) state.refused += 1
    if (status > 0 && !isSuccess(status) && !REFUSALS.has(status)) complain(`${what}: ${status} ${messageOf(reply)}`)
    if (failure === GAVE_UP) complainOfTime(`${what}: ${GAVE_UP}`)
    return reply
  }
  const begunIn = (from: number, to: number) =>
    seen.filter(({ began, state }) => began >= from && began < to && state !== "neutral")
  /** Successes a second. */
  const rateIn = (from: number, to: number) =>
    begunIn(from, to).filter(({ state }) => state === "good").length / Math.max(to - from, 1) * 1000
  /** Milliseconds from an instant to the first second in which no request fails, at half the rate of before or more. */
  const recovery = (since: number, rate: number): number | undefined => {
    const recent = begunIn(since, Infinity)
    const steps = Math.max(0, Math.floor((performance.now() - STEADY - since) / STEP) + 1)
    const start = Array.from({ length: steps }, (_, n) => since + n * STEP).find((from) => {
      const begun = recent.filter(({ began }) => began >= from && began < from + STEADY)
      return begun.length >= rate * SHARE && begun.every(({ state }) => state === "good")
    })
    return start === undefined ? undefined : start - since
  }
  return {
    watch,
    complain,
    /** Of what took too long, which a machine with other work makes it do: not judged in the short form. */
    complainOfTime,
    rateIn,
    recovery,
    /** Outages count from here. */
    begin: () => void (state.lastGood = performance.now()),
    wrong,
    late,
    /** As one prints them: `201: 500, 503: 20, ECONNREFUSED: 100`. */
    replies: () => [...replies].map(([kind, count]) => `${kind}: ${count}`).join(", "),
    /** Requests that were refused or got no response, where none may be. */
    refused: () => state.refused,
    requests: () => state.requests,
    longestOutage: () => state.longestOutage
  }
}

export type Recorder = ReturnType<typeof makeRecorder>
