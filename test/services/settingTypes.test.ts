import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Result } from "effect"
import { checkDatabaseUrl, fetchedPort, hostsOf } from "../../src/services/settings/SettingTypes.ts"

const isAccepted = (port: number) =>
  Effect.map(
    Effect.result(fetchedPort("PORT").parse(ConfigProvider.fromUnknown({ PORT: String(port) }))),
    Result.isSuccess
  )

const fetchFailure = (port: number) =>
  Effect.promise(() => fetch(`http://127.0.0.1:${port}`).then(() => undefined, (error: Error) => String(error.cause)))

it.effect("a port that is fetched is none of those that fetch refuses without a connection", () =>
  Effect.gen(function*() {
    const ports = Array.from({ length: 65_536 }, (_, port) => port)
    const refused = yield* Effect.filter(ports, (port) => Effect.map(isAccepted(port), (accepted) => !accepted))
    assert.isAbove(refused.length, 80)
    for (const port of refused) assert.strictEqual(yield* fetchFailure(port), "Error: bad port", `port ${port}`)
    assert.isFalse(yield* isAccepted(65_536))
    assert.isFalse(yield* isAccepted(-1))
  }))

it("an address of a database has one host or several, with one port for each or for all", () => {
  assert.deepStrictEqual(hostsOf("postgres://u:p@a:5433/name?sslmode=require"), [
    "postgres://u:p@a:5433/name?sslmode=require"
  ])
  assert.deepStrictEqual(hostsOf("postgresql://u:p@a:5433,[::1],c/name?target_session_attrs=any"), [
    "postgresql://u:p@a:5433/name?target_session_attrs=any",
    "postgresql://u:p@[::1]/name?target_session_attrs=any",
    "postgresql://u:p@c/name?target_session_attrs=any"
  ])
  assert.deepStrictEqual(hostsOf("postgres:///name?host=a,b&port=1,2"), [
    "postgres:///name?host=a&port=1",
    "postgres:///name?host=b&port=2"
  ])
  assert.deepStrictEqual(hostsOf("postgres:///name?host=a,b&port=1"), [
    "postgres:///name?host=a&port=1",
    "postgres:///name?host=b&port=1"
  ])
})

it("an address of a database is refused where it is none, or asks for a standby", () => {
  assert.isUndefined(checkDatabaseUrl("postgres://u:p@a,b/name?target_session_attrs=read-write"))
  assert.isUndefined(checkDatabaseUrl("postgres:///name?host=/run/postgresql"))
  assert.strictEqual(checkDatabaseUrl("mysql://a/name"), "Expected a postgres or postgresql URL")
  assert.strictEqual(checkDatabaseUrl("postgres://a:x,b/name"), "Expected a postgres or postgresql URL")
  assert.strictEqual(
    checkDatabaseUrl("postgres://a,b/name?target_session_attrs=standby"),
    "Expected target_session_attrs to be one of any, read-write, primary"
  )
})
