import { Context, Schema } from "effect"
import { HttpMethod } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { Api } from "../src/http/api/Api.ts"
import { BodyLimit } from "../src/http/api/Requests.ts"

/** A request with a body that is as large as its endpoint takes. */
export interface Hostile {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly type: string
  /** Made when it is sent: all of them at once have more than a gigabyte. */
  readonly body: () => Buffer
  /** The service reads so many bytes of it once it is unpacked. */
  readonly unpacked?: number
}

type JsonSchema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const schemasOf = (value: unknown) => Array.isArray(value) ? value.filter(isSchema) : []

const membersOf = (schema: JsonSchema) =>
  isSchema(schema["properties"])
    ? Object.entries(schema["properties"]).flatMap(([name, member]) =>
      isSchema(member) ? [[name, member] as const] : []
    )
    : []

type Path = ReadonlyArray<string>

/** This text of JSON replaces what the schema says in a body. It is made when it is sent. */
interface Filling {
  readonly path: Path
  readonly json: () => string
}

type PlaceType = "array" | "object" | "string"

const repeated = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(",")}]`

const numberOf = (value: unknown, otherwise: number) => typeof value === "number" ? value : otherwise

/** Bodies of one schema. */
class Bodies {
  private readonly definitions: JsonSchema
  private readonly root: JsonSchema

  constructor(schema: Schema.Constraint) {
    const document = Schema.toJsonSchemaDocument(schema)
    this.definitions = document.definitions
    this.root = this.resolved(document.schema)
  }

  /** The least that the schema needs, with a filling where it belongs. */
  text(filling?: Filling): string {
    return this.sample(this.root, [], filling)
  }

  /** An array, an object or a text may stand at this place of this schema. */
  places(type: PlaceType): ReadonlyArray<readonly [path: Path, schema: JsonSchema]> {
    return this.placesIn(this.root, [], type)
  }

  /** An array with as many items as it may have, each of them right. */
  full(schema: JsonSchema): string {
    const tuple = schemasOf(schema["prefixItems"])
    const items = isSchema(schema["items"]) ? this.sample(schema["items"], [], undefined, true) : "0"
    const more = Math.max(0, numberOf(schema["maxItems"], 1000) - tuple.length)
    const parts = tuple.map((item) => this.sample(item, [], undefined, true))
    return `[${[...parts, ...Array.from({ length: more }, () => items)].join(",")}]`
  }

  /** An object with all its members, each of them at its largest. */
  whole(schema: JsonSchema): string {
    return this.sample(schema, [], undefined, true)
  }

  private resolved(schema: JsonSchema): JsonSchema {
    const reference = schema["$ref"]
    if (typeof reference === "string") {
      const found = this.definitions[reference.slice(reference.lastIndexOf("/") + 1)]
      return isSchema(found) ? this.resolved(found) : {}
    }
    const choice = schemasOf(schema["anyOf"]).find((choice) => choice["type"] !== "null")
    return choice === undefined ? schema : this.resolved(choice)
  }

  private placesIn(
    schema: JsonSchema,
    path: Path,
    type: PlaceType
  ): ReadonlyArray<readonly [path: Path, schema: JsonSchema]> {
    const known = this.resolved(schema)
    const items = isSchema(known["items"]) ? this.placesIn(known["items"], [...path, "0"], type) : []
    return [
      ...(known["type"] === type ? [[path, known] as const] : []),
      ...membersOf(known).flatMap(([name, member]) => this.placesIn(member, [...path, name], type)),
      ...items
    ]
  }

  private sample(schema: JsonSchema, path: Path, filling: Filling | undefined, isWhole = false): string {
    if (filling !== undefined && filling.path.join(".") === path.join(".")) return filling.json()
    const known = this.resolved(schema)
    if (Array.isArray(known["enum"])) return JSON.stringify(known["enum"][0])
    switch (known["type"]) {
      case "object":
        return this.objectSample(known, path, filling, isWhole)
      case "array":
        return this.arraySample(known, path, filling)
      case "string":
        return JSON.stringify("a".repeat(isWhole ? numberOf(known["maxLength"], 12) : numberOf(known["minLength"], 12)))
      case "boolean":
        return "true"
      default:
        return String(numberOf(known["minimum"], 1.234567))
    }
  }

  private objectSample(schema: JsonSchema, path: Path, filling: Filling | undefined, isWhole: boolean) {
    const required = Array.isArray(schema["required"]) ? schema["required"] : []
    const isOnWay = (name: string) => filling?.path.join(".").startsWith([...path, name].join(".")) === true
    const members = membersOf(schema)
      .filter(([name]) => isWhole || required.includes(name) || isOnWay(name))
      .map(([name, member]) => `${JSON.stringify(name)}:${this.sample(member, [...path, name], filling, isWhole)}`)
    const extra = filling?.path.join(".") === [...path, "ignored"].join(".") ? [`"ignored":${filling.json()}`] : []
    return `{${[...members, ...extra].join(",")}}`
  }

  private arraySample(schema: JsonSchema, path: Path, filling: Filling | undefined) {
    const tuple = schemasOf(schema["prefixItems"])
    if (tuple.length > 0) return `[${tuple.map((item) => this.sample(item, [], undefined)).join(",")}]`
    const items = isSchema(schema["items"]) ? schema["items"] : {}
    return repeated(Math.max(1, numberOf(schema["minItems"], 1)), this.sample(items, [...path, "0"], filling))
  }
}

/** An object of numbered members that fills so many bytes. */
const membersFor = (bytes: number) =>
  `{${Array.from({ length: Math.floor(bytes / 13) }, (_, n) => `"m${String(n).padStart(7, "0")}":0`).join(",")}}`

type Named = readonly [name: string, filling: Filling]

/** A text of JSON of so many characters, each of them escaped. */
const escaped = (length: number) => JSON.stringify("\\".repeat(length))

const arrayFillings = (bodies: Bodies, bytes: number, filled: (item: string) => string) =>
  bodies.places("array").flatMap(([path, schema]): ReadonlyArray<Named> => {
    const most = numberOf(schema["maxItems"], 1000)
    const name = path.join(".")
    return [
      [`${name}: as long as it may be`, { path, json: () => bodies.full(schema) }],
      [`${name}: as long, of {}`, { path, json: () => repeated(Math.min(most, Math.floor(bytes / 3)), "{}") }],
      [`${name}: {} to the limit`, { path, json: () => filled("{}") }],
      [`${name}: 1 to the limit`, { path, json: () => filled("1") }]
    ]
  })

const textFillings = (bodies: Bodies, bytes: number) =>
  bodies.places("string").flatMap(([path, schema]): ReadonlyArray<Named> => {
    const name = path.join(".")
    const most = schema["maxLength"]
    const limit: Named = [`${name}: a text to the limit`, { path, json: () => escaped(Math.floor(bytes / 2)) }]
    if (typeof most !== "number") return [limit]
    return [[`${name}: as long as it may be`, { path, json: () => escaped(most) }], limit]
  })

const objectFillings = (bodies: Bodies, bytes: number) =>
  bodies.places("object").flatMap(([path, schema]): ReadonlyArray<Named> => {
    if (path.length === 0) return []
    return [
      [`${path.join(".")}: with all members`, { path, json: () => bodies.whole(schema) }],
      [`${path.join(".")}: members to the limit`, { path, json: () => membersFor(bytes) }]
    ]
  })

const fillingsOf = (bodies: Bodies, bytes: number): ReadonlyArray<Named> => {
  const filled = (item: string) => repeated(Math.floor(bytes / (item.length + 1)), item)
  const levels = Math.floor(bytes / 2)
  return [
    ...arrayFillings(bodies, bytes, filled),
    ...textFillings(bodies, bytes),
    ...objectFillings(bodies, bytes),
    ["ignored: {} to the limit", { path: ["ignored"], json: () => filled("{}") }],
    ["ignored: levels to the limit", { path: ["ignored"], json: () => "[".repeat(levels) + "]".repeat(levels) }],
    ["ignored: members to the limit", { path: ["ignored"], json: () => membersFor(bytes) }]
  ]
}

const ROOM = 2048

const endpointBodies = (endpoint: HttpApiEndpoint.Top, path: string): ReadonlyArray<Hostile> => {
  const schema: Schema.Constraint | undefined = endpoint.payload.get("application/json")?.schemas[0]
  if (!HttpMethod.hasBody(endpoint.method) || schema === undefined) return []
  const bodies = new Bodies(schema)
  const limit = Context.get(endpoint.annotations, BodyLimit)
  return fillingsOf(bodies, limit - ROOM).map(([name, filling]) => ({
    name: `${endpoint.method} ${endpoint.path.replace("/api/v1", "")} ${name}`,
    method: endpoint.method,
    path,
    type: "application/json",
    body: () => Buffer.from(bodies.text(filling))
  }))
}

/** For every endpoint that takes JSON: each array, text and object and an ignored member, at their largest, right and wrong. */
export const jsonBodies = (pathOf: (endpoint: HttpApiEndpoint.Top) => string): ReadonlyArray<Hostile> =>
  Object.values(Api.groups).flatMap((group) =>
    Object.values(group.endpoints).flatMap((endpoint) => endpointBodies(endpoint, pathOf(endpoint)))
  )
