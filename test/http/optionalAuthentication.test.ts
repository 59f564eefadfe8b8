import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { OptionalAuthentication, SESSION_COOKIE, StaleCookie } from "../../src/http/api/Access.ts"
import { Api } from "../../src/http/api/Api.ts"
import { SESSION_TOKEN_LIFETIME } from "../../src/schema/Limits.ts"
import { anonymous, type Rider, signedIn, withHeaders } from "../support/Actors.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

const using = ({ key }: { readonly key: string }) =>
  endpoints.filter(({ middlewares }) => [...middlewares].some((each) => each.key === key))

/** This is there to be read of a rider, by the parameters of paths. */
interface Published {
  readonly rider: Rider
  readonly handle: string
  readonly route: string
  readonly collection: string
}

const publishedBy = Effect.fnUntraced(function*(rider: Rider) {
  const visible = { visibility: "public" }
  const route = created(
    (yield* rider.post("/routes", newRoute({ ...visible, geometry: [[9.5, 47.1], [9.6, 47.2]] }))).body
  )
  const members = { name: "Summer", ...visible, routeIds: [route.id] }
  const collection = created((yield* rider.post("/collections", members)).body)
  const handle = /"handle":"([^"]+)"/.exec((yield* rider.get("/users/me")).text)?.[1] ?? ""
  const published: Published = { rider, handle, route: String(route.id), collection: String(collection.id) }
  return published
})

const pathOf = (path: string, { collection, handle, rider, route }: Published) =>
  path.replace("/api/v1", "").replace("collections/:ref", `collections/${collection}`).replace(":ref", route).replace(
    ":userId",
    String(rider.id)
  ).replace(":handle", handle)

/** The routing engine is away here: its endpoints are called with nothing, which is their own 400. */
const callOf = (method: string) => method === "POST" ? { body: {} } : {}

const statusOf = (method: string) => method === "POST" ? 400 : 200

const cookieIn = ({ headers }: Answer) => headers.getSetCookie().join()

const CLEARED =
  `${SESSION_COOKIE}=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax`

const withCookie = (value: string) => withHeaders({ cookie: `${SESSION_COOKIE}=${value}` })

const badCookies = Effect.gen(function*() {
  const expiring = yield* signedIn
  yield* TestClock.adjust(SESSION_TOKEN_LIFETIME)
  const revoked = yield* signedIn
  yield* revoked.post("/auth/logout")
  const { token } = yield* mint(yield* signedIn, "write")
  return { expired: expiring.token, revoked: revoked.token, malformed: "x", empty: "", "a script's token": token }
})

layer(TestServer.layer())("where authentication is optional or none", (it) => {
  it.effect("are all endpoints for content that anyone may call", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(using(OptionalAuthentication).map(({ path }) => String(path)).toSorted(), [
        "/api/v1/collections/:ref",
        "/api/v1/collections/:ref/routes",
        "/api/v1/routes/:ref",
        "/api/v1/routes/:ref/fit",
        "/api/v1/routes/:ref/geojson",
        "/api/v1/routes/:ref/gpx",
        "/api/v1/routes/:ref/kml",
        "/api/v1/routes/:ref/picture.png",
        "/api/v1/routes/:ref/picture.svg",
        "/api/v1/routes/:ref/profile",
        "/api/v1/routes/:ref/tcx"
      ])
      assert.deepStrictEqual(using(StaleCookie).map(({ path }) => String(path)).toSorted(), [
        "/api/v1/collections/by-user/:userId",
        "/api/v1/routes/by-user/:userId",
        "/api/v1/routes/public",
        "/api/v1/routing/elevation",
        "/api/v1/routing/route",
        "/api/v1/routing/trace-attributes",
        "/api/v1/users/:handle"
      ])
    }))

  it.effect("an expired, revoked or malformed cookie is cleared and the caller is anonymous", () =>
    Effect.gen(function*() {
      const bad = yield* badCookies
      const published = yield* publishedBy(yield* signedIn)
      const visitor = yield* anonymous
      for (const { method, path } of [...using(OptionalAuthentication), ...using(StaleCookie)]) {
        const call = () => visitor.call(method, pathOf(String(path), published), callOf(method))
        const expected = yield* call()
        assert.strictEqual(expected.status, statusOf(method), path)
        assert.strictEqual(cookieIn(expected), "", path)
        for (const [kind, value] of Object.entries(bad)) {
          const caller = yield* withCookie(value)
          const answer = yield* caller.call(method, pathOf(String(path), published), callOf(method))
          assert.deepStrictEqual([answer.status, answer.text], [expected.status, expected.text], `${path} ${kind}`)
          assert.strictEqual(cookieIn(answer), CLEARED, `${path} ${kind}`)
        }
      }
    }))

  it.effect("a good cookie is refreshed where it counts, and left alone where it does not", () =>
    Effect.gen(function*() {
      const published = yield* publishedBy(yield* signedIn)
      for (const { method, path } of using(OptionalAuthentication)) {
        const answer = yield* published.rider.call(method, pathOf(String(path), published))
        assert.match(cookieIn(answer), new RegExp(`^${SESSION_COOKIE}=ey.*Max-Age=900`), path)
      }
      for (const { method, path } of using(StaleCookie)) {
        const answer = yield* published.rider.call(method, pathOf(String(path), published), callOf(method))
        assert.strictEqual(cookieIn(answer), "", path)
      }
    }))

  it.effect("a bad Authorization is refused where it is optional, whatever the cookie, and else ignored", () =>
    Effect.gen(function*() {
      const { expired, malformed } = yield* badCookies
      const published = yield* publishedBy(yield* signedIn)
      const bad = [`Bearer ${expired}`, "Bearer x", "Bearer service_pat_made_up", "Basic eDp5", ""]
      for (const authorization of bad) {
        for (const cookie of [published.rider.cookie, `${SESSION_COOKIE}=${malformed}`]) {
          const caller = yield* withHeaders({ authorization, cookie })
          for (const { method, path } of using(OptionalAuthentication)) {
            const answer = yield* caller.call(method, pathOf(String(path), published))
            assert.deepStrictEqual([answer.status, cookieIn(answer)], [401, ""], `${path} ${authorization}`)
          }
        }
        const caller = yield* withHeaders({ authorization })
        for (const { method, path } of using(StaleCookie)) {
          const answer = yield* caller.call(method, pathOf(String(path), published), callOf(method))
          assert.strictEqual(answer.status, statusOf(method), `${path} ${authorization}`)
        }
      }
    }))

  it.effect("an account that is pending deletion reads what anyone may read, and no more", () =>
    Effect.gen(function*() {
      const published = yield* publishedBy(yield* signedIn)
      const leaving = yield* signedIn
      const own = yield* publishedBy(leaving)
      const script = yield* mint(leaving, "write")
      yield* leaving.delete("/users/me")
      const signIn = yield* (yield* anonymous).post("/auth/login-email", {
        email: leaving.email,
        password: leaving.password
      })
      const token = /"accessToken":"([^"]+)"/.exec(signIn.text)?.[1] ?? ""
      for (const caller of [yield* withCookie(token), yield* withToken(token)]) {
        for (const { method, path } of [...using(OptionalAuthentication), ...using(StaleCookie)]) {
          const answer = yield* caller.call(method, pathOf(String(path), published), callOf(method))
          assert.strictEqual(answer.status, statusOf(method), path)
        }
        for (const { method, path } of using(OptionalAuthentication)) {
          const hidden = yield* caller.call(method, pathOf(String(path), own))
          assert.strictEqual(hidden.status, 404, path)
        }
        assert.strictEqual((yield* caller.get("/routes")).status, 403)
      }
      const refused = yield* withToken(script.token)
      for (const { method, path } of using(OptionalAuthentication)) {
        assert.strictEqual((yield* refused.call(method, pathOf(String(path), published))).status, 401, path)
      }
    }))
})
