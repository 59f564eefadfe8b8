import { assert, describe, it } from "@effect/vitest"
import { Exit, Predicate, Result, Schema } from "effect"
import * as fc from "fast-check"
import { Api } from "../../src/http/api/Api.ts"
import { ArchivedCollection, ArchivedProfile, ArchivedRoute, Manifest } from "../../src/schema/Archive.ts"
import { issuesOf, MAX_ISSUES, NOT_UTF8 } from "../../src/schema/Issues.ts"
import { JSON_LIMITS } from "../../src/schema/Limits.ts"
import { NewRoute } from "../../src/schema/Route.ts"
import { RoutingRequest, TraceRequest } from "../../src/schema/Routing.ts"
import { ProfilePatch } from "../../src/schema/User.ts"
import { decodeBounded, maxValuesOf, refusalsBy } from "../../src/services/bodies/BoundedJson.ts"
import { excessOf } from "../../src/services/bodies/JsonScanner.ts"

const bodies = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).flatMap((endpoint) => {
    const schemas: ReadonlyArray<Schema.Constraint> = endpoint.payload.get("application/json")?.schemas ?? []
    return schemas.map((schema) => ({ name: `${endpoint.method} ${endpoint.path}`, schema }))
  })
)

/** Lists the arrays in a JSON Schema that have no maximum. */
const unbounded = (schema: unknown, path: string): ReadonlyArray<string> =>
  Predicate.isReadonlyObject(schema)
    ? [
      ...(schema["type"] === "array" && !("maxItems" in schema) && schema["prefixItems"] === undefined ? [path] : []),
      ...Object.entries(schema).flatMap(([name, part]) => unbounded(part, `${path}.${name}`))
    ]
    : []

const LIMITS = { depth: JSON_LIMITS.depth, values: JSON_LIMITS.spareValues }

const text = (value: unknown) => Buffer.from(JSON.stringify(value))

const SCHEMAS = [NewRoute, RoutingRequest, TraceRequest, ProfilePatch]

describe("a JSON text", () => {
  it("has a maximum in its schema for each array of each body and archive", () => {
    assert.isAbove(bodies.length, 15)
    const archived = { ArchivedRoute, ArchivedCollection, ArchivedProfile, Manifest }
    const all = [...bodies, ...Object.entries(archived).map(([name, schema]) => ({ name, schema }))]
    assert.deepStrictEqual(all.flatMap(({ name, schema }) => unbounded(Schema.toJsonSchemaDocument(schema), name)), [])
  })

  it("of any shape is within the limits, if it is small", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
      assert.strictEqual(excessOf(text(value), LIMITS), undefined)
    }))
  })

  it("is refused above its levels, its members or its values, wherever they are", () => {
    const small = { depth: 3, values: 10 }
    const messageOf = (text: string) => excessOf(Buffer.from(text), small)?.message
    const members = Array.from({ length: JSON_LIMITS.members + 1 }, (_, n) => `"${n}":0`)
    const objectOf = (count: number) => `{"a":{${members.slice(0, count).join(",")}}}`
    const many = { depth: 3, values: 2 * JSON_LIMITS.members }
    assert.deepStrictEqual(["[[[1]]]", "[[[[1]]]]", "{\"a\":[{\"b\":[]}]}"].map(messageOf), [
      undefined,
      "Expected at most 3 levels",
      "Expected at most 3 levels"
    ])
    assert.deepStrictEqual(
      ["[[[]],[[]],[{}]]", "[ true, [[1]], null ]", "[{\"a\":{}},[{},[]]]", "[\"\",[[[1]]]]", "[ true, null, [[[1]]] ]"]
        .map(messageOf),
      [undefined, undefined, undefined, "Expected at most 3 levels", "Expected at most 3 levels"]
    )
    assert.deepStrictEqual(
      [`[${"1,".repeat(8)}[]]`, `[${"1,".repeat(9)}[]]`, "[[],[[[]]]]", "[] [[[[]]]]"].map(messageOf),
      [
        undefined,
        "Expected at most 10 values in all",
        "Expected at most 3 levels",
        undefined
      ]
    )
    assert.deepStrictEqual([`[1${",1".repeat(9)}]`, `["]",{"[[[[":[1${",1".repeat(8)}]}]`].map(messageOf), [
      undefined,
      "Expected at most 10 values in all"
    ])
    assert.strictEqual(excessOf(Buffer.from(objectOf(JSON_LIMITS.members)), many), undefined)
    assert.deepStrictEqual(excessOf(Buffer.from(objectOf(JSON_LIMITS.members + 1)), many), {
      path: "",
      message: "Expected at most 1000 members"
    })
  })

  it("is refused for an array that is too long and for none of its items", () => {
    const refusalsOf = refusalsBy(
      Schema.Struct({
        a: Schema.Array(
          Schema.Struct({ b: Schema.NullOr(Schema.Array(Schema.Number).check(Schema.isMaxLength(3))) })
        )
      })
    )
    assert.deepStrictEqual(refusalsOf(`{"a":[{"b":null},{"b":[1,2,"x"]}]}`).map(({ path }) => path), ["a.1.b.2"])
    const few = fc.array(fc.integer(), { maxLength: 3 })
    const many = fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 4, maxLength: 9 })
    fc.assert(fc.property(fc.array(few, { maxLength: 5 }), many, (before, broken) => {
      const a = [...before, broken].map((b) => ({ b }))
      assert.deepStrictEqual(refusalsOf(JSON.stringify({ a })), [
        { path: `a.${before.length}.b`, message: "Expected at most 3 items" }
      ])
    }))
  })

  it("has as much room as its schema, where an array has its maximum and a schema inside itself counts once", () => {
    const roomOf = (schema: Schema.Constraint) => maxValuesOf(schema) - JSON_LIMITS.spareValues
    const listOf = (item: Schema.Constraint, most: number) => Schema.Array(item).check(Schema.isMaxLength(most))
    const Tree = Schema.Struct({
      name: Schema.String,
      children: listOf(Schema.suspend((): Schema.Constraint => Tree), 2)
    }).annotate({ identifier: "Tree" })
    const schemas = [
      Schema.Number,
      Schema.Tuple([Schema.Number, Schema.String]),
      listOf(Schema.Struct({ a: Schema.Number }), 10),
      Schema.Struct({ a: Schema.Number, b: listOf(Schema.Tuple([Schema.Number]), 5) }),
      Schema.Union([Schema.Number, listOf(Schema.Number, 5)]),
      Schema.Array(Schema.Number),
      Tree
    ]
    assert.deepStrictEqual(schemas.map(roomOf), [1, 3, 21, 13, 6, 1, 3])
  })

  it("is refused where it is not UTF-8, without the text around a fault", () => {
    const decode = decodeBounded(Schema.Struct({ a: Schema.String }))
    const messageOf = (bytes: Buffer) =>
      Result.match(decode(bytes), { onSuccess: () => "", onFailure: ([issue]) => issue?.message })
    assert.strictEqual(messageOf(Buffer.from(`{"a":"é"}`)), "")
    assert.strictEqual(messageOf(Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xe9, 0x22, 0x7d])), NOT_UTF8)
    const broken = messageOf(Buffer.from(`{"a":"secret" "b"}`))
    assert.match(broken ?? "", /^Expected valid JSON: /)
    assert.notInclude(broken ?? "", "secret")
  })

  it("that is no JSON is left to the parser", () => {
    fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."[]{},:\"\\1a "), maxLength: 30 }), (broken) => {
      assert.notInclude(excessOf(Buffer.from(broken), LIMITS)?.message ?? "", "values")
    }))
  })

  it("is refused for the reasons that its schema has, at most 100 of them", () => {
    for (const schema of SCHEMAS) {
      const refusalsOf = refusalsBy(schema)
      const decode = Schema.decodeUnknownExit<typeof schema>(schema, { errors: "all" })
      const members = Object.keys(schema.fields)
      const broken = fc.dictionary(fc.constantFrom(...members), fc.jsonValue({ maxDepth: 3 }))
      const property = fc.property(fc.oneof(broken, fc.jsonValue()), (value) => {
        const exit = decode(value)
        const reasons = Exit.isSuccess(exit) ?
          [] :
          exit.cause.reasons.flatMap((reason) => reason._tag === "Fail" ? issuesOf(reason.error) : [])
        assert.deepStrictEqual(refusalsOf(JSON.stringify(value)), reasons.slice(0, MAX_ISSUES))
      })
      fc.assert(property)
    }
  })

  it("is refused for a rule between members where each member is accepted", () => {
    const refusalsOf = refusalsBy(TraceRequest)
    const pathsOf = (body: unknown) => refusalsOf(JSON.stringify(body)).map(({ path }) => path)
    assert.deepStrictEqual(refusalsOf(JSON.stringify({ activity: "cycle" })), [
      { path: "", message: "Expected either shape or encodedPolyline" }
    ])
    assert.deepStrictEqual(pathsOf({ activity: "swim" }), ["activity"])
  })
})
