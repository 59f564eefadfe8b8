import { Option, Result } from "effect"
import { TraceRequest } from "../../schema/Routing.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { longBodyJob } from "../json/LongBody.ts"
import { joinPieces, type MatchedPieces } from "./MatchedTrace.ts"
import { BROKEN_POLYLINE, type MeasuredTrace, measureTrace } from "./MeasuredTrace.ts"

/** Replaces the points in the text of a body, which needs two of them. */
const TAKEN_OUT = [{ lat: 0, lon: 0 }, { lat: 0, lon: 0 }]

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

export const readTrace = longBodyJob(
  import.meta.url,
  "read trace",
  (text) => Result.flatMap(decodeTrace(text), takePoints)
)

/** For a short body: an encoded polyline may still have thousands of points. */
export const measureShortTrace = new HeavyJob<TraceRequest, MeasuredTrace | undefined>(import.meta.url, {
  name: "measure trace",
  share: "traces",
  run: measureTrace
})

export const joinMatches = new HeavyJob<MatchedPieces, Uint8Array | undefined>(import.meta.url, {
  name: "join matches",
  share: "traces",
  run: joinPieces
})

const isJson = Option.liftThrowable((text: string) => void JSON.parse(text))

export const checkMatch = new HeavyJob<string, true | undefined>(import.meta.url, {
  name: "check match",
  share: "matches",
  run: (text) => Option.isSome(isJson(text)) || undefined
})
