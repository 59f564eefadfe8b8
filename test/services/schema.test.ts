import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as fc from "fast-check"
import { Positions } from "../../src/schema/Geometry.ts"
import { RouteIdFromPath, RouteRef } from "../../src/schema/Ids.ts"
import { optionalMember } from "../../src/schema/Optional.ts"
import { listQuery } from "../../src/schema/Page.ts"
import { NewRoute, RoutePatch, Tags } from "../../src/schema/Route.ts"
import { MAX_TRACE, TracePoints } from "../../src/schema/Routing.ts"
import { isCodePointLength, trimmedText } from "../../src/schema/Text.ts"
import { Email, NewPassword } from "../../src/schema/User.ts"
import { refusalsBy } from "../../src/services/bodies/BoundedJson.ts"
import { coordinatesOf, lineMetres } from "../../src/services/geometry/Geodesy.ts"
import { emailKey } from "../../src/services/identity/Users.ts"
import { numbers } from "../support/Numbers.ts"

const position = fc.tuple(
  numbers(-180, 180),
  numbers(-90, 90)
)

const Trace = Schema.Struct({ shape: TracePoints })

/** The generic combinators describe a point of a trace so. */
const GenericPoint = Schema.Struct({
  lat: Schema.Finite.check(Schema.isBetween({ minimum: -90, maximum: 90 })),
  lon: Schema.Finite.check(Schema.isBetween({ minimum: -180, maximum: 180 })),
  time: optionalMember(Schema.Finite)
})

const anyText = fc.string({ unit: "binary", maxLength: 300 })

const accepts = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (value: unknown) => Option.isSome(decode(value))
}

describe("what comes from outside", () => {
  it("a geometry is accepted whole and unchanged, to the last digit", () => {
    const decode = Schema.decodeUnknownSync(Positions)
    fc.assert(fc.property(fc.array(position, { maxLength: 50 }), (positions) => {
      const sent = JSON.stringify(positions)
      assert.strictEqual(JSON.stringify(decode(JSON.parse(sent))), sent)
    }))
  })

  it("a geometry with anything else in it is refused", () => {
    const isAccepted = accepts(Positions)
    const anything = fc.jsonValue().filter((value) =>
      !Array.isArray(value) || value.length < 2 || value.length > 3 || !value.every((n) => typeof n === "number")
    )
    fc.assert(fc.property(fc.array(position), anything, fc.array(position), (before, broken, after) => {
      assert.isFalse(isAccepted([...before, broken, ...after]))
    }))
  })

  it("a geometry that is no array is one issue", () => {
    const refusalsOf = refusalsBy(Schema.Struct({ geometry: Positions }))
    const message = "Expected an array of positions, such as [[9.52, 47.14], [9.53, 47.15]]"
    assert.deepStrictEqual(refusalsOf("{\"geometry\":\"x\"}"), [{ path: "geometry", message }])
  })

  it("points of a trace are accepted and refused as the generic decoder does, for the same reasons", () => {
    const generic = Schema.Struct({ shape: optionalMember(Schema.Array(GenericPoint).check(Schema.isMinLength(2))) })
    const [decode, decodeGeneric] = [Schema.decodeUnknownOption(Trace), Schema.decodeUnknownOption(generic)]
    const [refusals, genericRefusals] = [refusalsBy(Trace), refusalsBy(generic)]
    const value = fc.oneof(
      fc.constantFrom<unknown>(0, 90, -90, 90.1, 180, -180, 180.1, 1e308, null, "1", true, [], {}),
      numbers(-90, 90)
    )
    const point = fc.record({ lat: value, lon: value, time: value, type: value }, { requiredKeys: [] })
    const valid = fc.record({ lat: fc.integer({ min: -90, max: 90 }), lon: fc.integer({ min: -180, max: 180 }) })
    const shapes = fc.oneof(fc.array(valid), fc.array(fc.oneof(valid, point)), fc.jsonValue({ maxDepth: 2 }))
    fc.assert(fc.property(fc.oneof(fc.record({ shape: shapes }), fc.constant({})), (trace) => {
      const text = JSON.stringify(trace)
      assert.deepStrictEqual<unknown>(decode(JSON.parse(text)), decodeGeneric(JSON.parse(text)))
      assert.deepStrictEqual(refusals(text), genericRefusals(text))
    }))
    const infinite = `{"shape":[{"lat":1e999,"lon":-1e999,"time":1e999}]}`
    assert.deepStrictEqual(refusals(infinite), genericRefusals(infinite))
    assert.strictEqual(refusals(infinite).length, 5)
  })

  it("a broken point of the longest trace is named", () => {
    const points = Array.from({ length: MAX_TRACE }, (_, n) => ({ lat: n / 1000, lon: n / 500, time: n }))
    const broken = JSON.stringify({ shape: [...points.slice(1), { lat: 1, lon: 200, time: 0 }] })
    assert.deepStrictEqual(refusalsBy(Trace)(broken).map(({ path }) => path), [`shape.${MAX_TRACE - 1}.lon`])
  })

  it("no JSON value whatever makes a decoder throw", () => {
    for (const schema of [NewRoute, RoutePatch, Tags, Positions, Email, NewPassword]) {
      const isAccepted = accepts(schema)
      fc.assert(fc.property(fc.jsonValue(), (value) => typeof isAccepted(value) === "boolean"))
    }
  })

  it("text is trimmed and otherwise as it was sent, or refused for what PostgreSQL cannot hold", () => {
    const decode = Schema.decodeUnknownOption(trimmedText(0, 1000))
    fc.assert(fc.property(anyText, (text) => {
      const storable = text.isWellFormed() && !text.includes("\u0000")
      assert.deepStrictEqual(decode(text), storable ? Option.some(text.trim()) : Option.none())
    }))
  })

  it("length is counted in code points, a password's after NFKC", () => {
    const isShort = accepts(Schema.String.check(isCodePointLength(12, 128)))
    const isPassword = accepts(NewPassword)
    const isBetween = (text: string, min: number, max: number) => [...text].length >= min && [...text].length <= max
    const texts = fc.string({ unit: "grapheme", minLength: 0, maxLength: 200 })
    fc.assert(fc.property(texts, fc.nat({ max: 20 }), (text, times) => {
      assert.strictEqual(isShort(text), isBetween(text, 12, 128))
      const long = text.repeat(times)
      assert.strictEqual(
        isPassword(long),
        isBetween(long.normalize("NFKC"), 12, 1024) && !long.includes("\u0000") && long.isWellFormed()
      )
    }))
  })

  it("normalising tags is done once and for all, and keeps no tag that the contract forbids", () => {
    const decode = Schema.decodeUnknownOption(Tags)
    const words = fc.array(fc.string({ unit: fc.constantFrom("a", "B", "7", "-", " ", "\t", "é"), maxLength: 26 }), {
      maxLength: 12
    })
    fc.assert(fc.property(words, (tags) => {
      const once = decode(tags)
      if (Option.isNone(once)) return
      assert.deepStrictEqual(decode(once.value), once)
      assert.isTrue(once.value.every((tag) => /^[a-z0-9][a-z0-9-]{0,23}$/.test(tag)))
      assert.strictEqual(new Set(once.value).size, once.value.length)
      assert.isAtMost(once.value.length, 10)
    }))
  })

  it("an id in a path is its own decimal digits", () => {
    const decode = Schema.decodeUnknownOption(RouteIdFromPath)
    fc.assert(fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (id) => {
      assert.strictEqual(Option.getOrUndefined(decode(String(id))), id)
    }))
    fc.assert(fc.property(fc.string(), (text) => {
      if (!/^[1-9][0-9]{0,15}$/.test(text)) assert.isTrue(Option.isNone(decode(text)))
    }))
    assert.isTrue(Option.isNone(decode("9007199254740992")))
  })

  it("a reference of 32 hex digits of any case is a share token", () => {
    const decode = Schema.decodeUnknownOption(RouteRef)
    const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEF"), minLength: 32, maxLength: 32 })
    fc.assert(fc.property(hex, (token) => {
      assert.strictEqual<unknown>(Option.getOrUndefined(decode(token)), token.toLowerCase())
    }))
  })

  it("a page is plain decimals in their bounds", () => {
    const decode = Schema.decodeUnknownOption(listQuery({}))
    fc.assert(fc.property(fc.integer({ min: -10, max: 1_000_010 }), (n) => {
      assert.strictEqual(Option.isSome(decode({ limit: String(n) })), n >= 1 && n <= 200)
      assert.strictEqual(Option.isSome(decode({ offset: String(n) })), n >= 0)
    }))
  })
})

describe("what follows from it", () => {
  it("spellings of one email address have one key", () => {
    fc.assert(fc.property(fc.emailAddress(), (email) => {
      const key = emailKey(email)
      assert.strictEqual(emailKey(email.toUpperCase()), key)
      assert.strictEqual(emailKey(`  ${email} `), key)
      assert.strictEqual(emailKey(key), key)
    }))
    assert.strictEqual(emailKey("a@bücher.example"), emailKey("A@XN--BCHER-KVA.example"))
    assert.notStrictEqual(emailKey("e\u0301@x.example"), emailKey("\u00e9@x.example"))
    assert.notStrictEqual(emailKey("a+b@x.example"), emailKey("a@x.example"))
  })

  it("no address is accepted that does not fit its column once its domain is mapped", () => {
    const isAccepted = accepts(Email)
    const growing = fc.string({ unit: fc.constantFrom(..."a\u3300\ufb2c\u0130\ufdfa\u00df."), maxLength: 250 })
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."a\ufb2c\u0130"), minLength: 1 }), growing, (local, domain) => {
        const email = `${local}@${domain}.b`
        if (isAccepted(email)) assert.isAtMost(emailKey(email).length, 320)
      })
    )
    assert.isTrue(isAccepted(`a@${"\u3300".repeat(11)}.example`))
    assert.isFalse(isAccepted(`a@${Array.from({ length: 15 }, () => "\u3300".repeat(11)).join(".")}`))
  })

  it("a length is the same there and back, and no detour is shorter", () => {
    fc.assert(fc.property(fc.array(position, { minLength: 2, maxLength: 20 }), (positions) => {
      const ends = [...positions.slice(0, 1), ...positions.slice(-1)]
      const length = lineMetres(coordinatesOf(positions))
      assert.approximately(lineMetres(coordinatesOf(positions.toReversed())), length, 1)
      assert.isAtLeast(length + 1, lineMetres(coordinatesOf(ends)))
    }))
  })

  it("a degree along a meridian is 111.2 km", () => {
    assert.approximately(lineMetres(coordinatesOf([[9, 47], [9, 48]])), 111_195, 10)
  })
})
