import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { publicErrorOf, worded } from "../../src/http/response/PublicErrors.ts"
import { ServiceError } from "../../src/schema/Errors.ts"
import { NoRoad } from "../../src/services/DomainErrors.ts"
import * as Domain from "../../src/services/DomainErrors.ts"

const encode = Schema.encodeSync(ServiceError)

const shapeOf = (error: Domain.DomainError) => encode(publicErrorOf(error))

describe("failures of services", () => {
  it("are worded by HTTP, with their facts as details", () => {
    assert.deepStrictEqual<unknown>(shapeOf(new Domain.Missing({ kind: "member" })), {
      statusCode: 404,
      code: "NOT_FOUND",
      message: "No such route in this collection"
    })
    assert.deepStrictEqual<unknown>(shapeOf(new Domain.RoutesMissing({ routeIds: [7, 9] })), {
      statusCode: 404,
      code: "NOT_FOUND",
      message: "No such route",
      details: { routeIds: [7, 9] }
    })
    assert.deepStrictEqual<unknown>(shapeOf(new Domain.QuotaExceeded({ quota: "routes", limit: 3, used: 2 })), {
      statusCode: 409,
      code: "CONFLICT",
      message: "An account may have at most 3 routes; deleted ones count until they are purged after 30 days",
      details: { reason: "quota_exceeded", quota: "routes", limit: 3, used: 2 }
    })
    assert.deepStrictEqual<unknown>(shapeOf(new NoRoad({ near: { metres: 1000, locations: [0, 2] } })), {
      statusCode: 404,
      code: "NOT_FOUND",
      message: "There is no road within 1000 m of locations.0, locations.2",
      details: { reason: "no_road_near_location", locations: [0, 2] }
    })
    assert.deepStrictEqual<unknown>(shapeOf(new Domain.ProviderBusy()), {
      statusCode: 503,
      code: "INTERNAL",
      message: "Too many sign-ins are in progress: try again",
      details: { retryAfterSeconds: 5 }
    })
    assert.deepStrictEqual<unknown>(shapeOf(new Domain.LinkUnusable({ state: "expired" })), {
      statusCode: 400,
      code: "VALIDATION_FAILED",
      message: "body.token: Expected a link that was not used and has not expired",
      details: { issues: [{ path: "body.token", message: "Expected a link that was not used and has not expired" }] }
    })
  })

  it.effect("leave other errors as they are", () =>
    Effect.gen(function*() {
      const other = new Error("other")
      assert.strictEqual(yield* Effect.flip(worded(Effect.fail(other))), other)
    }))
})
