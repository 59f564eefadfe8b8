import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { HttpApi } from "effect/http-api"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Api } from "../../src/http/api/Api.ts"
import { errorExamples } from "../../src/http/openapi/Bodies.ts"
import { COMMON_HEADERS } from "../../src/http/openapi/Headers.ts"
import { ServiceError } from "../../src/schema/Errors.ts"
import { FILE_FORMATS } from "../../src/schema/Import.ts"
import { apiReference } from "../../tools/ApiReference.ts"
import { authorization, scopeIn, shapeOf } from "../support/AuthorizationTable.ts"
import {
  document,
  exampleOf,
  type JsonSchema,
  membersOf,
  type Operation,
  operations,
  schemasIn,
  served,
  typesOf
} from "../support/OpenApi.ts"

const REFERENCE = join(import.meta.dirname, "../../docs/api.md")

const byId = new Map(operations.map(({ operation }) => [operation.operationId, operation]))

const answersOf = (id: string) => Object.keys(byId.get(id)?.responses ?? {}).map(Number)

const headersOf = (id: string, status: string) => {
  const answer = byId.get(id)?.responses[status] ?? { description: "" }
  const common: ReadonlyArray<string> = COMMON_HEADERS
  return Object.keys("$ref" in answer ? {} : answer.headers ?? {}).filter((name) => !common.includes(name)).toSorted()
}

const scopeOf = ({ security }: Operation) =>
  security.find((scheme) => "personalAccessToken" in scheme)?.["personalAccessToken"]?.[0] ?? "none"

const isForAnybody = ({ security }: Operation) =>
  security.length === 0 || security.some((scheme) => Object.keys(scheme).length === 0)

describe("the OpenAPI document", () => {
  it("has every endpoint of the contract, each with a name of its own and words", () => {
    const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))
    assert.strictEqual(operations.length, endpoints.length)
    assert.strictEqual(new Set(operations.map(({ operation }) => operation.summary)).size, operations.length)
    const wordless = operations.filter(({ operation: { description, summary } }) =>
      summary === "" || summary.length > 60 || description.startsWith("\n")
    )
    assert.deepStrictEqual(wordless, [])
  })

  it("has the credentials of the measured table of callers, and its 401 and 403", () => {
    const table = authorization()
    const measured = operations.map(({ method, operation, path }) => {
      const callers = table.get(`${method} ${shapeOf(path)}`) ?? {}
      const verdicts = new Set(Object.values(callers))
      const isPublic = callers["anonymous"] === "yes"
      return {
        id: operation.operationId,
        isForAnybody: isPublic,
        scope: isPublic && operation.security.length === 0 ? "none" : scopeIn(callers),
        refusals: [401, 403].filter((status) => verdicts.has(String(status)))
      }
    })
    // Sign-in refuses what its body says, and files a link without downloads; no credential of a caller is meant.
    const ownRefusals: Readonly<Record<string, ReadonlyArray<number>>> = {
      "auth.google": [401],
      "auth.logIn": [401],
      ...Object.fromEntries(FILE_FORMATS.map((format) => [`files.${format}`, [403]]))
    }
    const documented = operations.map(({ operation }) => ({
      id: operation.operationId,
      isForAnybody: isForAnybody(operation),
      scope: scopeOf(operation),
      refusals: [401, 403].filter((status) =>
        answersOf(operation.operationId).includes(status) && !ownRefusals[operation.operationId]?.includes(status)
      )
    }))
    assert.deepStrictEqual(documented, measured)
  })

  it("has the required scope and the limit in numbers and in words", () => {
    const facts = (id: string) => {
      const operation = byId.get(id)
      return [operation?.["x-required-scope"], operation?.["x-rate-limit"]?.limit, operation?.["x-rate-limit"]?.tier]
    }
    assert.deepStrictEqual(
      ["auth.logIn", "users.requestDeletion", "routes.list", "routes.create", "tokens.mint", "health.ready"].map(facts),
      [
        [undefined, 5, "auth"],
        [undefined, 10, "strict"],
        ["read", 60, "moderate"],
        ["write", 60, "moderate"],
        [undefined, 10, "strict"],
        [undefined, undefined, undefined]
      ]
    )
    assert.include(
      byId.get("routes.list")?.description,
      "personal access token with scope `read`. At most 60 requests a minute"
    )
    assert.include(
      byId.get("tokens.mint")?.description,
      "personal access tokens are refused. At most 10 requests a minute"
    )
  })

  it("limits the profile, routes, collections, invitations and the routing proxy to 60 a minute, other reads to 300", () => {
    const idsOf = (tier: string) =>
      operations.filter(({ operation }) => operation["x-rate-limit"]?.tier === tier).map(({ operation }) =>
        operation.operationId
      ).toSorted()
    assert.deepStrictEqual(idsOf("moderate"), [
      "admin.invite",
      "collections.addRoute",
      "collections.create",
      "collections.emptyTrash",
      "collections.get",
      "collections.list",
      "collections.purge",
      "collections.remove",
      "collections.removeRoute",
      "collections.restore",
      "collections.routes",
      "collections.setRoutes",
      "collections.update",
      "files.fit",
      "files.geojson",
      "files.gpx",
      "files.import",
      "files.kml",
      "files.tcx",
      "links.changeOfCollection",
      "links.changeOfRoute",
      "links.createForCollection",
      "links.createForRoute",
      "links.listOfCollection",
      "links.listOfRoute",
      "links.removeOfCollection",
      "links.removeOfRoute",
      "links.replaceCollectionShareToken",
      "links.replaceRouteShareToken",
      "routes.create",
      "routes.emptyTrash",
      "routes.get",
      "routes.list",
      "routes.profile",
      "routes.purge",
      "routes.remove",
      "routes.restore",
      "routes.update",
      "routing.elevation",
      "routing.route",
      "routing.traceAttributes",
      "users.me",
      "users.privacyZones",
      "users.profile",
      "users.setPrivacyZones",
      "users.update"
    ])
    const byDefault = [
      "routes.listPublic",
      "routes.listByUser",
      "routes.listDeleted",
      "collections.listByUser",
      "users.publicProfile",
      "users.cancelDeletion"
    ]
    assert.includeMembers(idsOf("default"), byDefault)
  })

  it("has the default page of every list", () => {
    for (const id of ["routes.listByUser", "collections.listByUser", "collections.routes"]) {
      const { description = "", parameters = [] } = byId.get(id) ?? {}
      assert.include(description, "`limit` (1 to 200, default 100) from `offset`", id)
      assert.include(description, "`X-Total-Count`", id)
      assert.includeMembers(parameters.map(({ name }) => name), ["limit", "offset"])
      assert.includeMembers(headersOf(id, "200"), ["Link", "X-Total-Count"])
    }
  })

  it("has each response of an operation, and no other", () => {
    assert.deepStrictEqual(
      ["routes.update", "routes.get", "routes.listPublic", "users.me", "routing.route", "health.live"].map(answersOf),
      [
        [200, 400, 401, 403, 404, 408, 409, 413, 415, 428, 429, 500, 503],
        [200, 304, 400, 401, 404, 429, 500, 503],
        [200, 304, 400, 429, 500, 503],
        [200, 400, 401, 429, 500, 503],
        [200, 400, 404, 408, 413, 415, 429, 500, 502, 503, 504],
        [200, 400, 500, 503]
      ]
    )
    assert.deepStrictEqual(headersOf("routes.create", "201"), [
      "ETag",
      "Location",
      "RateLimit",
      "RateLimit-Policy",
      "Set-Cookie",
      "X-Access-Token",
      "X-Ignored-Members",
      "X-Token-Expires-At"
    ])
    assert.deepStrictEqual(headersOf("routes.listPublic", "200"), [
      "ETag",
      "Link",
      "RateLimit",
      "RateLimit-Policy",
      "Set-Cookie",
      "X-Total-Count"
    ])
    assert.deepStrictEqual(headersOf("routing.route", "200"), [
      "RateLimit",
      "RateLimit-Policy",
      "Set-Cookie",
      "X-Cache",
      "X-Ignored-Members"
    ])
    assert.deepStrictEqual(headersOf("files.gpx", "200").slice(0, 2), ["Content-Disposition", "ETag"])
    assert.containsAllKeys(document.components.responses["RateLimited"]?.headers, ["Retry-After", "RateLimit"])
  })

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

  it("has bounds and units of numbers in a query, and the format of instants", () => {
    const parameters = byId.get("routes.listPublic")?.parameters ?? []
    const find = (name: string) => parameters.find((parameter) => parameter.name === name)
    assert.deepStrictEqual(find("limit")?.schema, { type: "integer", format: "int32", minimum: 1, maximum: 200 })
    assert.strictEqual(find("minDistance")?.description, "Metres")
    assert.deepInclude(document.components.schemas["Route"]?.["properties"], {
      distance: { type: "number", format: "double", description: "Metres" },
      duration: { type: "number", format: "double", description: "Seconds" },
      createdAt: { type: "string", format: "date-time", description: "When it was made" }
    })
  })

  it("has the accepted texts of every text in a query", () => {
    const texts = operations.flatMap(({ operation: { operationId, parameters } }) =>
      parameters.filter((parameter) => parameter.in === "query" && parameter.schema["type"] === "string")
        .map(({ name, schema }) => ({ text: `${operationId} ${name}`, schema }))
    )
    const isBounded = ({ schema }: { readonly schema: JsonSchema }) =>
      ["enum", "format", "pattern"].some((key) => key in schema)
    assert.deepStrictEqual(texts.filter((text) => !isBounded(text)), [])
    const include = texts.find(({ text }) => text.endsWith(" include"))
    assert.deepStrictEqual(include?.schema["enum"], [
      "routes",
      "collections",
      "routes,collections",
      "collections,routes",
      "everything"
    ])
  })

  it("keeps every digit in generated clients: each number has a format, each array its items", () => {
    const schemas = schemasIn(served)
    const without = (type: string, member: string) =>
      schemas.filter((schema) => typesOf(schema).includes(type) && !(member in schema))
    assert.isAbove(schemas.length, 500)
    assert.deepStrictEqual(without("number", "format"), [])
    assert.deepStrictEqual(without("integer", "format"), [])
    assert.deepStrictEqual(without("array", "items"), [])
    assert.deepStrictEqual(
      schemas.filter((schema) => schema["type"] === "integer" && schema["maximum"] === Number.MAX_SAFE_INTEGER)
        .filter(({ format }) => format !== "int64"),
      []
    )
  })

  it("names no body as a generated constructor is named, and has no words of its framework", () => {
    assert.deepStrictEqual(Object.keys(document.components.schemas).filter((name) => name.startsWith("New")), [])
    assert.notInclude(JSON.stringify(served), "\"x-effect")
    assert.deepStrictEqual(
      schemasIn(served).filter((schema) => schema["type"] === "boolean" && "enum" in schema),
      []
    )
  })

  it("has a line as positions, and as a polyline in a member of its own", () => {
    const memberOf = (body: string, name: string) => membersOf(document.components.schemas[body]).get(name)
    for (const body of ["Route", "RouteInput", "RoutePatch"]) {
      assert.include(typesOf(memberOf(body, "geometry") ?? {}), "array")
      assert.deepInclude(memberOf(body, "polyline6"), { format: "polyline6" })
    }
    const { schema } = byId.get("routes.get")?.parameters.find(({ name }) => name === "ref") ?? { schema: {} }
    assert.deepStrictEqual(schema, { type: "string", pattern: "^[0-9a-fA-F]{32}$|^[1-9][0-9]{0,15}$" })
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
    assert.deepStrictEqual(new Set(saying(/^The surface/)), new Set(["SurfaceShare.surface", "TraceEdge.surface"]))
  })

  it("has formats of JSON Schema and OpenAPI, and its own for a polyline and a box", () => {
    const formats = new Set(
      schemasIn(served).flatMap(({ format }) => typeof format === "string" ? [format] : [])
    )
    assert.deepStrictEqual(
      [...formats].toSorted(),
      ["bbox", "binary", "date-time", "double", "idn-email", "int32", "int64", "polyline6", "uri", "uuid"]
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

  it("limits every text of a request", () => {
    const isOpen = (schema: JsonSchema) =>
      typesOf(schema).includes("string") && !["enum", "maxLength", "pattern"].some((member) => member in schema)
    const sent = new Set(
      operations.flatMap(({ operation }) =>
        [...JSON.stringify(operation.requestBody ?? {}).matchAll(/schemas\/(\w+)/g)].map(([, name = ""]) => name)
      )
    )
    const members = [...sent].flatMap((body) =>
      schemasIn(document.components.schemas[body]).flatMap((part) =>
        [...membersOf(part)].map(([name, member]) => ({ body, name, member }))
      )
    )
    assert.deepStrictEqual(members.filter(({ member }) => isOpen(member)), [])
  })

  it("types what an error has for programs", () => {
    const error = membersOf(document.components.schemas["ErrorBody"])
    assert.deepStrictEqual(error.get("details"), { $ref: "#/components/schemas/ErrorDetails" })
    const details = membersOf(document.components.schemas["ErrorDetails"])
    assert.includeMembers([...details.keys()], ["issues", "impact", "reason", "traceId", "limitBytes", "etag"])
    assert.deepInclude(details.get("retryAfterSeconds"), { type: "integer", format: "int64" })
  })

  it("spells headers as usual, titles its groups, and describes each response", () => {
    const headers = operations.flatMap(({ operation }) =>
      operation.parameters.flatMap((parameter) => parameter.in === "header" ? [parameter.name] : [])
    )
    assert.deepStrictEqual(
      new Set(headers),
      new Set(["Idempotency-Key", "If-Match", "If-None-Match", "X-Service-Confirm"])
    )
    assert.deepStrictEqual(document.tags.filter(({ name }) => !/^[A-Z]/.test(name)), [])
    const said = operations.flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap((answer) => "$ref" in answer ? [] : [answer.description])
    )
    assert.deepStrictEqual(said.filter((words) => !/\w .*\.$/.test(words)), [])
  })

  it("refuses both of two members that exclude each other, and twice the same route", () => {
    assert.deepStrictEqual(document.components.schemas["ProviderCredential"]?.["oneOf"], [
      { $ref: "#/components/schemas/ProviderCredentialByCode" },
      { $ref: "#/components/schemas/ProviderCredentialByIdToken" },
      { $ref: "#/components/schemas/ProviderCredentialByCredential" }
    ])
    assert.containsAllKeys(document.components.schemas["RouteInput"], ["if", "else"])
    for (const body of ["RouteOrder", "CollectionInput"]) {
      const routeIds = membersOf(document.components.schemas[body]).get("routeIds")
      assert.deepInclude(routeIds, { uniqueItems: true, maxItems: 1000 })
    }
  })

  it("has an example of every body and every error", () => {
    const isInside = new Set(["ErrorBody"])
    const names = Object.keys(document.components.schemas).filter((name) => !isInside.has(name))
    assert.deepStrictEqual(names.filter((name) => exampleOf(name) === undefined), [])
    const examples = errorExamples()
    const errors = Object.values(examples).map((example) => Schema.decodeUnknownSync(ServiceError)(example)._tag)
    assert.deepStrictEqual(errors, Object.keys(examples))
    assert.deepStrictEqual(errors.toSorted(), ServiceError.members.map(({ identifier }) => identifier).toSorted())
  })

  it("points at nothing that is not there", () => {
    const references = [...JSON.stringify(served).matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)]
    const there = new Set(
      Object.entries(document.components).flatMap(([kind, members]) =>
        Object.keys(members).map((name) => `${kind}/${name}`)
      )
    )
    assert.isAbove(references.length, 100)
    assert.deepStrictEqual(references.filter(([, kind, name]) => !there.has(`${kind}/${name}`)), [])
  })

  it("is documented in docs/api.md", () => {
    assert.strictEqual(readFileSync(REFERENCE, "utf8"), apiReference())
  })
})
