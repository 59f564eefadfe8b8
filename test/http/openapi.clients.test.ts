import { assert, describe, it } from "@effect/vitest"
import { document, operations, schemasIn, served } from "../support/OpenApi.ts"

describe("the OpenAPI document for generators of clients", () => {
  it("names what generated clients need a name for: enumerations once, items of lists, no word of a language", () => {
    const { schemas } = document.components
    const names = Object.keys(schemas)
    const taken = new Set(["Change", "Error", "Success", "Failure", "Result", "Object", "String"])
    assert.deepStrictEqual(
      names.filter((name) => taken.has(name) || /(_\d+|Encoded|Inner|Not|Response)$/.test(name)),
      []
    )
    const enumerations = schemasIn(served).flatMap(({ enum: values }) =>
      Array.isArray(values) && values.length > 1 ? [JSON.stringify(values)] : []
    )
    assert.deepStrictEqual(enumerations.filter((values, index) => enumerations.indexOf(values) !== index), [])
    assert.includeMembers(names, ["Activity", "Provenance", "Visibility"])
    const entries = schemas["RouteSort"]?.["x-enum-varnames"]
    assert.isFalse(Array.isArray(entries) && entries.includes("name"))
    const isInline = (part: unknown) => typeof part === "object" && part !== null && "properties" in part
    assert.deepStrictEqual(schemasIn(served).filter(({ items, not }) => isInline(items) || isInline(not)), [])
    const ofResponses = operations.flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap((answer) =>
        "$ref" in answer ? [] : Object.values(answer.content ?? {}).map(({ schema }) => schema)
      )
    )
    assert.deepStrictEqual(ofResponses.filter((schema) => "anyOf" in schema || "oneOf" in schema), [])
  })

  it("offers the bearer token of scripts first, and an example of every body of JSON and of text", () => {
    assert.strictEqual(Object.keys(document.components.securitySchemes)[0], "personalAccessToken")
    const list = operations.find(({ operation }) => operation.operationId === "routes.list")
    assert.deepStrictEqual(Object.keys(list?.operation.security[0] ?? {}), ["personalAccessToken"])
    const bare = operations.flatMap(({ operation: { operationId, requestBody } }) =>
      Object.entries(requestBody?.content ?? {}).filter(([type, { example }]) =>
        /[/+](json|xml)$/.test(type) && example === undefined
      ).map(([type]) => `${operationId} ${type}`)
    )
    assert.deepStrictEqual(bare, [])
  })
})
