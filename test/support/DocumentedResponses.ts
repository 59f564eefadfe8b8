import { Ajv2020 } from "ajv/dist/2020.js"
import { Array as Arr, Predicate } from "effect"
import { document, nameOf, type Operation, operations, served } from "./OpenApi.ts"

interface Received {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

/** HTTP itself has these headers, which OpenAPI leaves out. */
const FRAMING = new Set(["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"])

/** Requests that are wrong as HTTP get these statuses on every path. */
const TRANSPORT = new Set([408, 417, 431, 501])

/** A longer body only repeats what this one has. */
const LONGEST_BODY = 128 * 1024

const inAlternatives = (key: string) => ["allOf", "anyOf", "oneOf"].includes(key)

/** The parts of an alternative stay open, since the object around them is closed. */
const closed = (value: unknown, isPart = false): unknown => {
  if (Array.isArray(value)) return value.map((item) => closed(item, isPart))
  if (!Predicate.isObject(value)) return value
  const members = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, closed(member, inAlternatives(key))])
  )
  const isOpen = isPart || !("properties" in value) || "additionalProperties" in value || "patternProperties" in value
  return isOpen ? members : { ...members, unevaluatedProperties: false }
}

/** The validator is made when the module is loaded, so that no test that measures time waits for it. */
const ajv = new Ajv2020({ strict: false, validateFormats: false })

ajv.addSchema({ ...Object(closed(served)), $id: "document" })

const escaped = (name: string) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))

const patternOf = (path: string) => new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`)

/** Literal segments come before parameters, as in the router. */
const templates = Arr.dedupe(operations.map(({ path }) => path))
  .toSorted((a, b) => a.replace(/\{/g, "~").localeCompare(b.replace(/\{/g, "~"), "en"))
  .map((path) => ({ path, pattern: patternOf(path) }))

const isLiteral = (path: string) => !path.includes("{")

const templateOf = (pathname: string): string | undefined => {
  const found = templates.filter(({ pattern }) => pattern.test(pathname)).map(({ path }) => path)
  return found.find(isLiteral) ?? found.toSorted((a, b) => a.split("{").length - b.split("{").length)[0]
}

const answerOf = (answer: Operation["responses"][string], pointer: string) => {
  if (!("$ref" in answer)) return { answer, pointer }
  const name = nameOf(answer.$ref)
  return { answer: document.components.responses[name], pointer: `/components/responses/${name}` }
}

const mediaType = (contentType: string) => contentType.split(";")[0] ?? ""

const bodyProblem = (pointer: string, { body, headers, text }: Received, types: ReadonlyArray<string>) => {
  const type = mediaType(headers.get("content-type") ?? "")
  if (text === "") return undefined
  if (!types.map(mediaType).includes(type)) return `has the content type "${type}", which is not declared`
  if (type !== "application/json" || text.length > LONGEST_BODY) return undefined
  const validate = ajv.getSchema(`document#${pointer}/content/${escaped(type)}/schema`)
  if (validate === undefined) return "has no schema"
  return validate(body) === true ? undefined : `has a body that does not fit: ${ajv.errorsText(validate.errors)}`
}

const problemOf = (method: string, path: string, operation: Operation, received: Received) => {
  const { headers, status } = received
  if (TRANSPORT.has(status)) return undefined
  const declared = operation.responses[status]
  if (declared === undefined) return "has a status that is not declared"
  const own = `/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`
  const { answer, pointer } = answerOf(declared, own)
  const known = new Set(Object.keys(answer?.headers ?? {}).map((name) => name.toLowerCase()))
  const undeclared = [...headers.keys()].filter((name) => !known.has(name) && !FRAMING.has(name))
  if (undeclared.length > 0) return `has headers that are not declared: ${undeclared.join(", ")}`
  return bodyProblem(pointer, received, Object.keys(answer?.content ?? {}))
}

/** Throws if a response differs from the endpoint's OpenAPI document, in which every object is closed. */
export const requireDocumented = (method: string, url: string, received: Received): void => {
  const path = templateOf(new URL(url).pathname)
  const wanted = method === "HEAD" ? "GET" : method
  const found = operations.find((one) => one.path === path && one.method === wanted)
  if (found === undefined) return
  const problem = problemOf(found.method, found.path, found.operation, received)
  if (problem === undefined) return
  throw new Error(`The ${received.status} of ${method} ${found.path} ${problem}\n${received.text.slice(0, 2000)}`)
}
