import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { document, operations } from "../support/OpenApi.ts"
import { idOf, idsIn, issuePaths, newRoute, shareTokenOf } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"

const ADMIN = "admin@example.com"

const LINE = [[9.5, 47.1], [9.51, 47.11], [9.52, 47.12]]

const tagOf = ({ headers }: Answer) => headers.get("etag") ?? ""

const Messages = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN }))("entity tags", (it) => {
  it.effect("are on every list and file, which answer 304 to them until something changes", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ email: ADMIN })
      const made = yield* rider.post("/routes", newRoute({ visibility: "public", geometry: LINE, tags: ["a"] }))
      const id = idOf(made.body)
      const collection = idOf((yield* rider.post("/collections", { name: "All", routeIds: [id] })).body)
      yield* rider.patch(`/collections/${collection}`, { visibility: "public" })
      const links = `/routes/${id}/links`
      yield* rider.post(links, { label: "club" })
      yield* rider.post(`/collections/${collection}/links`, {})
      yield* rider.post("/auth/tokens", { name: "script", scope: "read" })
      const lists = operations.filter(({ method, operation, path }) =>
        method === "GET" && path.startsWith("/api/v1/") && operation.parameters.some(({ name }) => name === "offset")
      ).map(({ path }) => path.replace("/api/v1", ""))
      const files = ["gpx", "geojson", "tcx", "kml", "fit"].map((format) => `/routes/{ref}/${format}`)
      assert.isAbove(lists.length, 14)
      // Each read of the audit is an entry of it.
      for (const path of [...lists, ...files].filter((path) => path !== "/admin/audit")) {
        const filled = path.replace("{userId}", String(rider.id)).replace(
          /\{\w+\}/,
          String(path.startsWith("/collections") ? collection : id)
        )
        const whole = yield* rider.get(filled)
        assert.strictEqual(whole.status, 200, path)
        assert.match(tagOf(whole), /^(W\/)?"[!-~]+"$/, path)
        for (const known of [tagOf(whole), `"other", ${tagOf(whole)}`, "*"]) {
          const again = yield* rider.get(filled, { headers: { "if-none-match": known } })
          assert.strictEqual(again.status, 304, path)
          assert.strictEqual(again.text, "", path)
          assert.strictEqual(tagOf(again), tagOf(whole), path)
          assert.strictEqual(again.headers.get("vary"), whole.headers.get("vary"), path)
        }
        const other = yield* rider.get(filled, { headers: { "if-none-match": "\"other\"" } })
        assert.strictEqual(other.status, 200, path)
        assert.strictEqual(other.text, whole.text, path)
        const head = yield* rider.call("HEAD", filled, { headers: { "if-none-match": tagOf(whole) } })
        assert.strictEqual(head.status, 304, path)
      }

      const read = Effect.forEach(
        ["/routes", `/routes/by-user/${rider.id}`, `/collections/${collection}/routes`, `/routes/${id}/gpx`],
        (path) => Effect.map(rider.get(path), tagOf)
      )
      const before = yield* read
      yield* rider.patch(`/routes/${id}`, { geometry: LINE.toReversed() })
      const after = yield* read
      before.forEach((tag, index) => assert.notStrictEqual(after[index], tag))
    }))

  it.effect("of a list differ by its page, its form, its total and by who asks", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const visibility of ["public", "private"]) {
        yield* rider.post("/routes", newRoute({ visibility, geometry: LINE, favourite: true }))
      }
      const nobody = yield* anonymous
      const byUser = `/routes/by-user/${rider.id}`
      const answers = [
        yield* rider.get("/routes"),
        yield* rider.get("/routes?limit=1"),
        yield* rider.get("/routes?geometry=none"),
        yield* rider.get("/routes?geometry=polyline6"),
        yield* rider.get("/routes?q=nothing"),
        yield* nobody.get(byUser)
      ]
      assert.strictEqual(new Set(answers.map(tagOf)).size, answers.length)
      const first = yield* rider.get("/routes?limit=1")
      yield* rider.delete(`/routes/${idsIn((yield* rider.get("/routes?limit=1&offset=1")).body).join("")}`)
      assert.notStrictEqual(tagOf(yield* rider.get("/routes?limit=1")), tagOf(first))
    }))

  it.effect("of a file differ by its format, and hide with the route", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry: LINE }))
      const nobody = yield* anonymous
      const path = `/routes/${shareTokenOf(route.body)}`
      const gpx = yield* nobody.get(`${path}/gpx`)
      assert.notStrictEqual(tagOf(gpx), tagOf(yield* nobody.get(`${path}/kml`)))
      assert.strictEqual(gpx.headers.get("cache-control"), "no-store")
      yield* rider.patch(`/routes/${idOf(route.body)}`, { visibility: "private" })
      const hidden = yield* nobody.get(`${path}/gpx`, { headers: { "if-none-match": tagOf(gpx) } })
      assert.strictEqual(hidden.status, 404)
    }))

  it.effect("that cannot be read are refused in If-Match, and name the header", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const made = yield* rider.post("/routes", newRoute({}))
      const id = idOf(made.body)
      const collection = idOf((yield* rider.post("/collections", { name: "All", routeIds: [id] })).body)
      const tag = tagOf(made)
      const unreadable = [
        "nonsense",
        "3",
        tag.slice(2, -1),
        tag.replaceAll("\"", ""),
        `w/${tag.slice(2)}`,
        "*, *",
        ",",
        "\"a\" \"b\""
      ]
      for (const header of unreadable) {
        const headers = { "if-match": header }
        const answers = [
          yield* rider.patch(`/routes/${id}`, { name: "x" }, { headers }),
          yield* rider.delete(`/routes/${id}`, { headers }),
          yield* rider.patch(`/collections/${collection}`, { name: "x" }, { headers }),
          yield* rider.call("PUT", `/collections/${collection}/routes`, { body: { routeIds: [] }, headers }),
          yield* rider.delete(`/collections/${collection}/routes/${id}`, { headers })
        ]
        for (const { body, status } of answers) {
          assert.strictEqual(status, 400, header)
          assert.deepStrictEqual(issuePaths(body), ["header.If-Match"], header)
          assert.include(Messages(body).message, "entity tags", header)
        }
        const operations = [{ op: "update", id, ifMatch: header, changes: { name: "x" } }]
        const batch = yield* rider.post("/routes/batch", { atomic: true, operations })
        assert.strictEqual(batch.status, 400, header)
        assert.deepStrictEqual(issuePaths(batch.body), ["body.operations.0.ifMatch"], header)
      }
      const readable = [`"other", ${tag}`, `${tag},"a,b"`, ` ${tag} , , "c"`, `, ,${tag}`, "*"]
      for (const header of readable) {
        const answer = yield* rider.patch(`/routes/${id}`, {}, { headers: { "if-match": header } })
        assert.strictEqual(answer.status, 200, header)
      }
      const stale = yield* rider.patch(`/routes/${id}`, {}, { headers: { "if-match": "\"7-full-0\", \"x\"" } })
      assert.strictEqual(stale.status, 409)
    }))

  it.effect("are declared with 304 and If-None-Match on every list and file", () =>
    Effect.sync(() => {
      const tagged = operations.filter(({ method, operation }) =>
        method === "GET" && operation.parameters.some(({ name }) => name === "offset" || name === "If-None-Match")
      )
      assert.isAbove(tagged.length, 20)
      for (const { operation, path } of tagged) {
        assert.property(operation.responses, "304", path)
        assert.include(operation.parameters.map(({ name }) => name), "If-None-Match", path)
      }
      for (const format of ["gpx", "geojson", "tcx", "kml", "fit"]) {
        assert.property(document.paths[`/api/v1/routes/{ref}/${format}`]?.["get"]?.responses, "304")
      }
    }))
})

layer(TestServer.layer())("the values of a body", (it) => {
  it.effect("are as many as the document says: those that the schema has room for, and 100,000 more", () =>
    Effect.gen(function*() {
      assert.include(document.info.description, "100,000 values more than its schema has room for")
      const rider = yield* signedIn
      const send = (values: number) =>
        Effect.map(
          rider.post("/routes", newRoute({ ignored: Array.from({ length: values }, () => 0) })),
          ({ status }) => status
        )
      assert.strictEqual(yield* send(100_000), 201)
      assert.strictEqual(yield* send(1_500_000), 400)
    }))
})
