import { Option, Result } from "effect"
import { TraceRequest } from "../../schema/Routing.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { longBodyJob } from "../json/LongBody.ts"
import { joinPieces, type MatchedPieces } from "./MatchedTrace.ts"
import { BROKEN_POLYLINE, type MeasuredTrace, measureTrace } from "./MeasuredTrace.ts"

/** What stands in the text of a body for the points that were taken out of it, since a trace has to have two. */
const TAKEN_OUT = [{ lat: 0, lon: 0 }, { lat: 0, lon: 0 }]

/** What the body of a trace has beside its text. */
interface TraceParts {
  readonly trace: MeasuredTrace
}

const takePoints = (request: TraceRequest) => {
  const { activity, preferences } = request
  const trace = measureTrace(request)
  if (trace === undefined) return Result.fail([BROKEN_POLYLINE])
  const parts: TraceParts = { trace }
  return Result.succeed({ rest: { activity, preferences, shape: TAKEN_OUT }, parts })
}

const decodeTrace = decodeBounded(TraceRequest)

/** Takes the points out of the body of a trace, measures them and cuts them to pieces. */
export const readTrace = longBodyJob("read trace", (text) => Result.flatMap(decodeTrace(text), takePoints))

/** The same for a trace whose body was short: an encoded polyline has some thousand points in so many bytes. */
export const measureShortTrace: HeavyJob<TraceRequest, MeasuredTrace | undefined> = {
  name: "measure trace",
  share: "traces",
  run: measureTrace
}

/** Joins what the engine said of the pieces of a trace. */
export const joinMatches: HeavyJob<MatchedPieces, Uint8Array | undefined> = {
  name: "join matches",
  share: "traces",
  run: joinPieces
}

const isJson = Option.liftThrowable((text: string) => void JSON.parse(text))

/** Whether what the engine said of a piece is JSON; none where it is not. */
export const checkMatch: HeavyJob<string, true | undefined> = {
  name: "check match",
  share: "matches",
  run: (text) => Option.isSome(isJson(text)) || undefined
}
