import { assert, describe, it, layer } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"
import { signedIn } from "../support/Actors.ts"
import { document, exampleOf, operations, schemasIn, served } from "../support/OpenApi.ts"
import { TestServer } from "../support/TestServer.ts"

/** Returns the example of each content type of a body that is a file, as it is sent. */
const filesOf = (operationId: string) => {
  const found = operations.find(({ operation }) => operation.operationId === operationId)
  return Object.entries(found?.operation.requestBody?.content ?? {}).map(([type, { example, examples }]) => {
    const data = examples?.["file"]?.value
    if (data !== undefined) return { type, raw: new Uint8Array(Buffer.from(data, "base64")) }
    if (typeof example === "string") return { type, raw: example }
    const parts = Object.entries(Object(example)).map(([name, text]) =>
      `--x\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n${text}\r\n`
    )
    return { type: `${type}; boundary=x`, raw: `${parts.join("")}--x--\r\n` }
  })
}

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
    assert.deepStrictEqual(
      enumerations.filter((values, index) => enumerations.indexOf(values) !== index),
      [],
      "http/openapi/Enumerations.ts names an enumeration that is used twice"
    )
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

  it("takes the changes of each kind of operation of a batch, which generators make one class of", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...Object(served), $id: "document" })
    const isOperation = ajv.getSchema("document#/components/schemas/BatchOperation")
    for (
      const operation of [
        { op: "update", id: 12, changes: { name: "x".repeat(200), visibility: "unlisted" } },
        { op: "updateCollection", collectionId: 4, changes: { description: null, routeIds: ["$0"] } },
        { op: "updateLink", routeId: 12, linkId: 9, changes: { expiresAt: null } },
        { op: "updateAccount", changes: { handle: "ada" } }
      ]
    ) assert.isTrue(isOperation?.(operation), operation.op)
    assert.isFalse(isOperation?.({ op: "update", id: 12, changes: { name: 1 } }))
  })

  it("offers the bearer token of scripts first, and an example of every body", () => {
    assert.strictEqual(Object.keys(document.components.securitySchemes)[0], "personalAccessToken")
    const list = operations.find(({ operation }) => operation.operationId === "routes.list")
    assert.deepStrictEqual(Object.keys(list?.operation.security[0] ?? {}), ["personalAccessToken"])
    const bodies = operations.flatMap(({ operation: { operationId, requestBody, responses } }) =>
      [requestBody, ...Object.values(responses)].flatMap((one) =>
        one !== undefined && "content" in one
          ? Object.entries(one.content ?? {}).map(([type, body]) => ({ name: `${operationId} ${type}`, body }))
          : []
      )
    )
    assert.isAbove(bodies.length, 120)
    const bare = bodies.filter(({ body: { example, examples, schema } }) => {
      const [, name = ""] = /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(schema)) ?? []
      return example === undefined && examples === undefined && exampleOf(name) === undefined
    })
    assert.deepStrictEqual(bare.map(({ name }) => name), [])
  })
})

layer(TestServer.layer())("the example of a file", (it) => {
  it.effect("is imported as it is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const files = filesOf("files.import")
      assert.strictEqual(files.length, 10)
      for (const { raw, type } of files) {
        const call = { headers: { "content-type": type }, raw }
        const { status, text } = yield* rider.call("POST", "/routes/import?duplicates=allow", call)
        assert.strictEqual(status, 201, `${type}: ${text}`)
      }
      for (const { raw, type } of filesOf("accountData.import")) {
        const call = { headers: { "content-type": type }, raw }
        const { text } = yield* rider.call("POST", "/users/me/import?duplicates=allow", call)
        assert.include(text, "\"imported\":1")
      }
    }))
})
