import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Actor, anonymous, signedIn, withHeaders } from "../support/Actors.ts"
import { makeRoute } from "../support/Collections.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, type Call, TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"

const Refusal = Schema.decodeUnknownSync(Schema.Struct({
  statusCode: Schema.Int,
  message: Schema.String,
  details: Schema.optionalKey(Schema.Struct({
    reason: Schema.optionalKey(Schema.String),
    issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
  }))
}))

type Expected = readonly [status: number, words: RegExp, reason?: string]

type Mistake = readonly [what: string, method: string, path: string, call: Call, expected: Expected]

const json = { "content-type": "application/json" }

const body = (members: Readonly<Record<string, unknown>>): Call => ({ body: newRoute(members) })

const route = (id: number): ReadonlyArray<Mistake> => [
  ["a slash at the end", "GET", "/routes/", {}, [404, /expected \/api\/v1\/routes$/]],
  ["two slashes", "GET", "/routes//public", {}, [404, /expected \/api\/v1\/routes\/public$/]],
  ["no /api/v1", "GET", "//routes", {}, [404, /expected \/api\/v1\/routes$/]],
  ["neither /api/v1 nor an end without a slash", "GET", "//routes/", {}, [404, /expected \/api\/v1\/routes$/]],
  ["a path that is none", "GET", "/tracks", {}, [404, /^No such path$/]],
  ["a method that the path has not", "PUT", `/routes/${id}`, {}, [405, /one of the methods PATCH, /]],
  ["PATCH by share token", "PATCH", `/routes/${"a".repeat(32)}`, body({}), [404, /path\.id: .*decimal .*share token/]],
  ["an id that is none", "GET", "/routes/latest", {}, [
    404,
    /: Expected a share token, 32 hex .*: Expected an id, a decimal number$/
  ]],
  ["a misspelt parameter", "GET", "/routes?limits=5", {}, [400, /query\.limits: Unknown parameter: .*limit, /]],
  ["a parameter where there is none", "GET", "/users/me?x=1", {}, [400, /query\.x: Unknown parameter: Expected none/]],
  ["a text in Latin-1", "GET", "/routes?q=Z%FCrich", {}, [400, /^query: Expected UTF-8, percent-encoded$/]],
  ["a limit of 500", "GET", "/routes?limit=500", {}, [400, /query\.limit: .*1 and 200/]],
  ["a limit that is a word", "GET", "/routes?limit=all", {}, [400, /query\.limit: .*plain decimal number/]],
  ["a sort that is none", "GET", "/routes?sort=date", {}, [400, /query\.sort: .*-createdAt/]],
  ["a bbox of three", "GET", "/routes?bbox=1,2,3", {}, [400, /query\.bbox: .*minLng,minLat,maxLng,maxLat/]],
  ["a format of geometry that is none", "GET", "/routes?geometry=gpx", {}, [400, /query\.geometry: .*"simplified"/]],
  ["a body without a content type", "POST", "/routes", { raw: "{}" }, [
    415,
    /^Content-Type: expected application\/json, /
  ]],
  ["a form in place of JSON", "POST", "/routes", {
    raw: "name=x",
    headers: { "content-type": "application/x-www-form-urlencoded" }
  }, [415, /^Content-Type: expected application\/json, /]],
  ["a comma too many", "POST", "/routes", { raw: "{\"name\":\"x\",}", headers: json }, [400, /position 12/]],
  ["single quotes", "POST", "/routes", { raw: "{'name':'x'}", headers: json }, [400, /position 1 /]],
  ["an empty body", "POST", "/routes", { raw: "", headers: json }, [400, /end of JSON input/]],
  ["an array in place of a route", "POST", "/routes", { body: [] }, [400, /an object with `name`, `waypoints`/]],
  ["a batch that is an array", "POST", "/routes/batch", { body: [{}] }, [400, /an object with `operations`/]],
  ["a route without a name", "POST", "/routes", { body: { waypoints: [{ coord: [9, 47] }] } }, [
    400,
    /body\.name: Required, but missing/
  ]],
  ["no waypoints", "POST", "/routes", body({ waypoints: [] }), [400, /body\.waypoints: .*at least 1/]],
  ["a waypoint that is a pair", "POST", "/routes", body({ waypoints: [[9, 47]] }), [
    400,
    /body\.waypoints\.0: Expected an object with `coord`/
  ]],
  ["latitude first", "POST", "/routes", body({ waypoints: [{ coord: [47, 139] }] }), [
    400,
    /body\.waypoints\.0\.coord\.1: .*latitude of -90 to 90 degrees: longitude comes first/
  ]],
  ["coordinates as text", "POST", "/routes", body({ waypoints: [{ coord: ["9", "47"] }] }), [
    400,
    /body\.waypoints\.0\.coord\.0: Expected number/
  ]],
  ["a visibility that is none", "POST", "/routes", body({ visibility: "shared" }), [
    400,
    /body\.visibility: .*"private".*"unlisted".*"public"/
  ]],
  ["an activity that is none", "POST", "/routes", body({ activity: "bike" }), [400, /body\.activity: .*"cycle"/]],
  ["a distance in words", "POST", "/routes", body({ distance: "5 km" }), [400, /body\.distance: Expected .*number/]],
  ["a negative distance", "POST", "/routes", body({ distance: -1 }), [400, /body\.distance: .*0/]],
  ["a tag with an accent and a space", "POST", "/routes", body({ tags: ["Schöne Tour"] }), [
    400,
    /body\.tags\.0: .*a-z, 0-9 and "-".*"schoene-tour"/
  ]],
  ["a tag of the service's own region", "POST", "/routes", body({ tags: ["Provence-Alpes-Côte d'Azur"] }), [
    400,
    /"provence-alpes-cote-d-az"/
  ]],
  ["tags as one text", "POST", "/routes", body({ tags: "a,b" }), [400, /body\.tags: Expected array/]],
  ["a geometry and a polyline6", "POST", "/routes", body({ geometry: [[1, 2], [3, 4]], polyline6: "??" }), [
    400,
    /either geometry or polyline6/
  ]],
  ["an If-Match that is a number", "PATCH", `/routes/${id}`, { body: {}, headers: { "if-match": "3" } }, [
    400,
    /header\.If-Match: .*entity tags as `ETag` has them/
  ]],
  ["an If-Match of another version", "PATCH", `/routes/${id}`, { body: {}, headers: { "if-match": "\"9-full-0\"" } }, [
    409,
    /was changed meanwhile/,
    "stale"
  ]],
  ["a handle with a capital", "PATCH", "/users/me", { body: { handle: "Ada L" } }, [400, /body\.handle: .*a-z, 0-9/]],
  ["publishing without a confirmation", "PATCH", `/routes/${id}`, { body: { visibility: "public" } }, [
    428,
    /Send X-Service-Confirm: true/
  ]],
  ["an HTML page in place of a GPX", "POST", "/routes/import", {
    raw: "<html></html>",
    headers: { "content-type": "application/gpx+xml" }
  }, [400, /Expected a route file, not an HTML page/]],
  ["a call that is for sessions", "GET", "/me/sessions", {}, [403, /expected a session/, "session_required"]]
]

const CREDENTIALS: ReadonlyArray<readonly [what: string, authorization: string, expected: Expected]> = [
  ["Token in place of Bearer", "Token service_pat_x", [401, /expected Bearer/, "authorization_malformed"]],
  ["a token with a typo", "Bearer service_pat_abc", [401, /malformed: its checksum/, "token_malformed"]]
]

const TRACK =
  "<gpx version=\"1.1\" xmlns=\"http://www.topografix.com/GPX/1/1\"><trk><trkseg><trkpt lat=\"47.1\" lon=\"9.5\"/><trkpt lat=\"47.2\" lon=\"9.6\"/></trkseg></trk></gpx>"

layer(TestServer.layer())("a mistake", (it) => {
  it.effect("is answered by what is wrong, where, and what is accepted: 44 of them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* withToken((yield* mint(rider, "write")).token)
      const mistakes = route(yield* makeRoute(rider))
      assert.strictEqual(mistakes.length + CREDENTIALS.length, 44)
      const credentials = CREDENTIALS.map(([what, authorization, expected]): Mistake => [
        what,
        "GET",
        "/routes",
        { headers: { authorization } },
        expected
      ])
      const misleading: Array<string> = []
      for (const [what, method, path, call, [status, words, reason]] of [...mistakes, ...credentials]) {
        const answer = yield* (call.headers?.["authorization"] === undefined ? script : yield* anonymous)
          .call(method, path, call)
        const { details, message } = Refusal(answer.body)
        const isMendable = answer.status === status && words.test(message)
          && !/RegExp|<filter>|Missing key/.test(message)
          && (reason === undefined || details?.reason === reason)
          && (details?.issues ?? []).every(({ path }) => /^(body|query|header|path)(\.|$)/.test(path))
        if (!isMendable) misleading.push(`${what}: ${answer.text}`)
      }
      assert.deepStrictEqual(misleading, [])
    }))

  it.effect("is no percent sign that stands for itself", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/routes", newRoute({ name: "100% gravel" }))
      const found = yield* rider.get("/routes?q=100%")
      assert.deepStrictEqual([found.status, found.text.includes("100% gravel")], [200, true])
    }))

  it.effect("in a path, a credential or an operation says where to go", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* withToken((yield* mint(rider, "write")).token)
      const nobody = yield* anonymous
      const id = yield* makeRoute(rider)
      const link = (yield* rider.post(`/routes/${id}/links`, {})).body
      yield* rider.call("POST", "/routes/import", { raw: TRACK })
      const bearing = (authorization: string): Call => ({ headers: { authorization } })
      const mistakes: ReadonlyArray<readonly [Actor, ...Mistake]> = [
        [script, "POST without /api/v1", "POST", "//routes", body({}), [404, /expected \/api\/v1\/routes$/]],
        [script, "DELETE without /api/v1", "DELETE", `//routes/${id}`, {}, [404, /expected \/api\/v1\/routes\/\d+$/]],
        [script, "no v1", "GET", "//api/routes", {}, [404, /expected \/api\/v1\/routes$/]],
        [script, "another version", "GET", "//api/v2/routes/public", {}, [404, /expected \/api\/v1\/routes\/public$/]],
        [script, "a file that is none", "GET", "//assets/none.js", {}, [404, /^No such path$/]],
        [script, "PATCH of a list", "PATCH", "/routes/public", body({}), [405, /one of the methods GET, HEAD$/]],
        [nobody, "DELETE of a collective call", "DELETE", "/routes/batch", {}, [405, /one of the methods POST$/]],
        [script, "capitals", "GET", "/Routes", {}, [404, /expected \/api\/v1\/routes$/]],
        [script, "a slash after a POST", "POST", "/collections/", { body: { name: "x" } }, [
          404,
          /expected \/api\/v1\/collections$/
        ]],
        [nobody, "the bare token", "GET", "/routes", bearing("service_pat_x"), [
          401,
          /expected Bearer/,
          "authorization_malformed"
        ]],
        [nobody, "a password of Basic", "GET", "/routes", bearing("Basic YTpi"), [
          401,
          /expected Bearer/,
          "authorization_malformed"
        ]],
        [nobody, "no credential", "GET", "/routes", {}, [401, /Sign in .*Authorization: Bearer/, "not_signed_in"]],
        [script, "a confirmation of yes", "DELETE", `/routes/${id}`, { headers: { "x-service-confirm": "yes" } }, [
          428,
          /X-Service-Confirm: true/
        ]],
        [
          script,
          "an operation that is none",
          "POST",
          "/routes/batch",
          { body: { operations: [{ op: "remove", id }] } },
          [
            200,
            /body\.operations\.0: .*`op` of .*"delete"/
          ]
        ],
        [script, "a deletion of a link unconfirmed", "POST", "/routes/batch", {
          body: { operations: [{ op: "deleteLink", routeId: id, linkId: Object(link).id }] }
        }, [428, /X-Service-Confirm: true/]],
        [
          script,
          "an object in place of a coordinate",
          "POST",
          "/routes",
          body({
            waypoints: [{ coord: { lat: 47, lng: 9 } }]
          }),
          [400, /body\.waypoints\.0\.coord: Expected .*array/]
        ],
        [script, "latitude first in a geometry", "POST", "/routes", body({ geometry: [[47, 139], [48, 139]] }), [
          400,
          /body\.geometry\.0: Expected \[lng, lat\].* longitude first/
        ]],
        [script, "GeoJSON in place of positions", "POST", "/routes", body({ geometry: { type: "LineString" } }), [
          400,
          /body\.geometry: Expected an array of positions, such as \[\[9\.52, 47\.14\], /
        ]],
        [script, "a parameter twice", "GET", "/routes?limit=5&limit=6&sort=name&sort=name", {}, [
          400,
          /query\.sort: Expected the parameter once; query\.limit: Expected the parameter once/
        ]],
        [script, "too many tags", "GET", `/routes?${"tag=alps&".repeat(101)}`, {}, [400, /query\.tag: .*at most \d+/]],
        [script, "a day in place of an instant", "GET", "/routes?updatedSince=2026-06-01", {}, [
          400,
          /query\.updatedSince: .*such as 2026-06-01T08:00:00Z/
        ]],
        [script, "a distance below 0", "GET", "/routes?minDistance=-1", {}, [
          400,
          /query\.minDistance: Expected a number of metres from 0 to \d+/
        ]],
        [script, "preferences that are a text", "PATCH", "/users/me", { body: { preferences: "metric" } }, [
          400,
          /body\.preferences: Expected an object or null$/
        ]],
        [script, "a visibility with a capital", "POST", "/routes", body({ visibility: "Public" }), [
          400,
          /body\.visibility: .*"public"/
        ]],
        [script, "a bad edit in a batch", "POST", "/routes/batch", {
          body: { operations: [{ op: "create", route: newRoute({ waypoints: [{ coord: [9, 147] }] }) }] }
        }, [200, /body\.operations\.0\.route\.waypoints\.0\.coord\.1: .*latitude/]],
        [script, "a file that is there already", "POST", "/routes/import", { raw: TRACK }, [
          409,
          /duplicates=allow/,
          "duplicate_route"
        ]],
        [script, "a file of two tracks", "POST", "/routes/import", { raw: TRACK.replace(/<trk>.*<\/trk>/, "$&$&") }, [
          400,
          /split=true, join=true or track=0 to 1/
        ]],
        [script, "an export by a token", "GET", "/users/me/export", {}, [
          403,
          /expected a session/,
          "session_required"
        ]],
        [script, "a token by a token", "POST", "/auth/tokens", { body: { name: "x", scope: "read" } }, [
          403,
          /expected a session/,
          "session_required"
        ]],
        [script, "an invitation by a token", "POST", "/admin/invitations", { body: { email: "a@example.com" } }, [
          403,
          /expected a session/,
          "session_required"
        ]]
      ]
      const misleading: Array<string> = []
      for (const [actor, what, method, path, call, [status, words, reason]] of mistakes) {
        const answer = yield* actor.call(method, path, call)
        const said = status === 200 ? answer.text.replaceAll("\\\"", "\"") : Refusal(answer.body).message
        const isMendable = answer.status === status && words.test(said)
          && (reason === undefined || Refusal(answer.body).details?.reason === reason)
        if (!isMendable) misleading.push(`${what}: ${answer.text}`)
      }
      assert.deepStrictEqual(misleading, [])
    }))

  it.effect("in the name of a member is named with what was meant, and what a response has is not", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ignoredBy = (call: Effect.Effect<Answer>) =>
        Effect.map(call, ({ headers, status }) => [status, headers.get("x-ignored-members")])
      const { body: route } = yield* rider.post("/routes", newRoute({ name: "One" }))
      const { id } = created(route)
      const waypoints = [{ coord: [9.5, 47.1], Name: "Start", colour: "red" }]
      assert.deepStrictEqual(yield* ignoredBy(rider.post("/routes", newRoute({ favorite: true, waypoints }))), [
        201,
        "waypoints.0.Name (did you mean name?), waypoints.0.colour, favorite (did you mean favourite?)"
      ])
      assert.deepStrictEqual(yield* ignoredBy(rider.patch(`/routes/${id}`, { Visibility: "public", tag: ["a"] })), [
        200,
        "Visibility (did you mean visibility?), tag (did you mean tags?)"
      ])
      assert.deepStrictEqual(yield* ignoredBy(rider.patch(`/routes/${id}`, route)), [200, null])
      for (const [status, last] of [[200, [9.6, 47.2, 4.5e2]], [400, null]]) {
        const change = { geometry: [[9.5, 47.1], last], tag: ["a"] }
        assert.deepStrictEqual(yield* ignoredBy(rider.patch(`/routes/${id}`, change)), [
          status,
          "tag (did you mean tags?)"
        ])
      }
      assert.deepStrictEqual(yield* ignoredBy(rider.post("/routes", { nme: "x", waypoints: [{ coord: [9, 47] }] })), [
        400,
        "nme (did you mean name?)"
      ])
      const changes = { naem: "x" }
      assert.deepStrictEqual(
        yield* ignoredBy(rider.post("/routes/batch", { atomc: true, operations: [{ op: "update", id, changes }] })),
        [200, "atomc (did you mean atomic?), operations.0.changes.naem (did you mean name?)"]
      )
      assert.deepStrictEqual(yield* ignoredBy(rider.patch("/users/me", { preferences: { unit: "metric" } })), [
        200,
        "preferences.unit (did you mean units?)"
      ])
      assert.deepStrictEqual(yield* ignoredBy(rider.patch("/users/me", (yield* rider.get("/users/me")).body)), [
        200,
        null
      ])
      const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`ünknown\r\n${n}`, n]))
      const [status, named] = yield* ignoredBy(rider.post("/collections", { name: "x", ...many }))
      assert.strictEqual(status, 201)
      assert.match(String(named), /^(%C3%BCnknown%0D%0A\d+(, |$)){10}$/)
      const long = { name: "x", [`a${"ü".repeat(20_000)}`]: 1 }
      const [longStatus, longNamed] = yield* ignoredBy(rider.post("/collections", long))
      assert.deepStrictEqual([longStatus, String(longNamed).length], [201, 1024])
    }))

  it.effect("of coordinates in the wrong order, where both are possible, is a warning where the line is elsewhere", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = [[9.5209, 47.1415], [9.5254, 47.144]]
      const stored = (coord: ReadonlyArray<number>) =>
        Effect.map(rider.post("/routes", newRoute({ geometry, waypoints: [{ coord }] })), ({ body }) => Object(body))
      const { id, warnings } = yield* stored([47.1415, 9.5209])
      assert.deepInclude(warnings[0], { code: "coordinates_swapped", count: 1 })
      assert.match(warnings[0].message, /\[lng, lat\], longitude first$/)
      assert.isNumber(id)
      const operations = [{ op: "create", route: newRoute({ geometry, waypoints: [{ coord: [47.1415, 9.5209] }] }) }]
      const { body } = yield* rider.post("/routes/batch", { operations })
      assert.deepStrictEqual(Object(body).results[0].route.warnings, warnings)
      assert.notProperty(yield* stored([9.5209, 47.1415]), "warnings")
      assert.notProperty(yield* stored([-70, 10]), "warnings")
    }))

  it.effect("of a script is named as its reason, and one of a person too", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const id = yield* makeRoute(rider)
      const reader = yield* withToken((yield* mint(rider, "read")).token)
      const nobody = yield* anonymous
      const { handle } = Schema.decodeUnknownSync(Schema.Struct({ handle: Schema.String }))(
        (yield* other.get("/users/me")).body
      )
      const key = { headers: { "idempotency-key": "one" } }
      yield* rider.post("/routes", newRoute({}), key)
      const stale = yield* rider.patch(`/routes/${id}`, { name: "x" }, { headers: { "if-match": "\"9-full-0\"" } })
      const wrong = { currentPassword: "not this one", newPassword: "a fine pass phrase" }
      const newcomer = { email: other.email, password: "not this one" }
      const answers = [
        [nobody.get("/routes"), "not_signed_in"],
        [(yield* withHeaders({ authorization: "Bearer x.y.z" })).get("/routes"), "session_invalid"],
        [nobody.post("/auth/login-email", newcomer), "wrong_credentials"],
        [reader.post("/routes", newRoute({})), "insufficient_scope"],
        [reader.get("/me/sessions"), "session_required"],
        [rider.get("/admin/overview"), "administrator_required"],
        [rider.delete(`/routes/${id}`, { headers: { origin: "https://evil.example" } }), "cross_site"],
        [rider.post("/users/me/password", wrong), "current_password_wrong"],
        [rider.patch("/users/me", { handle }), "handle_taken"],
        [rider.post("/routes", newRoute({ name: "Another" }), key), "key_reused"],
        [rider.post("/users/me/cancel-deletion"), "nothing_to_cancel"],
        [Effect.succeed(stale), "stale"]
      ] as const
      for (const [answer, reason] of answers) {
        assert.strictEqual(Refusal((yield* answer).body).details?.reason, reason)
      }
      yield* rider.delete("/users/me")
      assert.strictEqual(Refusal((yield* reader.get("/routes")).body).details?.reason, "account_pending_deletion")
      assert.isNumber(created((yield* other.post("/routes", newRoute({}))).body).id)
    }))
})
