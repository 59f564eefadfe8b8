import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import * as fc from "fast-check"
import { Api } from "../../src/http/api/Api.ts"
import { ArchivedCollection, ArchivedProfile, ArchivedRoute, Manifest } from "../../src/schema/Archive.ts"
import { issuesOf, MAX_ISSUES } from "../../src/schema/Issues.ts"
import { NewRoute } from "../../src/schema/Route.ts"
import { RoutingRequest, TraceRequest } from "../../src/schema/Routing.ts"
import { ProfilePatch } from "../../src/schema/User.ts"
import { boundsOf } from "../../src/services/json/BoundedJson.ts"
import { type JsonLimits, limitsOf } from "../../src/services/json/JsonLimits.ts"
import { excessOf } from "../../src/services/json/JsonScanner.ts"
import { ruleIssues } from "../../src/services/json/RuleIssues.ts"

/** The schemas of all JSON bodies that the service takes. */
const bodies = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).flatMap((endpoint) => {
    const schemas: ReadonlyArray<Schema.Constraint> = endpoint.payload.get("application/json")?.schemas ?? []
    return schemas.map((schema) => ({ name: `${endpoint.method} ${endpoint.path}`, schema }))
  })
)

const unbounded = (limits: JsonLimits | undefined, path: string): ReadonlyArray<string> =>
  limits === undefined ? [] : [
    ...(limits.maxItems === Infinity && limits.members.size === 0 ? [path] : []),
    ...unbounded(limits.items, `${path}.0`),
    ...limits.tuple.flatMap((item) => unbounded(item, `${path}.0`)),
    ...[...limits.members].flatMap(([name, member]) => unbounded(member, `${path}.${name}`))
  ]

const text = (value: unknown) => Buffer.from(JSON.stringify(value))

const SCHEMAS = [NewRoute, RoutingRequest, TraceRequest, ProfilePatch]

describe("a JSON text", () => {
  it("has the maximum of its schema for each array of each body and archive", () => {
    assert.isAbove(bodies.length, 15)
    const archived = { ArchivedRoute, ArchivedCollection, ArchivedProfile, Manifest }
    const all = [...bodies, ...Object.entries(archived).map(([name, schema]) => ({ name, schema }))]
    assert.deepStrictEqual(all.flatMap(({ name, schema }) => unbounded(limitsOf(schema).root, name)), [])
  })

  it("of any shape is within limits that do not name it, if it is small", () => {
    const limits = limitsOf(Schema.Struct({ a: Schema.optionalKey(Schema.String) }))
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
      assert.strictEqual(excessOf(text(value), limits), undefined)
    }))
  })

  it("is refused for the first array that is too long, wherever it is, whatever stands before it", () => {
    const limits = limitsOf(
      Schema.Struct({ a: Schema.Array(Schema.Struct({ b: Schema.Array(Schema.Number).check(Schema.isMaxLength(3)) })) })
    )
    fc.assert(fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.array(fc.array(fc.integer(), { maxLength: 3 }), { maxLength: 5 }),
      fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 4, maxLength: 9 }),
      (other, before, broken) => {
        const a = [...before, broken].map((b) => ({ other, b }))
        assert.deepStrictEqual(excessOf(text({ other, "}]\",[{": other, a }), limits), {
          path: `a.${before.length}.b`,
          message: "Expected at most 3 items"
        })
      }
    ))
  })

  it("that is no JSON is left to the parser", () => {
    const limits = limitsOf(NewRoute)
    fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."[]{},:\"\\1a "), maxLength: 30 }), (broken) => {
      assert.notInclude(excessOf(Buffer.from(broken), limits)?.message ?? "", "items")
    }))
  })

  it("is refused for the reasons that its schema has, at most 100 of them", () => {
    for (const schema of SCHEMAS) {
      const { refusalsOf } = boundsOf(schema)
      const decode = Schema.decodeUnknownExit<typeof schema>(schema, { errors: "all" })
      const members = Object.keys(schema.fields)
      const broken = fc.dictionary(fc.constantFrom(...members), fc.jsonValue({ maxDepth: 3 }))
      const property = fc.property(fc.oneof(broken, fc.jsonValue()), (value) => {
        const exit = decode(value)
        const reasons = Exit.isSuccess(exit) ?
          [] :
          exit.cause.reasons.flatMap((reason) => reason._tag === "Fail" ? issuesOf(reason.error) : [])
        const isOfMembers = reasons.length > 0 && reasons.every(({ path }) => path !== "")
        const refusals = [...reasons, ...(isOfMembers ? ruleIssues(schema.ast, value) : [])]
        assert.deepStrictEqual(refusalsOf(JSON.stringify(value)), refusals.slice(0, MAX_ISSUES))
      })
      fc.assert(property)
    }
  })

  it("is refused for a rule between members too, unless a member that the rule reads is refused", () => {
    const { refusalsOf } = boundsOf(TraceRequest)
    const ofRule = { path: "", message: "Expected either shape or encodedPolyline" }
    const pathsOf = (body: unknown) => refusalsOf(JSON.stringify(body)).map(({ path }) => path)
    assert.deepInclude(refusalsOf(JSON.stringify({ activity: "swim" })), ofRule)
    assert.deepStrictEqual(pathsOf({ activity: "swim" }), ["activity", ""])
    assert.deepStrictEqual(pathsOf({ activity: "swim", encodedPolyline: "a" }), ["activity"])
    assert.deepStrictEqual(pathsOf({ encodedPolyline: 1 }), ["encodedPolyline"])
  })
})
