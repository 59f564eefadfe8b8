import {
  document,
  isSchema,
  type JsonSchema,
  membersOf,
  nameOf,
  type Operation,
  operations
} from "../test/support/OpenApi.ts"

const HEAD = `// \`npm run docs\` generates this file from the contract.

/** A call that an \`AbortSignal\` can end. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

export type CallArguments<I> = {} extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions]

/** A call returns the body of the response; \`response\` returns the response with it, which has \`ETag\` and \`X-Total-Count\`. */
export interface Endpoint<I, A> {
  (...call: CallArguments<I>): Promise<A>
  response(...call: CallArguments<I>): Promise<{ readonly data: A; readonly response: Response }>
}

/** A file, or a form with files. */
export type FileBody = string | Blob | FormData | ArrayBuffer | Uint8Array<ArrayBuffer>
`

const PLAIN: Readonly<Record<string, string>> = {
  boolean: "boolean",
  integer: "number",
  null: "null",
  number: "number",
  string: "string"
}

/** An array of at most this many items is a tuple, such as a position. */
const MAX_TUPLE = 4

const schemasOf = (value: unknown): ReadonlyArray<JsonSchema> => Array.isArray(value) ? value.filter(isSchema) : []

const comment = (words: unknown, indent: string) =>
  typeof words === "string" ? `${indent}/** ${words.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ")} */\n` : ""

const nameOfMember = (name: string) => /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)

const memberOf = (name: string, type: string, isRequired: boolean) =>
  `readonly ${nameOfMember(name)}${isRequired ? "" : "?"}: ${type}${isRequired ? "" : " | undefined"}`

const union = (types: ReadonlyArray<string>) => [...new Set(types)].join(" | ")

const tupleOf = (item: string, length: number) => `readonly [${Array.from({ length }, () => item).join(", ")}]`

const arrayOf = ({ items, maxItems, minItems }: JsonSchema, indent: string) => {
  const item = isSchema(items) ? typeOf(items, indent) : "unknown"
  if (typeof minItems !== "number" || typeof maxItems !== "number" || maxItems > MAX_TUPLE || minItems === 0) {
    return `ReadonlyArray<${item}>`
  }
  return union(Array.from({ length: maxItems - minItems + 1 }, (_, index) => tupleOf(item, minItems + index)))
}

const objectOf = (object: JsonSchema, indent: string) => {
  const { additionalProperties, required } = object
  const inner = `${indent}  `
  const names = Array.isArray(required) ? required : []
  const members = [...membersOf(object)].map(([name, schema]) =>
    `${comment(schema["description"], inner)}${inner}${memberOf(name, typeOf(schema, inner), names.includes(name))}`
  )
  if (members.length > 0) return `{\n${members.join("\n")}\n${indent}}`
  return `Readonly<Record<string, ${
    isSchema(additionalProperties) ? typeOf(additionalProperties, indent) : "unknown"
  }>>`
}

const typeOf = (schema: JsonSchema, indent: string): string => {
  const { $ref, allOf, anyOf, enum: values, oneOf, type } = schema
  if (typeof $ref === "string") return nameOf($ref)
  if (Array.isArray(values)) return union(values.map((value) => JSON.stringify(value)))
  const choices = schemasOf(anyOf ?? oneOf)
  if (choices.length > 0) return union(choices.map((choice) => typeOf(choice, indent)))
  const parts = schemasOf(allOf)
  if (parts.length > 0) return parts.map((part) => typeOf(part, indent)).join(" & ")
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one }, indent)))
  if (type === "array") return arrayOf(schema, indent)
  if (type === "object") return objectOf(schema, indent)
  return PLAIN[String(type)] ?? "unknown"
}

const declarationOf = ([name, schema]: readonly [string, JsonSchema]) => {
  const type = typeOf(schema, "")
  const declaration = type.startsWith("{") ? `export interface ${name} ${type}` : `export type ${name} = ${type}`
  return [`${comment(schema["description"], "")}${declaration}`, ""]
}

const PLACES = [["path", "params"], ["query", "query"], ["header", "headers"]] as const

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>

const JSON_TYPE = "application/json"

const payloadOf = (content: Content) => {
  const schema = content[JSON_TYPE]?.schema
  return schema === undefined ? "FileBody" : typeOf(schema, "      ")
}

/** Parameters of the path are texts, since ids may be numbers. */
const parameterType = ({ in: place, schema }: Operation["parameters"][number]) =>
  place === "path" ? "string | number" : typeOf(schema, "        ")

/** The headers of a file tell its type and its name. */
const FILE_HEADERS = ["Content-Type", "Content-Disposition"].map((name) => ({
  name,
  in: "header" as const,
  required: false,
  description: "Of the file",
  schema: { type: "string" }
}))

const placeOf = ({ parameters, requestBody }: Operation, place: string, member: string) => {
  const isFile = requestBody !== undefined && requestBody.content[JSON_TYPE] === undefined
  const own = [...parameters, ...isFile ? FILE_HEADERS : []].filter((parameter) => parameter.in === place)
  const isRequired = own.some(({ required }) => required)
  const members = own.map((parameter) =>
    `${comment(parameter.description, "        ")}        ${
      memberOf(parameter.name, parameterType(parameter), parameter.required)
    }`
  )
  return own.length === 0
    ? []
    : [
      `      readonly ${member}${isRequired ? "" : "?"}: {`,
      ...members,
      isRequired ? "      }" : "      } | undefined"
    ]
}

const inputOf = (operation: Operation) => {
  const places = PLACES.flatMap(([place, member]) => placeOf(operation, place, member))
  const { requestBody } = operation
  const payload = requestBody === undefined ? [] : [`      readonly payload: ${payloadOf(requestBody.content)}`]
  const members = [...places, ...payload]
  return members.length === 0 ? "{}" : `{\n${members.join("\n")}\n    }`
}

const dataOf = (content: Content = {}) =>
  Object.entries(content).map(([type, { schema }]) => {
    if (/[/+]json$/.test(type)) return typeOf(schema, "    ")
    if (/[/-]ndjson$/.test(type)) return "ReadableStream<Uint8Array<ArrayBuffer>>"
    return /^text\/|[/+]xml$/.test(type) ? "string" : "Uint8Array<ArrayBuffer>"
  })

const resultOf = ({ responses }: Operation) => {
  const contents = Object.entries(responses).filter(([status]) => status.startsWith("2")).flatMap(([, answer]) =>
    "$ref" in answer ? [] : [answer.content]
  )
  return union(contents.flatMap(dataOf)) || "undefined"
}

const endpointOf = ({ operation }: typeof operations[number]) => [
  `${comment(operation.summary, "  ")}  readonly ${JSON.stringify(operation.operationId)}: {`,
  `    readonly input: ${inputOf(operation)}`,
  `    readonly data: ${resultOf(operation)}`,
  "  }"
]

const groups = () => Map.groupBy(operations, ({ operation }) => operation.operationId.split(".")[0] ?? "")

const callOf = ({ method, operation, path }: typeof operations[number]) => {
  const id = JSON.stringify(operation.operationId)
  const name = operation.operationId.split(".")[1] ?? ""
  return `    ${nameOfMember(name)}: call(${id}, ${JSON.stringify(method)}, ${JSON.stringify(path)})`
}

const groupOf = ([name, endpoints]: readonly [string, ReadonlyArray<typeof operations[number]>]) =>
  `  ${name}: {\n${endpoints.map(callOf).join(",\n")}\n  }`

const maxOperations = () => String(membersOf(document.components.schemas["RouteBatch"]).get("operations")?.["maxItems"])

/** Returns the contract as types, and the methods and paths of its endpoints. */
export const clientContract = (): string =>
  [
    HEAD,
    ...Object.entries(document.components.schemas).toSorted(([a], [b]) => a.localeCompare(b)).flatMap(declarationOf),
    "/** By operation id: what an endpoint takes, and what it returns. */",
    "export interface Endpoints {",
    ...operations.flatMap(endpointOf),
    "}",
    "",
    "/** The most operations of a batch. */",
    `export const MAX_OPERATIONS = ${maxOperations()}`,
    "",
    "type Call = <Id extends keyof Endpoints>(",
    "  id: Id,",
    "  method: string,",
    "  path: string",
    ") => Endpoint<Endpoints[Id][\"input\"], Endpoints[Id][\"data\"]>",
    "",
    "export const groupsOf = (call: Call) => ({",
    [...groups()].map(groupOf).join(",\n"),
    "})",
    ""
  ].join("\n")
