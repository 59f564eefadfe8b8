import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { operations } from "../support/OpenApi.ts"
import { idOf, issuePaths, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf, withToken } from "../support/Tokens.ts"

const ADMIN = "admin@example.com"

const Refusal = Schema.Struct({
  code: Schema.Literal("VALIDATION_FAILED"),
  details: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
})

const issuesIn = (body: unknown) =>
  Effect.map(Schema.decodeUnknownEffect(Refusal)(body), ({ details }) => details.issues)

/** Makes a path that is well-formed and names nothing. */
const pathOf = (path: string) =>
  path.replace("/sessions/{id}", "/sessions/00000000-0000-4000-8000-000000000000")
    .replace("{handle}", "nobody-at-all").replace(/\{\w+\}/g, "999999999")

const acceptedBy = ({ parameters }: typeof operations[number]["operation"]) =>
  parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name)

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN }))("a parameter that an endpoint does not have", (it) => {
  it.effect("is 400 on every endpoint, and the message names those that it has", () =>
    Effect.gen(function*() {
      const { token } = yield* signedInAs({ email: ADMIN })
      const session = yield* withToken(token)
      const nobody = yield* anonymous
      assert.isAbove(operations.length, 85)
      for (const { method, operation, path } of operations) {
        const caller = path.startsWith("/api/v1/auth/") && !path.includes("/tokens") ? nobody : session
        const accepted = acceptedBy(operation)
        const call = ["POST", "PUT", "PATCH"].includes(method) ? { body: {} } : {}
        const { body, status } = yield* caller.call(method, `/${pathOf(path)}?geomtry=none&__proto__=x`, call)
        assert.strictEqual(status, 400, `${method} ${path}: without a query it has .middleware(NoParameters)`)
        const expected = accepted.length === 0 ? "none" : `one of ${accepted.join(", ")}`
        assert.deepInclude(
          yield* issuesIn(body),
          { path: "query.geomtry", message: `Unknown parameter: Expected ${expected}` },
          `${method} ${path}`
        )
      }
    }))

  it.effect("is refused before anything is stored or deleted, and with all other issues of the query", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const attempts = [
        yield* rider.delete(`/routes/${id}?dryRun=true`),
        yield* rider.patch(`/routes/${id}?dryRun=true`, { name: "Another" }),
        yield* rider.post("/routes?elevaton=true", newRoute({})),
        yield* rider.get(`/routes/${id}?geomtry=none`),
        yield* rider.get(`/routes/${id}/gpx?_=1`),
        yield* rider.call("HEAD", `/routes/${id}?_=1`)
      ]
      assert.deepStrictEqual(attempts.map(({ status }) => status), [400, 400, 400, 400, 400, 400])
      const { body, headers } = yield* rider.get("/routes")
      assert.strictEqual(headers.get("x-total-count"), "1")
      assert.include(JSON.stringify(body), "A ride")
      const all = yield* rider.get(`/routes/${id}?geomtry=none&geometry=round`)
      assert.deepStrictEqual(issuePaths(all.body).toSorted(), ["query.geometry", "query.geomtry"])
    }))

  it.effect("is refused after the caller is, and before the resource is looked up and confirmed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const reader = yield* scriptOf(rider, "read")
      const writer = yield* scriptOf(rider, "write")
      const nobody = yield* anonymous
      const attempts = [
        yield* nobody.delete(`/routes/${id}?x=1`),
        yield* reader.delete(`/routes/${id}?x=1`),
        yield* reader.get("/me/sessions?x=1"),
        yield* nobody.post("/auth/logout?x=1", undefined, { headers: { "sec-fetch-site": "cross-site" } }),
        yield* rider.delete("/routes/999999999?x=1"),
        yield* writer.delete(`/routes/${id}?x=1`),
        yield* rider.get("/nothing?x=1"),
        yield* rider.call("PUT", `/routes/${id}?x=1`)
      ]
      assert.deepStrictEqual(attempts.map(({ status }) => status), [401, 403, 403, 403, 400, 400, 404, 405])
    }))

  it.effect("is ignored by pages, to which others link with parameters of their own", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      for (const path of ["/", "/robots.txt", "/sign-in", "/api", "/api/openapi.json"]) {
        assert.strictEqual((yield* nobody.get(`/${path}?utm_source=mail`)).status, 200, path)
      }
    }))
})
