import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ignoredMembers } from "../../src/services/bodies/BoundedJson.ts"

const Item = Schema.Struct({ title: Schema.String, tags: Schema.optionalKey(Schema.Array(Schema.String)) })

const Body = Schema.Struct({
  visibility: Schema.String,
  favourite: Schema.Boolean,
  name: Schema.String,
  id: Schema.Int,
  items: Schema.NullOr(Schema.Array(Item)),
  counts: Schema.Record(Schema.String, Schema.Struct({ count: Schema.Int }))
})

const Returned = Schema.Struct({ version: Schema.Int, members: Schema.Array(Schema.Struct({ role: Schema.String })) })

const ignored = ignoredMembers([Body], [Returned])

const meant = (name: string) => ignored({ [name]: 1 }).map(({ meant }) => meant)

describe("members that a body does not know", () => {
  it("are named with their paths, up to ten, unless a response has them", () => {
    assert.deepStrictEqual(
      ignored({
        name: "a",
        version: 1,
        role: 2,
        other: 3,
        items: [{ title: "b", tags: [] }, { colour: 1, tags: [] }, 4]
      }),
      [{ path: "other", meant: undefined }, { path: "items.1.colour", meant: undefined }]
    )
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`other${n}`, n]))
    assert.strictEqual(ignored(many).length, 10)
    assert.deepStrictEqual(ignored({ counts: { any: { count: 1 } }, items: null }), [])
    assert.deepStrictEqual([null, 1, "x", [{ other: 1 }]].flatMap(ignored), [])
  })

  it("mean a member of almost the same name: a third of its letters may be wrong, and two at most", () => {
    assert.deepStrictEqual(meant("nam"), ["name"])
    assert.deepStrictEqual(meant("naem"), ["name"], "letters in another order are one mistake")
    assert.deepStrictEqual(meant("nm"), [undefined])
    assert.deepStrictEqual(meant("favorit"), ["favourite"])
    assert.deepStrictEqual(meant("favorits"), ["favourite"])
    assert.deepStrictEqual(meant("favoritss"), [undefined])
    assert.deepStrictEqual(meant("Visi-Bility"), ["visibility"])
    assert.deepStrictEqual(meant("ids"), [undefined])
    assert.deepStrictEqual(meant("item"), ["items"])
  })

  it("mean the nearest of the members, and none if they are longer than 64 characters", () => {
    const long = "x".repeat(64)
    const named = ignoredMembers([
      Schema.Struct({ longitude: Schema.Int, longitudes: Schema.Int, day: Schema.Int, [long]: Schema.Int })
    ], [])
    const meantOf = (name: string) => named({ [name]: 1 })[0]?.meant
    assert.deepStrictEqual(["longitudess", "longitud", "longitudee", "dy"].map(meantOf), [
      "longitudes",
      "longitude",
      "longitude",
      "day"
    ])
    assert.strictEqual(meantOf(`${long.slice(1)}y`), long)
    assert.isUndefined(meantOf(`${long}y`))
  })

  it("are those of the variant that the literal members of a body name", () => {
    const variants = ignoredMembers([
      Schema.Struct({ op: Schema.Literal("create"), body: Schema.Struct({ name: Schema.String }) }),
      Schema.Struct({ op: Schema.Literal("delete"), id: Schema.Int })
    ], [])
    assert.deepStrictEqual(variants({ op: "delete", id: 1, body: {} }), [{ path: "body", meant: undefined }])
    assert.deepStrictEqual(variants({ op: "create", body: { nme: 1 } }), [{ path: "body.nme", meant: "name" }])
    assert.deepStrictEqual(variants({ op: "other", id: 1 }), [])
  })
})
