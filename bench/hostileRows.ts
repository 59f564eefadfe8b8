import { ROUTE_BODY_LIMIT } from "../src/http/api/Requests.ts"

export const HEAP_MIB = 512

/** What a row may have at most; it costs ten times `JSON.parse`, or as large a share of the longest as its body has. */
const LIMITS = { stall: 50, longest: 1500, least: 100, read: 500, memory: 1024, times: 10 }

export interface Row {
  readonly status: string
  /** Without that of the reads beside it. */
  readonly processor: number
  readonly reads: number
  readonly parse: number
  /** As many bytes as the row is about. */
  readonly bytes: number
  readonly stall: number
  readonly p99: number
  readonly heap: number
  readonly memory: number
}

export const DEAD: Row = {
  status: "process died",
  processor: Infinity,
  reads: 0,
  parse: 0,
  bytes: 0,
  stall: Infinity,
  p99: Infinity,
  heap: Infinity,
  memory: Infinity
}

/** What of a row is above its limits. */
export const excesses = ({ bytes, heap, memory, p99, parse, processor, stall }: Row, count = 1) => {
  const share = LIMITS.longest * Math.min(1, bytes / ROUTE_BODY_LIMIT)
  const most = Math.max(LIMITS.least, LIMITS.times * parse, share) * count
  return [
    ...(processor > most ? [`processor > ${most.toFixed(0)} ms`] : []),
    ...(stall > LIMITS.stall * count ? [`stall > ${LIMITS.stall * count} ms`] : []),
    ...(p99 > LIMITS.read ? [`reads > ${LIMITS.read} ms`] : []),
    ...(heap > HEAP_MIB ? [`heap > ${HEAP_MIB} MiB`] : []),
    ...(memory > LIMITS.memory ? [`memory > ${LIMITS.memory} MiB`] : [])
  ]
}

export const rowOf = (name: string, row: Row, count = 1) => {
  const { heap, memory, p99, parse, processor, stall, status } = row
  const above = excesses(row, count).join(", ")
  const figures = [processor, parse, stall, p99].map((millis) => `${millis.toFixed(0)} ms`)
  const sizes = [heap, memory].map((mebibytes) => `${mebibytes.toFixed(0)} MiB`)
  return `| ${[name, status, ...figures, ...sizes, above === "" ? "" : `**${above}**`].join(" | ")} |`
}

export const HEADING =
  "| body | status | processor | JSON.parse | longest stall | p99 of others' reads | heap | peak memory | above its limits |\n"
  + "|---|---|---|---|---|---|---|---|---|"
