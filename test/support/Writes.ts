import { Effect, Schema } from "effect"
import { Api } from "../../src/http/api/Api.ts"
import { isSafe } from "../../src/schema/Http.ts"
import { anonymous, newEmail, type Rider, signedIn, signedInAs } from "./Actors.ts"
import { archiveOf } from "./Archives.ts"
import { make, makeRoute } from "./Collections.ts"
import { Mailbox } from "./Mailbox.ts"
import type { Newcomers } from "./Newcomers.ts"
import { newRoute } from "./Routes.ts"
import { SignInProvider } from "./SignInProvider.ts"
import type { Call, TestServer } from "./TestServer.ts"
import { mint } from "./Tokens.ts"

const ADMINS = { deleteUser: "a-1@example.com", invite: "a-2@example.com", deleteRoute: "a-3@example.com" }

export const ADMIN_EMAILS = Object.values(ADMINS).join(",")

/** The request succeeds if nothing limits it. */
export interface Write extends Call {
  readonly cookie?: string
  readonly params?: Readonly<Record<string, string | number>>
}

type Needs = Mailbox | Newcomers | SignInProvider | TestServer

type Prepared = Effect.Effect<Write, never, Needs>

const GPX =
  `<gpx version="1.1"><rte><name>A file</name><rtept lat="47" lon="9"/><rtept lat="47.1" lon="9"/></rte></gpx>`

const ZONE = { center: [9.5, 47.1], radius: 500 }

const NEW_PASSWORD = "another horse battery staple"

const by = (rider: Rider, write: Write = {}): Write => ({ ...write, cookie: rider.cookie })

const ofRider = (write: (rider: Rider) => Effect.Effect<Write, never, Needs>) =>
  Effect.flatMap(signedIn, (rider) => Effect.map(write(rider), (write) => by(rider, write)))

const ofRoute = (write: (id: number, rider: Rider) => Effect.Effect<Write, never, Needs> | Write) =>
  ofRider((rider) =>
    Effect.flatMap(makeRoute(rider), (id) => {
      const written = write(id, rider)
      return Effect.map(Effect.isEffect(written) ? written : Effect.succeed(written), (write) => ({
        params: { id },
        ...write
      }))
    })
  )

const withCollection = (
  write: (id: number, routeIds: ReadonlyArray<number>, rider: Rider) => Effect.Effect<Write, never, Needs>
) =>
  ofRider(Effect.fnUntraced(function*(rider) {
    const routeIds = [yield* makeRoute(rider), yield* makeRoute(rider)]
    const { id } = yield* make(rider, { routeIds })
    return { params: { id }, ...yield* write(id, routeIds, rider) }
  }))

const trashedRoute = ofRoute((id, rider) => Effect.as(rider.delete(`/routes/${id}`), {}))

const trashedCollection = withCollection((id, _, rider) => Effect.as(rider.delete(`/collections/${id}`), {}))

const linked = (rider: Rider, path: string) =>
  Effect.map(rider.post(`${path}/links`, {}), ({ body }) => ({ linkId: idIn(body) }))

const idIn = (body: unknown) => Schema.decodeUnknownSync(Schema.Struct({ id: Schema.Int }))(body).id

const Sessions = Schema.Array(Schema.Struct({ id: Schema.String, current: Schema.Boolean }))

const byAdmin = (email: string, write: Effect.Effect<Write, never, Needs>) =>
  Effect.flatMap(signedInAs({ email }), (admin) => Effect.map(write, (write) => by(admin, write)))

const signUp = Effect.gen(function*() {
  const email = newEmail()
  yield* (yield* anonymous).post("/auth/signup-email", { email, password: NEW_PASSWORD })
  return yield* (yield* Mailbox).tokenFor(email)
})

const reset = Effect.gen(function*() {
  const { email } = yield* signedIn
  yield* (yield* anonymous).post("/auth/request-password-reset", { email })
  return yield* (yield* Mailbox).tokenFor(email)
})

/** The table has a write of each endpoint that is not safe, by group and name. */
const WRITES: Readonly<Record<string, Prepared>> = {
  "accountData import": Effect.gen(function*() {
    const other = yield* signedIn
    yield* makeRoute(other)
    return by(yield* signedIn, {
      raw: Uint8Array.from(yield* archiveOf(other)),
      headers: { "content-type": "application/zip" }
    })
  }),
  "admin deleteUser": byAdmin(ADMINS.deleteUser, Effect.map(signedIn, ({ id }) => ({ params: { id } }))),
  "admin invite": byAdmin(ADMINS.invite, Effect.sync(() => ({ body: { email: newEmail() } }))),
  "admin deleteRoute": byAdmin(
    ADMINS.deleteRoute,
    Effect.map(Effect.flatMap(signedIn, (rider) => makeRoute(rider)), (id) => ({ params: { id } }))
  ),
  "auth google": Effect.gen(function*() {
    return { body: { idToken: yield* (yield* SignInProvider).idToken({ sub: newEmail(), email: newEmail() }) } }
  }),
  "auth signUp": Effect.sync(() => ({ body: { email: newEmail(), password: NEW_PASSWORD } })),
  "auth verifyEmail": Effect.map(signUp, (token) => ({ body: { token } })),
  "auth logIn": ofRider(({ email, password }) => Effect.succeed({ body: { email, password } })),
  "auth requestPasswordReset": Effect.map(signedIn, ({ email }) => ({ body: { email } })),
  "auth resetPassword": Effect.map(reset, (token) => ({ body: { token, password: NEW_PASSWORD } })),
  "auth logOut": ofRider(() => Effect.succeed({})),
  "collections create": ofRider(() => Effect.succeed({ body: { name: "Summer" } })),
  "collections update": withCollection(() => Effect.succeed({ body: { name: "Winter" } })),
  "collections remove": withCollection(() => Effect.succeed({})),
  "collections restore": trashedCollection,
  "collections emptyTrash": trashedCollection,
  "collections purge": trashedCollection,
  "collections setRoutes": withCollection((_, routeIds) =>
    Effect.succeed({ body: { routeIds: routeIds.toReversed() } })
  ),
  "collections addRoute": withCollection((_id, _routeIds, rider) =>
    Effect.map(makeRoute(rider), (routeId) => ({ body: { routeId } }))
  ),
  "collections removeRoute": withCollection((id, [routeId = 0]) => Effect.succeed({ params: { id, routeId } })),
  "files import": ofRider(() => Effect.succeed({ raw: GPX, headers: { "content-type": "application/gpx+xml" } })),
  "links createForRoute": ofRoute(() => ({ body: {} })),
  "links changeOfRoute": ofRoute((id, rider) =>
    Effect.map(linked(rider, `/routes/${id}`), ({ linkId }) => ({ params: { id, linkId }, body: { label: "club" } }))
  ),
  "links removeOfRoute": ofRoute((id, rider) =>
    Effect.map(linked(rider, `/routes/${id}`), ({ linkId }) => ({ params: { id, linkId } }))
  ),
  "links replaceRouteShareToken": ofRoute(() => ({})),
  "links createForCollection": withCollection(() => Effect.succeed({ body: {} })),
  "links changeOfCollection": withCollection((id, _, rider) =>
    Effect.map(linked(rider, `/collections/${id}`), ({ linkId }) => ({
      params: { id, linkId },
      body: { label: "club" }
    }))
  ),
  "links removeOfCollection": withCollection((id, _, rider) =>
    Effect.map(linked(rider, `/collections/${id}`), ({ linkId }) => ({ params: { id, linkId } }))
  ),
  "links replaceCollectionShareToken": withCollection(() => Effect.succeed({})),
  "routes create": ofRider(() => Effect.succeed({ body: newRoute({}) })),
  "routes update": ofRoute(() => ({ body: { name: "Another ride" } })),
  "routes remove": ofRoute(() => ({})),
  "routes restore": trashedRoute,
  "routes emptyTrash": trashedRoute,
  "routes purge": trashedRoute,
  "routes batch": ofRoute((id) => ({
    body: {
      operations: [{ op: "update", id, changes: { name: "Another ride" } }, { op: "create", route: newRoute({}) }]
    }
  })),
  "routing route": Effect.succeed({ body: { activity: "cycle", preferences: {}, locations: [] } }),
  "routing elevation": Effect.succeed({ body: {} }),
  "routing traceAttributes": Effect.succeed({ body: {} }),
  "sessions revoke": ofRider(Effect.fnUntraced(function*({ email, get, password }) {
    yield* (yield* anonymous).post("/auth/login-email", { email, password })
    const { body } = yield* get("/me/sessions")
    const other = Schema.decodeUnknownSync(Sessions)(body).find(({ current }) => !current)
    return { params: { id: other?.id ?? "" } }
  })),
  "sessions logOutEverywhere": ofRider(() => Effect.succeed({})),
  "tokens mint": ofRider(() => Effect.succeed({ body: { name: "a script", scope: "read" } })),
  "tokens revoke": ofRider((rider) => Effect.map(mint(rider, "read"), ({ id }) => ({ params: { id } }))),
  "users update": ofRider(() => Effect.succeed({ body: { name: "Grace" } })),
  "users setPrivacyZones": ofRider(() => Effect.succeed({ body: { zones: [ZONE] } })),
  "users changePassword": ofRider(({ password }) =>
    Effect.succeed({ body: { currentPassword: password, newPassword: NEW_PASSWORD } })
  ),
  "users requestDeletion": ofRider(() => Effect.succeed({})),
  "users cancelDeletion": Effect.gen(function*() {
    const { delete: remove, email, password } = yield* signedIn
    yield* remove("/users/me")
    const { headers } = yield* (yield* anonymous).post("/auth/login-email", { email, password })
    return { cookie: headers.getSetCookie()[0]?.split(";")[0] ?? "" }
  })
}

/** Each entry has an endpoint of the contract that is not safe, and a write of it; undefined if the table has none. */
export const writes = Object.values(Api.groups).flatMap((group) =>
  Object.entries(group.endpoints).filter(([, { method }]) => !isSafe(method)).map(([key, endpoint]) => {
    const name = `${group.identifier} ${key}`
    return { name, endpoint, prepare: WRITES[name] }
  })
)

export const pathOf = (path: string, params: Readonly<Record<string, string | number>> = {}) =>
  `/${path.replace(/:(\w+)/g, (_, name: string) => String(params[name] ?? ""))}`
