import { Cause, Exit, Option, Predicate, type Tracer } from "effect"
import { OtlpResource, type OtlpTracer } from "effect/observability"
import { SqlError } from "effect/sql"

export type OtlpSpan = OtlpTracer.ScopeSpan["spans"][number]

type Attribute = OtlpResource.KeyValue

type Attributes = ReadonlyArray<Attribute>

/** An allow list: paths and URLs contain share tokens and keys, error messages values, headers credentials. */
const ALLOWED = new Set([
  "db.client.connection.wait_time_ms",
  "db.query.text",
  "db.system.name",
  "error.type",
  "http.request.method",
  "http.response.status_code",
  "http.route",
  "server.address",
  "server.port",
  "url.scheme"
])

const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

/** OpenTelemetry (Set Status): only the application sets OK. */
const UNSET = { code: 0 } as const
const ERROR = { code: 2 } as const

const operationOf = (statement: string): string | undefined => {
  const [, verb] = /^\s*(\w{1,20})/.exec(statement) ?? []
  if (verb?.toUpperCase() !== "WITH") return verb?.toUpperCase()
  return /\b(INSERT|UPDATE|DELETE)\b/i.exec(statement)?.[1]?.toUpperCase() ?? "SELECT"
}

const attribute = (key: string, value: unknown): Attribute => ({
  key,
  value: OtlpResource.unknownToAttributeValue(value)
})

const allowed = (attributes: Iterable<readonly [string, unknown]>): Array<Attribute> => {
  const encoded = []
  for (const [key, value] of attributes) if (ALLOWED.has(key)) encoded.push(attribute(key, value))
  return encoded
}

/** PostgreSQL's code of the error (SQLSTATE). */
const sqlStateOf = (error: unknown) =>
  SqlError.isSqlError(error) && Predicate.hasProperty(error.reason.cause, "code")
    ? [attribute("db.response.status_code", error.reason.cause.code)]
    : []

const exceptionOf = (error: unknown, endTime: bigint): OtlpSpan["events"][number] => ({
  name: "exception",
  timeUnixNano: String(endTime),
  attributes: [attribute("exception.type", error instanceof Error ? error.name : typeof error)],
  droppedAttributesCount: 0
})

interface End {
  readonly status: OtlpSpan["status"]
  readonly attributes: Attributes
  readonly events: OtlpSpan["events"]
}

const SUCCEEDED: End = { status: UNSET, attributes: [], events: [] }
const INTERRUPTED: End = { status: UNSET, attributes: [attribute("effect.fiber.interrupted", true)], events: [] }

const endOf = ({ kind }: Tracer.Span, endTime: bigint, exit: Exit.Exit<unknown, unknown>): End => {
  if (Exit.isSuccess(exit)) return SUCCEEDED
  if (Cause.hasInterruptsOnly(exit.cause)) return INTERRUPTED
  const error = Cause.squash(exit.cause)
  return {
    status: ERROR,
    attributes: sqlStateOf(error),
    events: kind === "server" ? [] : [exceptionOf(error, endTime)]
  }
}

export interface TracedDatabase {
  readonly name: string
  readonly host: string
  readonly port: number
}

/** The spans of the database. Effect names all statements alike, and does not know the address of the database. */
const statementNaming = (database: Option.Option<TracedDatabase>) => {
  const { host, name, port } = Option.getOrElse(database, () => ({ name: undefined, host: undefined, port: undefined }))
  const address = Object.entries({ "db.namespace": name, "server.address": host, "server.port": port })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => attribute(key, value))
  return ({ attributes }: Tracer.Span) => {
    const text = attributes.get("db.query.text")
    const operation = text === undefined ? "TRANSACTION" : operationOf(String(text))
    return {
      name: [operation, name].filter((part) => part !== undefined).join(" "),
      attributes: operation === undefined ? address : [...address, attribute("db.operation.name", operation)]
    }
  }
}

/** Encodes a span that ends, with nothing that is not on the list. */
export const spanEncoder = (database: Option.Option<TracedDatabase>) => {
  const namingOf = statementNaming(database)
  return (span: Tracer.Span, endTime: bigint, exit: Exit.Exit<unknown, unknown>): OtlpSpan => {
    const end = endOf(span, endTime, exit)
    const named = span.attributes.has("db.system.name") ? namingOf(span) : { name: span.name, attributes: [] }
    return {
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: Option.getOrUndefined(span.parent)?.spanId,
      name: named.name,
      kind: KINDS[span.kind],
      startTimeUnixNano: String(span.status.startTime),
      endTimeUnixNano: String(endTime),
      attributes: [...allowed(span.attributes), ...named.attributes, ...end.attributes],
      droppedAttributesCount: 0,
      events: end.events,
      droppedEventsCount: 0,
      status: end.status,
      links: span.links.map(({ span: { spanId, traceId } }) => ({
        traceId,
        spanId,
        attributes: [],
        droppedAttributesCount: 0
      })),
      droppedLinksCount: 0
    }
  }
}
