import { assert, describe, it } from "@effect/vitest"
import { requireDocumented } from "../support/DocumentedResponses.ts"
import { exampleOf } from "../support/OpenApi.ts"

const received = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: new Headers({ "content-type": "application/json", ...headers }),
  text: JSON.stringify(body),
  body
})

const route = Object(exampleOf("Route"))

const ROUTE = "http://localhost/api/v1/routes/12"

const error = { statusCode: 404, code: "NOT_FOUND", message: "No such route" }

describe("a response that a test receives", () => {
  it("passes as the document has it, and where it is of no endpoint", () => {
    requireDocumented("GET", ROUTE, received(200, route, { etag: "\"1\"", vary: "Cookie" }))
    requireDocumented("GET", ROUTE, received(404, error, { "set-cookie": "a=b" }))
    requireDocumented("GET", `${ROUTE}?geometry=none`, received(200, route))
    requireDocumented("PUT", ROUTE, received(405, error, { allow: "GET" }))
    requireDocumented("GET", "http://localhost/nothing", received(404, error))
  })

  it("is an error with a status, header, member, type or shape that is not declared", () => {
    const fails = (response: ReturnType<typeof received>, words: RegExp) =>
      assert.throws(() => requireDocumented("GET", ROUTE, response), words)
    fails(received(409, error), /status that is not declared/)
    fails(received(200, route, { "x-other": "1" }), /headers that are not declared: x-other/)
    fails(received(200, { ...route, other: 1 }), /does not fit: .*unevaluated/)
    fails(received(200, { ...route, user: { ...route.user, other: 1 } }), /does not fit/)
    fails(received(200, { ...route, name: 1 }), /does not fit/)
    fails(received(404, { ...error, details: { other: 1 } }), /does not fit/)
    fails(received(200, route, { "content-type": "text/html" }), /content type/)
  })
})
