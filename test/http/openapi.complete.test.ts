import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import { COMMON_HEADERS } from "../../src/http/openapi/Headers.ts"
import { document, membersOf, operations, schemasIn, served } from "../support/OpenApi.ts"

const byId = new Map(operations.map(({ operation }) => [operation.operationId, operation]))

const answersOf = (id: string) => Object.keys(byId.get(id)?.responses ?? {}).map(Number)

describe("the OpenAPI document is complete: it", () => {
  it("has every status that the type of a handler allows, but those of a body where there is none", () => {
    const statusesOf = (errors: Iterable<Schema.Top>) =>
      [...errors].map((error) => Schema.resolveAnnotations(error)?.httpApiStatus ?? 500)
    const ofBodies = [400, 408, 413, 415, 429, 503]
    const undocumented: Array<string> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, group, middleware }) => {
        const id = `${group.identifier}.${endpoint.identifier}`
        const allowed = [...statusesOf(endpoint.error), ...[...middleware].flatMap(({ error }) => statusesOf(error))]
        // The scope of a token that may read is refused nowhere.
        const impossible = new Set([...endpoint.payload.size === 0 ? ofBodies : [], 403])
        const documented = answersOf(id)
        const missing = allowed.filter((status) => !documented.includes(status) && !impossible.has(status))
        undocumented.push(...missing.map((status) => `${id} ${status}`))
        if (endpoint.params !== undefined) assert.include(documented, 404, id)
        if (endpoint.path.startsWith("/api/v1/")) assert.include(documented, 400, id)
      }
    })
    assert.deepStrictEqual(undocumented, [])
  })

  it("describes every body, every member and every parameter, none by the words of another", () => {
    const isMute = (words: unknown) => typeof words !== "string" || words === "" || words.includes("undefined")
    const bodies = Object.entries(document.components.schemas)
    assert.deepStrictEqual(bodies.filter(([, schema]) => isMute(schema["description"])).map(([name]) => name), [])
    const members = bodies.flatMap(([body, schema]) =>
      schemasIn(schema).flatMap((part) =>
        [...membersOf(part)].map(([name, member]) => ({ name: `${body}.${name}`, member }))
      )
    )
    const mute = members.filter(({ member }) => !("$ref" in member) && isMute(member["description"]))
    assert.deepStrictEqual(mute.map(({ name }) => name), [])
    const parameters = operations.flatMap(({ operation }) =>
      operation.parameters.map(({ description, name }) => ({ name: `${operation.operationId} ${name}`, description }))
    )
    assert.deepStrictEqual(parameters.filter(({ description }) => isMute(description)), [])
    const saying = (words: RegExp) =>
      members.filter(({ member }) => words.test(String(member["description"]))).map(({ name }) => name)
    assert.deepStrictEqual(saying(/authorization code/), ["ProviderCredentialByCode.code"])
    assert.deepStrictEqual(new Set(saying(/^The surface/)), new Set(["TraceAnswer.surface"]))
  })

  it("has formats of JSON Schema and OpenAPI, and its own for a polyline and a box", () => {
    const formats = new Set(
      schemasIn(served).flatMap(({ format }) => typeof format === "string" ? [format] : [])
    )
    assert.deepStrictEqual(
      [...formats].toSorted(),
      ["bbox", "binary", "date-time", "double", "email", "int32", "int64", "polyline6", "uri", "uuid"]
    )
  })

  it("has the headers of every response: of all, of those with a session or a limit, and its own", () => {
    const names = (id: string, status: string) => {
      const answer = byId.get(id)?.responses[status] ?? { description: "" }
      const named = "$ref" in answer ? document.components.responses[answer.$ref.split("/").at(-1) ?? ""] : answer
      return Object.keys(named?.headers ?? {})
    }
    for (const { operation } of operations) {
      for (const status of Object.keys(operation.responses)) {
        assert.includeMembers(
          names(operation.operationId, status),
          [...COMMON_HEADERS],
          `${operation.operationId} ${status}`
        )
      }
    }
    for (const status of ["400", "401", "404", "409", "428", "429", "500", "503"]) {
      assert.includeMembers(names("routes.update", status), [
        "RateLimit",
        "RateLimit-Policy",
        "X-Access-Token",
        "Set-Cookie"
      ])
    }
    assert.includeMembers(names("files.import", "201"), ["ETag", "Location"])
    assert.includeMembers(names("auth.logOut", "200"), ["Set-Cookie"])
    assert.includeMembers(names("routes.get", "304"), ["ETag", "RateLimit"])
    assert.includeMembers(names("routes.get", "503"), ["Retry-After"])
  })
})
