import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Cookies, HttpServerResponse } from "effect/http"
import * as fc from "fast-check"
import { BodyPieces, piecedResponse, piecesIn, withJoinedBody } from "../../src/http/request/BodyPieces.ts"
import { type JsonPart, piecesOf, textOf } from "../../src/services/bodies/JsonText.ts"
import { signedIn } from "../support/Actors.ts"
import { longRoute } from "../support/LongRoute.ts"
import { sendRaw } from "../support/RawHttp.ts"
import { TestServer } from "../support/TestServer.ts"

const LONG = 20_000

const bytes = (text: string) => new Uint8Array(Buffer.from(text))

const part = fc.tuple(fc.constantFrom("a", "é", "日本", "🚲"), fc.constantFrom(0, 1, 9, 500, LONG), fc.boolean())
  .map(([text, times, isRead]): JsonPart => isRead ? bytes(text.repeat(times)) : text.repeat(times))

describe("the pieces of a body", () => {
  it("are its parts in order, of which long ones in UTF-8 are not copied", () => {
    fc.assert(fc.property(fc.array(part), (parts) => {
      const pieces = [...piecesOf(parts)]
      assert.strictEqual(Buffer.concat(pieces).toString(), textOf(parts))
      const long = parts.filter((part) => typeof part !== "string" && part.length >= LONG)
      assert.deepStrictEqual(pieces.filter((piece) => long.some((part) => part === piece)).length, long.length)
      assert.isFalse(pieces.some(({ length }) => length === 0))
    }))
  })

  it("hold the buffers that they are views of, each once", () => {
    const buffer = new ArrayBuffer(1000)
    const views = [new Uint8Array(buffer, 0, 10), new Uint8Array(buffer, 10, 20), new Uint8Array(7)]
    const pieces = new BodyPieces(views)
    assert.deepStrictEqual([pieces.length, pieces.held], [37, 1007])
  })

  it("are joined where they would keep much more than their bytes", () => {
    const [long, small] = [new ArrayBuffer(1000), new ArrayBuffer(10)]
    const views = [new Uint8Array(long, 0, 380), new Uint8Array(small)]
    assert.strictEqual(piecedResponse(views, { contentType: "text/plain" }).body._tag, "Uint8Array")
    assert.strictEqual(piecedResponse([new Uint8Array(long, 0, 420), ...views], {}).body._tag, "Raw")
  })

  it("are joined with the status, headers and cookies of their response", () => {
    const response = piecedResponse([bytes("[1,"), bytes("2]")], { status: 201, headers: { link: "<x>" } }).pipe(
      HttpServerResponse.mergeCookies(Cookies.fromIterable([Cookies.makeCookieUnsafe("a", "b")]))
    )
    assert.strictEqual(piecesIn(response)?.length, 5)
    const { body, cookies, headers, status } = withJoinedBody(response)
    assert.strictEqual(body._tag === "Uint8Array" && Buffer.from(body.body).toString(), "[1,2]")
    assert.deepStrictEqual([status, headers["link"], headers["content-length"]], [201, "<x>", "5"])
    assert.isFalse(Cookies.isEmpty(cookies))
    const whole = HttpServerResponse.text("whole")
    assert.strictEqual(withJoinedBody(whole), whole)
  })
})

const Line = Schema.Array(Schema.Array(Schema.Number))
const Named = Schema.Struct({ id: Schema.Int, name: Schema.String, geometry: Line })
const decode = Schema.decodeUnknownSync(Named)
const decodeList = Schema.decodeUnknownSync(Schema.Array(Named))

layer(TestServer.layer())("a response of several pieces", (it) => {
  it.effect("arrives whole, with its length, as a list and as one route, and for HEAD without a body", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* Effect.forEach([3000, 4000, 10], (positions) => longRoute(rider, positions))
      yield* Effect.forEach(ids, (id) => rider.patch(`/routes/${id}`, { name: `Überland 🚲 ${id}` }))
      const { headers, text } = yield* rider.get("/routes?sort=createdAt")
      assert.strictEqual(headers.get("content-length"), String(Buffer.byteLength(text)))
      const listed = decodeList(JSON.parse(text))
      assert.deepStrictEqual(listed.map(({ geometry }) => geometry.length).toSorted((a, b) => a - b), [10, 3000, 4000])
      for (const route of listed) {
        const one = yield* rider.get(`/routes/${route.id}`)
        assert.strictEqual(one.headers.get("content-length"), String(Buffer.byteLength(one.text)))
        assert.deepStrictEqual(decode(one.body), route)
        assert.strictEqual(route.name, `Überland 🚲 ${route.id}`)
      }
      const { call } = yield* TestServer
      const head = yield* call("HEAD", "/routes?sort=createdAt", { headers: { cookie: rider.cookie } })
      assert.deepStrictEqual([head.headers.get("content-length"), head.text], [headers.get("content-length"), ""])
    }))

  it.effect("is followed on its connection by the next one", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const id = yield* longRoute(yield* signedIn, 4000)
      const request = `GET /api/v1/routes/${id} HTTP/1.1\r\nHost: localhost\r\n`
      const { body } = yield* sendRaw(origin, `${request}\r\n${request}Connection: close\r\n\r\n`)
      const [first = "", second = ""] = body.split(/HTTP\/1\.1 200[^{]*/)
      assert.strictEqual(decode(JSON.parse(first)).geometry.length, 4000)
      assert.strictEqual(second, first)
    }))
})
