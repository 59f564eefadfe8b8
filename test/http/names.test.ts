import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { anonymous, newEmail, signedIn, signedInAs, signedUpAs } from "../support/Actors.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

/** They are overrides, isolates, marks, spaces without width, a soft hyphen, a byte order mark, tags and joiners. */
const HIDDEN = "\u202E\u202A\u2066\u2069\u200E\u200F\u061C\u200B\u2060\u00AD\uFEFF\u{E0041}\u200D\u200C"

const hidden = /[\p{Cf}]/u

/** People have these names, with joiners and tags that belong into them. */
const SPELT = ["می‌خواهم", "क्‍ष", "Anna 👩‍👩‍👧", "Lea 👩🏽‍🚒", "Jo 🏳️‍🌈", "Isla 🏴󠁧󠁢󠁳󠁣󠁴󠁿"]

const nameIn = (body: unknown) => Schema.decodeUnknownSync(Schema.Struct({ name: Schema.String }))(body).name

layer(TestServer.layer())("names of people", (it) => {
  it.effect("have no invisible characters, by whatever way they come", () =>
    Effect.gen(function*() {
      const rider = yield* signedUpAs({ name: `Alma${HIDDEN} ${HIDDEN}Rider${HIDDEN}` })
      assert.strictEqual(nameIn((yield* rider.get("/users/me")).body), "Alma Rider")
      assert.strictEqual(
        nameIn((yield* rider.patch("/users/me", { name: `${HIDDEN} Berta${HIDDEN} ` })).body),
        "Berta"
      )
      const nameless = { email: `evil\u202Eresu\u200B-${newEmail()}`, password: rider.password }
      assert.strictEqual((yield* (yield* anonymous).post("/auth/signup-email", nameless)).status, 400)
    }))

  it.effect("of nothing but invisible characters are refused", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const name of [HIDDEN, ` ${HIDDEN} `]) {
        assert.strictEqual((yield* rider.patch("/users/me", { name })).status, 400)
      }
      assert.strictEqual((yield* rider.patch("/users/me", { name: `${HIDDEN}${"x".repeat(100)}` })).status, 200)
    }))

  it.effect("keep the joiners of their script, of emoji and of flags", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const name of SPELT) {
        assert.strictEqual(nameIn((yield* rider.patch("/users/me", { name })).body), name)
      }
    }))
})

layer(TestServer.layer())("the name of a route", (it) => {
  it.effect("is stored as it was sent, and has no invisible characters as the name of a file and on pages", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Alma Rider" })
      const name = `Loop\u202Exe.gpx\u2066`
      const geometry = [[9.5, 47.1], [9.6, 47.2]]
      const route = created((yield* rider.post("/routes", newRoute({ name, geometry, visibility: "public" }))).body)
      assert.strictEqual(route.name, name)
      for (const format of ["gpx", "geojson", "tcx", "kml", "fit"]) {
        const { headers, status } = yield* rider.get(`/routes/${route.id}/${format}`)
        assert.strictEqual(status, 200)
        assert.strictEqual(headers.get("content-disposition"), `attachment; filename=Loopxe.gpx.${format}`)
      }
      const visitor = yield* anonymous
      const page = yield* visitor.get(`//r/${shareTokenOf(route)}`)
      assert.include(page.text, "<h1>Loopxe.gpx</h1>")
      const address = encodeURIComponent(`http://localhost:3000/r/${shareTokenOf(route)}`)
      const embedded = yield* visitor.get(`//oembed?url=${address}`)
      assert.deepInclude(embedded.body, { title: "Loopxe.gpx" })
      for (const { status, text } of [page, embedded]) {
        assert.strictEqual(status, 200)
        assert.notMatch(text, hidden)
      }
    }))
})
