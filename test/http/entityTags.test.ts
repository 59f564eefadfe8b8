import { assert, describe, it } from "@effect/vitest"
import { HttpServerRequest } from "effect/http"
import { SESSION_COOKIE } from "../../src/http/api/Access.ts"
import { expectedVersions, isKnown, STORABLE, storableFor, weakTag } from "../../src/http/response/Versioned.ts"

describe("entity tags", () => {
  it("have the version, the CRC-32 of what changes without a new one, and the instant of the change", () => {
    assert.strictEqual(
      weakTag("3-full", "2025-06-01T08:30:00.000Z", "123456789"),
      "W/\"3-full-cbf43926@2025-06-01T08:30:00.000Z\""
    )
  })

  it("are known by any tag of If-None-Match, by a strong one too, or by *", () => {
    const tag = "W/\"3-full-cbf43926\""
    const known = [tag, "\"3-full-cbf43926\"", `"x", ${tag}`, `,, ${tag} ,"y"`, "*", " * "]
    const unknown = [undefined, "", "\"x\"", "\"3-full-cbf43927\"", "W/\"*\"", "3-full-cbf43926", ","]
    assert.deepStrictEqual(known.filter((header) => !isKnown(header, tag)), [])
    assert.deepStrictEqual(unknown.filter((header) => isKnown(header, tag)), [])
  })

  it("expect of If-Match the versions of our own tags, and none at all of *", () => {
    const versionsOf = (header: string | undefined) =>
      expectedVersions(header === undefined ? {} : { "if-match": header })
    assert.deepStrictEqual([undefined, "*", " * "].map(versionsOf), [undefined, undefined, undefined])
    const several = "W/\"3-full-cbf43926\", \"14-none-0\",\"foreign\", \"-1-x\", \"2\""
    assert.deepStrictEqual(versionsOf(several)?.map(({ version }) => version), [3, 14])
    assert.deepStrictEqual(versionsOf("\"foreign\""), [])
    const long = versionsOf("\"123456789012345-x\", \"1234567890123456-x\"")
    assert.deepStrictEqual(long?.map(({ version }) => version), [123_456_789_012_345])
    const updatedAt = "2025-06-01T08:30:00.000Z"
    assert.deepStrictEqual(versionsOf(`W/"3-full-cbf43926@${updatedAt}", "4-cbf43926@${updatedAt}-gzip"`), [
      { version: 3, updatedAt },
      { version: 4, updatedAt }
    ])
  })
})

describe("a response with an entity tag", () => {
  it("may be stored if anyone may see it, and the request had no credential", () => {
    const request = (headers: Readonly<Record<string, string>>) =>
      HttpServerRequest.fromWeb(new Request("http://localhost/", { headers }))
    const cases = [
      ["public", {}, STORABLE],
      ["unlisted", {}, STORABLE],
      ["private", {}, {}],
      ["public", { authorization: "Bearer x" }, {}],
      ["public", { cookie: `${SESSION_COOKIE}=x` }, {}],
      ["public", { cookie: "other=x" }, STORABLE]
    ] as const
    for (const [visibility, headers, expected] of cases) {
      assert.deepStrictEqual(storableFor(request(headers), visibility), expected, JSON.stringify([visibility, headers]))
    }
    assert.deepStrictEqual(STORABLE, { "cache-control": "no-cache" })
  })
})
