import { Context, Schema } from "effect"
import { HttpMethod } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { Api } from "../src/http/api/Api.ts"
import { BodyLimit } from "../src/http/api/Requests.ts"
import { isSchema, type JsonSchema, membersOf } from "../test/support/OpenApi.ts"

/** A request with a body of the largest size that its endpoint takes. */
export interface Hostile {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly type: string
  /** The body is made when it is sent: all bodies together have more than a gigabyte. */
  readonly body: () => Buffer
  /** The service reads this many bytes of it once it is unpacked. */
  readonly unpacked?: number
}

const schemasOf = (value: unknown) => Array.isArray(value) ? value.filter(isSchema) : []

/** This text of JSON replaces what the schema says at a place of a body, such as `waypoints.0.name`. */
interface Filling {
  readonly path: string
  readonly json: () => string
}

const below = (path: string, name: string) => path === "" ? name : `${path}.${name}`

const repeated = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(",")}]`

const numberOf = (value: unknown, otherwise: number) => typeof value === "number" ? value : otherwise

/** Returns an object of numbered members that fills this many bytes. */
const membersFor = (bytes: number) =>
  `{${Array.from({ length: Math.floor(bytes / 13) }, (_, n) => `"m${String(n).padStart(7, "0")}":0`).join(",")}}`

/** Returns a text of JSON with this many characters, each of them escaped. */
const escaped = (length: number) => JSON.stringify("\\".repeat(length))

/** Returns bodies of one schema with each array, text and object at its largest, in this many bytes. */
const bodiesOf = (schema: Schema.Constraint, bytes: number) => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)

  const resolved = (schema: JsonSchema): JsonSchema => {
    const { $ref: reference, anyOf } = schema
    if (typeof reference === "string") {
      return resolved(definitions[reference.slice(reference.lastIndexOf("/") + 1)] ?? {})
    }
    const choice = schemasOf(anyOf).find(({ type }) => type !== "null")
    return choice === undefined ? schema : resolved(choice)
  }

  /** Returns the least that the schema needs with a filling at its place, or all of its members at their largest. */
  const sample = (schema: JsonSchema, path = "", filling?: Filling, isWhole = false): string => {
    if (filling?.path === path) return filling.json()
    const known = resolved(schema)
    if (Array.isArray(known["enum"])) return JSON.stringify(known["enum"][0])
    switch (known["type"]) {
      case "object":
        return objectSample(known, path, filling, isWhole)
      case "array":
        return arraySample(known, path, filling)
      case "string":
        return JSON.stringify("a".repeat(numberOf(known[isWhole ? "maxLength" : "minLength"], 12)))
      case "boolean":
        return "true"
      default:
        return String(numberOf(known["minimum"], 1.234567))
    }
  }

  const objectSample = (schema: JsonSchema, path: string, filling: Filling | undefined, isWhole: boolean) => {
    const required = Array.isArray(schema["required"]) ? schema["required"] : []
    const isOnWay = (name: string) => filling?.path.startsWith(below(path, name)) === true
    const members = [...membersOf(schema)]
      .filter(([name]) => isWhole || required.includes(name) || isOnWay(name))
      .map(([name, member]) => `${JSON.stringify(name)}:${sample(member, below(path, name), filling, isWhole)}`)
    const extra = filling?.path === below(path, "ignored") ? [`"ignored":${filling.json()}`] : []
    return `{${[...members, ...extra].join(",")}}`
  }

  const arraySample = ({ items, minItems, prefixItems }: JsonSchema, path: string, filling?: Filling) => {
    const tuple = schemasOf(prefixItems)
    if (tuple.length > 0) return `[${tuple.map((item) => sample(item)).join(",")}]`
    const item = sample(isSchema(items) ? items : {}, below(path, "0"), filling)
    return repeated(Math.max(1, numberOf(minItems, 1)), item)
  }

  /** Returns a valid array with the largest number of items. */
  const full = ({ items, maxItems, prefixItems }: JsonSchema) => {
    const tuple = schemasOf(prefixItems).map((item) => sample(item, "", undefined, true))
    const item = isSchema(items) ? sample(items, "", undefined, true) : "0"
    const more = Math.max(0, numberOf(maxItems, 1000) - tuple.length)
    return `[${[...tuple, ...Array.from({ length: more }, () => item)].join(",")}]`
  }

  const filled = (item: string) => repeated(Math.floor(bytes / (item.length + 1)), item)

  const jsonFor = (schema: JsonSchema): Readonly<Record<string, () => string>> => {
    const { maxItems, maxLength, type } = schema
    switch (type) {
      case "array":
        return {
          "as long as it may be": () => full(schema),
          "as long, of {}": () => repeated(Math.min(numberOf(maxItems, 1000), Math.floor(bytes / 3)), "{}"),
          "{} to the limit": () => filled("{}"),
          "1 to the limit": () => filled("1")
        }
      case "string":
        return {
          ...(typeof maxLength === "number" ? { "as long as it may be": () => escaped(maxLength) } : {}),
          "a text to the limit": () => escaped(Math.floor(bytes / 2))
        }
      case "object":
        return {
          "with all members": () => sample(schema, "", undefined, true),
          "members to the limit": () => membersFor(bytes)
        }
      default:
        return {}
    }
  }

  const bodiesAt = (path: string, jsons: Readonly<Record<string, () => string>>) =>
    Object.entries(jsons).map(([name, json]) => ({
      name: `${path}: ${name}`,
      body: () => Buffer.from(sample(root, "", { path, json }))
    }))

  const bodiesBelow = (schema: JsonSchema, path = ""): ReturnType<typeof bodiesAt> => {
    const known = resolved(schema)
    const { items, type } = known
    return [
      ...(path === "" && type === "object" ? [] : bodiesAt(path, jsonFor(known))),
      ...[...membersOf(known)].flatMap(([name, member]) => bodiesBelow(member, below(path, name))),
      ...(isSchema(items) ? bodiesBelow(items, below(path, "0")) : [])
    ]
  }

  const levels = Math.floor(bytes / 2)
  return [
    ...bodiesBelow(root),
    ...bodiesAt("ignored", {
      "{} to the limit": () => filled("{}"),
      "levels to the limit": () => "[".repeat(levels) + "]".repeat(levels),
      "members to the limit": () => membersFor(bytes)
    })
  ]
}

const ROOM = 2048

const endpointBodies = (endpoint: HttpApiEndpoint.Top, path: string): ReadonlyArray<Hostile> => {
  const { annotations, method, path: template, payload } = endpoint
  const schema: Schema.Constraint | undefined = payload.get("application/json")?.schemas[0]
  if (!HttpMethod.hasBody(method) || schema === undefined) return []
  return bodiesOf(schema, Context.get(annotations, BodyLimit) - ROOM).map(({ body, name }) => ({
    name: `${method} ${template.replace("/api/v1", "")} ${name}`,
    method,
    path,
    type: "application/json",
    body
  }))
}

/** Returns bodies of each endpoint with arrays, texts, objects and an ignored member at their largest, valid and invalid. */
export const jsonBodies = (pathOf: (endpoint: HttpApiEndpoint.Top) => string): ReadonlyArray<Hostile> =>
  Object.values(Api.groups).flatMap((group) =>
    Object.values(group.endpoints).flatMap((endpoint) => endpointBodies(endpoint, pathOf(endpoint)))
  )
