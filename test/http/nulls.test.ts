import { assert, describe, it } from "@effect/vitest"
import { Predicate, Schema } from "effect"
import { Api } from "../../src/http/api/Api.ts"
import { TraceRequest } from "../../src/schema/Routing.ts"
import { document, exampleOf, nameOf, operations } from "../support/OpenApi.ts"

type Node = Readonly<Record<string, unknown>>

/** Such a member of a body need not be there, by the schema that has it. */
interface Member {
  readonly owner: string
  readonly name: string
  readonly isNullable: boolean
}

const isNode = (value: unknown): value is Node => Predicate.isObject(value) && !Array.isArray(value)

const nodesIn = (value: unknown): ReadonlyArray<Node> => Array.isArray(value) ? value.filter(isNode) : []

const targetOf = (node: Node): Node => {
  const name = nameOf(String(node["$ref"] ?? ""))
  return document.components.schemas[name] ?? node
}

const alternativesOf = (
  node: Node
): ReadonlyArray<Node> => [...nodesIn(node["anyOf"]), ...nodesIn(node["oneOf"]), ...nodesIn(node["allOf"])]

const isNullable = (node: Node): boolean => {
  const target = targetOf(node)
  return target["type"] === "null" || (Array.isArray(target["type"]) && target["type"].includes("null"))
    || alternativesOf(target).some(isNullable)
}

/** Returns every optional member of a body, however deep, with its owner named by the schema or by the path to it. */
const optionalIn = (node: Node, at: string): ReadonlyArray<Member> => {
  const target = targetOf(node)
  const owner = target === node ? at : nameOf(String(node["$ref"]))
  const required = Array.isArray(target["required"]) ? target["required"] : []
  const members = isNode(target["properties"]) ? Object.entries(target["properties"]) : []
  return [
    ...alternativesOf(target).flatMap((each) => optionalIn(each, owner)),
    ...(isNode(target["items"]) ? optionalIn(target["items"], `${owner}[]`) : []),
    ...members
      .filter(([name]) => !required.includes(name))
      .map(([name, member]) => ({ owner, name, isNullable: isNode(member) && isNullable(member) })),
    ...members.flatMap(([name, member]) => isNode(member) ? optionalIn(member, `${owner}.${name}`) : [])
  ]
}

const bodies = operations.flatMap(({ method, operation }) => {
  const schema = operation.requestBody?.content["application/json"]?.schema
  return schema === undefined ? [] : [{ method, name: nameOf(String(schema["$ref"])), schema }]
})

/** No payload of the contract needs a service to be decoded. */
const isCodec = (schema: unknown): schema is Schema.Codec<unknown> => Schema.isSchema(schema)

const payloads = Object.values(Api.groups)
  .flatMap((group) => Object.values(group.endpoints))
  .flatMap(({ payload }) => Array.from(payload.values(), ({ schemas }): ReadonlyArray<unknown> => schemas).flat())
  .filter(isCodec)

const payloadOf = (name: string) =>
  payloads.find((schema) => Schema.resolveAnnotations(schema)?.["identifier"] === name)

/** Returns the example with `null` for whatever it may leave out, beside the example without those. */
const withNulls = (schema: Node, value: unknown): unknown => {
  const target = targetOf(schema)
  if (Array.isArray(value)) {
    return value.map((each) => isNode(target["items"]) ? withNulls(target["items"], each) : each)
  }
  if (!isNode(value)) return value
  const shape = [target, ...alternativesOf(target).map(targetOf)].find((each) => isNode(each["properties"]))
  const properties = shape !== undefined && isNode(shape["properties"]) ? shape["properties"] : {}
  const absent = Object.keys(properties).filter((name) => !(name in value))
  return {
    ...Object.fromEntries(absent.map((name) => [name, null])),
    ...Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const inner = properties[name]
        return [name, isNode(inner) ? withNulls(inner, member) : member]
      })
    )
  }
}

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isNode(value)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== null).map(([name, member]) => [name, withoutNulls(member)])
  )
}

describe("null in a request's body", () => {
  it("is taken for every optional member, but for what a PATCH could not clear", () => {
    // `BatchOperation` has the members of its variants, which say for themselves what may be null.
    const members = bodies.flatMap(({ name, schema }) => optionalIn(schema, name))
      .filter(({ owner }) => owner !== "BatchOperation")
    assert.isAbove(members.length, 60)
    const refused = members.filter((member) => !member.isNullable).map(({ name, owner }) => `${owner}.${name}`)
    assert.deepStrictEqual([...new Set(refused)].toSorted(), [
      "BatchCollectionPatch.name",
      "BatchCollectionPatch.visibility",
      "CollectionPatch.name",
      "CollectionPatch.visibility",
      "ProfilePatch.handle",
      "ProfilePatch.name",
      "RoutePatch.name",
      "RoutePatch.provenance",
      "RoutePatch.visibility",
      "RoutePatch.waypoints",
      "ShareLinkPatch.allowDownload"
    ])
  })

  it("is the same as an absent member in every body that is not a change", () => {
    const made = bodies.filter(({ method, name }) => method !== "PATCH" && exampleOf(name) !== undefined)
    const tried = made.map(({ name, schema }) => {
      const payload = payloadOf(name)
      assert.isDefined(payload, name)
      const decode = Schema.decodeUnknownSync(Schema.toCodecJson(payload))
      const body = exampleOf(name)
      assert.deepStrictEqual(withoutNulls(decode(withNulls(schema, body))), withoutNulls(decode(body)), name)
      return name
    })
    assert.includeMembers(tried, [
      "RouteInput",
      "RoutingRequest",
      "TraceRequest",
      "ProviderCredential",
      "CollectionInput"
    ])
  })

  it("is the same as no activity for a trace: cycling", () => {
    const decode = Schema.decodeUnknownSync(TraceRequest)
    const shape = [{ lat: 47.1, lon: 9.5 }, { lat: 47.2, lon: 9.5 }]
    const ride = { activity: "cycle", shape }
    const nulls = { activity: null, preferences: null, encodedPolyline: null }
    const withTimes = shape.map((point) => ({ ...point, time: null }))
    assert.deepStrictEqual<unknown>(decode({ shape }), ride)
    assert.deepStrictEqual<unknown>(decode({ ...nulls, shape: withTimes }), ride)
    assert.throws(() => decode({ ...nulls, shape: null }))
  })
})
