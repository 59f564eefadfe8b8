import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, signedIn } from "../support/Actors.ts"
import { make } from "../support/Collections.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"
import { lineOf, ray, setZones } from "../support/Zones.ts"

const HOME = [9.5, 47.1] as const

const LINE = ray(HOME, 1, 6000)

const LAST = LINE.length - 1

const cue = (begin_shape_index: number, instruction: string) => ({
  instruction,
  type: 10,
  begin_shape_index,
  length: 1,
  time: 60
})

const Cues = Schema.decodeUnknownSync(Schema.Struct({
  cues: Schema.Array(Schema.Struct({ instruction: Schema.String, begin_shape_index: Schema.Int }))
}))

const Uses = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ uses: Schema.Int })))

const Profile = Schema.decodeUnknownSync(Schema.Struct({ distance: Schema.Finite }))

const unlisted = Effect.gen(function*() {
  const rider = yield* signedIn
  const cues = [cue(0, "Leave Gartenweg."), cue(LAST, "Arrive at Waldrand.")]
  const { body } = yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry: LINE, cues }))
  return { rider, route: created(body), visitor: yield* anonymous }
})

const linkOf = (body: unknown) => Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(body).token

layer(TestServer.layer())("what is shared", (it) => {
  it.effect("has the cues of the line that others see, with indexes into it, in files too", () =>
    Effect.gen(function*() {
      const { rider, route: { id, shareToken }, visitor } = yield* unlisted
      const read = visitor.get(`/routes/${shareToken}`)
      assert.lengthOf(Cues((yield* read).body).cues, 2)
      yield* setZones(rider, [{ center: HOME, radius: 500 }])
      const { body } = yield* read
      const line = lineOf(body)
      assert.isBelow(line.length, LINE.length)
      assert.deepStrictEqual(
        Cues(body).cues.map(({ begin_shape_index, instruction }) => [begin_shape_index, instruction]),
        [[line.length - 1, "Arrive at Waldrand."]]
      )
      for (const format of ["gpx", "tcx", "kml", "geojson"]) {
        const { text } = yield* visitor.get(`/routes/${shareToken}/${format}`)
        assert.notInclude(text, "Gartenweg", format)
      }
      assert.lengthOf(Cues((yield* rider.get(`/routes/${id}`)).body).cues, 2)
    }))

  it.effect("is drawn and measured without what is in a privacy zone", () =>
    Effect.gen(function*() {
      const { rider, route: { shareToken }, visitor } = yield* unlisted
      const seen = Effect.gen(function*() {
        const picture = yield* visitor.get(`/routes/${shareToken}/picture.svg`)
        const { distance } = Profile((yield* visitor.get(`/routes/${shareToken}/profile`)).body)
        return { picture, metres: distance }
      })
      const before = yield* seen
      assert.strictEqual(before.picture.status, 200)
      yield* setZones(rider, [{ center: HOME, radius: 2000 }])
      const after = yield* seen
      assert.notStrictEqual(after.picture.text, before.picture.text)
      assert.notStrictEqual(after.picture.headers.get("etag"), before.picture.headers.get("etag"))
      assert.isBelow(after.metres, before.metres - 2000)
      assert.notStrictEqual((yield* rider.get(`/routes/${shareToken}/picture.svg`)).text, after.picture.text)
    }))

  it.effect("by a link has a page and pictures, of which the page is the one use, and downloads where the link allows", () =>
    Effect.gen(function*() {
      const { rider, route: { id }, visitor } = yield* unlisted
      const path = `/routes/${id}/links`
      const token = linkOf((yield* rider.post(path, { allowDownload: false })).body)
      const page = yield* visitor.get(`//r/${token}`)
      assert.strictEqual(page.status, 200)
      assert.notInclude(page.text, "/gpx\"")
      assert.include((yield* visitor.get(`//r/${linkOf((yield* rider.post(path, {})).body)}`)).text, "/gpx\"")
      for (const query of ["", "?width=900&profile=true"]) {
        assert.strictEqual((yield* visitor.get(`/routes/${token}/picture.svg${query}`)).status, 200)
      }
      const uses = Effect.map(rider.get(path), ({ body }) => Uses(body).map((link) => link.uses))
      yield* TestClock.adjust("1 minute")
      yield* until(Effect.map(uses, ([newer]) => newer !== 0))
      assert.deepStrictEqual(yield* uses, [1, 1])
    }))

  it.effect("by a link to a collection names its unlisted routes, and has no page for them", () =>
    Effect.gen(function*() {
      const { rider, route: { id, shareToken }, visitor } = yield* unlisted
      const collection = yield* make(rider, { visibility: "unlisted", routeIds: [id] })
      const token = linkOf((yield* rider.post(`/collections/${collection.id}/links`, {})).body)
      const { status, text } = yield* visitor.get(`//c/${token}`)
      assert.strictEqual(status, 200)
      assert.include(text, "<li><h2>")
      assert.notInclude(text, shareToken)
      assert.notInclude(text, "undefined")
    }))
})
