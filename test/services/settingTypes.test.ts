import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Result } from "effect"
import { fetchedPort } from "../../src/services/settings/SettingTypes.ts"

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
