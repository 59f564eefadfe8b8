import { Cause, Exit, Option, Predicate, Schema, type Tracer } from "effect"
import { OtlpResource, type OtlpTracer } from "effect/observability"
import { SqlError } from "effect/sql"
import { isFault } from "../../http/response/ErrorResponse.ts"
import { isDomainError, publicErrorOf } from "../../http/response/PublicErrors.ts"
import { ServiceError } from "../../schema/Errors.ts"
import { sqlStateOf } from "../../services/db/DatabaseErrors.ts"

export type OtlpSpan = OtlpTracer.ScopeSpan["spans"][number]

type Attribute = OtlpResource.KeyValue

/** An allow list: paths and URLs contain share tokens and keys, error messages values, headers credentials. */
const ALLOWED = new Set([
  "app.cause",
  "app.code",
  "app.limit",
  "app.reason",
  "app.sqlState",
  "db.client.connection.wait_time_ms",
  "db.query.text",
  "db.system.name",
  "enduser.pseudo.id",
  "error.type",
  "http.request.method",
  "http.response.status_code",
  "http.route",
  "server.address",
  "server.port",
  "url.scheme"
])

const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

/** Only the application sets OK (OpenTelemetry, Set Status). */
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

/** The middle of a long statement lists columns. The whole statement would be most of what a trace costs. */
const SHOWN = 512

const shown = (value: unknown) =>
  Predicate.isString(value) && value.length > 2 * SHOWN
    ? `${value.slice(0, SHOWN)} ... ${value.slice(-SHOWN)}`
    : value

const allowed = (attributes: Iterable<readonly [string, unknown]>): Array<Attribute> => {
  const encoded = []
  for (const [key, value] of attributes) if (ALLOWED.has(key)) encoded.push(attribute(key, shown(value)))
  return encoded
}

const sqlStateAttributes = (error: unknown) => {
  const code = SqlError.isSqlError(error) ? sqlStateOf(error.reason.cause) : undefined
  return code === undefined ? [] : [attribute("db.response.status_code", code)]
}

const exceptionOf = (error: unknown, endTime: bigint): OtlpSpan["events"][number] => ({
  name: "exception",
  timeUnixNano: String(endTime),
  attributes: [attribute("exception.type", error instanceof Error ? error.name : typeof error)],
  droppedAttributesCount: 0
})

interface End {
  readonly status: OtlpSpan["status"]
  readonly attributes: ReadonlyArray<Attribute>
  readonly events: OtlpSpan["events"]
}

const SUCCEEDED: End = { status: UNSET, attributes: [], events: [] }
const INTERRUPTED: End = { status: UNSET, attributes: [attribute("effect.fiber.interrupted", true)], events: [] }

const isServiceError = Schema.is(ServiceError)

/** A refusal, such as a 404, is no failure of the service. */
const isRefusal = (error: unknown) => {
  if (isServiceError(error)) return !isFault(error)
  return Predicate.isTagged(error, "StaleVersion") || isDomainError(error) && !isFault(publicErrorOf(error))
}

const endOf = ({ kind }: Tracer.Span, endTime: bigint, exit: Exit.Exit<unknown, unknown>): End => {
  if (Exit.isSuccess(exit)) return SUCCEEDED
  if (Cause.hasInterruptsOnly(exit.cause)) return INTERRUPTED
  const error = Cause.squash(exit.cause)
  if (isRefusal(error)) return SUCCEEDED
  return {
    status: ERROR,
    attributes: sqlStateAttributes(error),
    events: kind === "server" ? [] : [exceptionOf(error, endTime)]
  }
}

export interface TracedDatabase {
  readonly name: string
  readonly host?: string
  readonly port?: number
}

/** A row lock and the conflict clause of an insert have these words too, after `FOR`, `KEY` or `DO`. */
const WRITE = /(?<!\b(?:FOR|DO|KEY)\s+)\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?(\w+)/gi

const MOST_NAMED = 4

const worksOf = (statement: string) => {
  const writes = [...statement.matchAll(WRITE)].map(([, verb = "", table = ""]) =>
    `${verb.split(/\s/)[0]?.toUpperCase() ?? ""} ${table}`
  )
  return writes.length > 0 ?
    writes :
    [/\bFROM\s+"?(\w+)/i.exec(statement)?.[1]].flatMap((table) => table === undefined ? [] : [`SELECT ${table}`])
}

/** Names a transaction by the writes of its statements, which end before it, or else by their reads. */
const transactionNaming = () => {
  const works = new WeakMap<Tracer.AnySpan, Set<string>>()
  return {
    note: ({ parent }: Tracer.Span, statement: string) => {
      const owner = Option.getOrUndefined(parent)
      if (owner?._tag !== "Span" || !owner.attributes.has("db.system.name")) return
      const known = works.get(owner) ?? new Set()
      for (const work of worksOf(statement)) known.add(work)
      works.set(owner, known)
    },
    workOf: (span: Tracer.Span) => {
      const all = [...works.get(span) ?? []]
      const writes = all.filter((work) => !work.startsWith("SELECT"))
      return (writes.length > 0 ? writes : all).slice(0, MOST_NAMED).join(", ")
    }
  }
}

/** Names the spans of the database: Effect names all statements alike, and does not know the database's address. */
const statementNaming = (database: Option.Option<TracedDatabase>) => {
  const { host, name, port } = Option.getOrElse(database, (): Partial<TracedDatabase> => ({}))
  const address = Object.entries({ "db.namespace": name, "server.address": host, "server.port": port })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => attribute(key, value))
  const transactions = transactionNaming()
  const namesOf = (operation: string | undefined, subject: string | undefined) => ({
    name: [operation, subject].filter((part) => part !== undefined).join(" "),
    attributes: operation === undefined ? address : [...address, attribute("db.operation.name", operation)]
  })
  return (span: Tracer.Span) => {
    const text = span.attributes.get("db.query.text")
    if (text === undefined) return namesOf("TRANSACTION", transactions.workOf(span) || name)
    transactions.note(span, String(text))
    return namesOf(operationOf(String(text)), name)
  }
}

/** Encodes a span that ends, without any attribute that is not on the allow list. */
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
