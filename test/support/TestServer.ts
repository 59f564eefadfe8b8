import { ConfigProvider, Context, Effect, Layer, Schema } from "effect"
import { HttpServer } from "effect/http"
import { databaseLayer } from "../../src/layers/Database.ts"
import { applicationLayer } from "../../src/layers/Live.ts"
import { Places } from "../../src/services/places/Places.ts"
import { DatabaseProxy } from "./DatabaseProxy.ts"
import { clonedDatabase } from "./Databases.ts"
import { Mailbox } from "./Mailbox.ts"

/** An answer as it came over the socket. `body` is undefined where it is not JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

export interface Call {
  readonly body?: unknown
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const bodyOf = ({ body, raw }: Call) => raw ?? (body === undefined ? undefined : JSON.stringify(body))

const answerOf = async (url: string, method: string, call: Call): Promise<Answer> => {
  const body = bodyOf(call)
  const response = await fetch(url, {
    method,
    headers: { ...(call.body === undefined ? {} : { "content-type": "application/json" }), ...call.headers },
    ...(body === undefined ? {} : { body }),
    redirect: "manual"
  })
  const text = await response.text()
  const json = parse(text)
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json._tag === "Some" ? json.value : undefined
  }
}

/** Spares a test that is not about places the loading of all cities of the world. */
const nowhere = Layer.succeed(Places, { at: () => Effect.succeed({}) })

/** The whole service on a real socket, with a database of its own. */
export class TestServer extends Context.Service<TestServer, {
  readonly origin: string
  /** `path` is below `/api/v1` unless it starts with `//`, which stands for the root. */
  readonly call: (method: string, path: string, call?: Call) => Effect.Effect<Answer>
}>()("test/TestServer") {
  static readonly layer = (
    settings: Readonly<Record<string, string>> = {},
    places: Layer.Layer<Places> = nowhere
  ) => Layer.unwrap(Effect.map(clonedDatabase, (url) => onDatabase(url, settings, places)))

  /** The same on a database that is there. */
  static readonly on = (url: string, settings: Readonly<Record<string, string>>) => onDatabase(url, settings, nowhere)

  /** The same with a proxy before its database. */
  static readonly behindProxy = Layer.unwrap(
    Effect.map(
      clonedDatabase,
      (url) =>
        Layer.unwrap(Effect.map(DatabaseProxy, (proxy) => onDatabase(proxy.url, {}, nowhere))).pipe(
          Layer.provideMerge(DatabaseProxy.layer(url))
        )
    )
  )
}

/** The service that listens at an origin. */
export const serverAt = (origin: string) =>
  TestServer.of({
    origin,
    call: (method, path, call = {}) => {
      const url = path.startsWith("//") ? `${origin}${path.slice(1)}` : `${origin}/api/v1${path}`
      return Effect.promise(() => answerOf(url, method, call))
    }
  })

const testServer = Layer.effect(
  TestServer,
  Effect.map(HttpServer.HttpServer, ({ address }) => serverAt(HttpServer.formatAddress(address)))
)

const onDatabase = (url: string, settings: Readonly<Record<string, string>>, places: Layer.Layer<Places>) =>
  testServer.pipe(
    Layer.provideMerge(applicationLayer),
    Layer.provideMerge(Mailbox.layer),
    Layer.provideMerge(databaseLayer),
    Layer.provide(places),
    Layer.provide(configLayer(url, settings))
  )

export const SECRETS = {
  JWT_SECRET: "a secret for tests, 32 characters or more",
  ANALYTICS_SALT: "a salt for tests, 32 characters or more!",
  PAT_PEPPER: "a pepper for tests, 32 characters or more"
}

const configLayer = (url: string, settings: Readonly<Record<string, string>>) =>
  ConfigProvider.layer(ConfigProvider.fromUnknown({
    ...SECRETS,
    DATABASE_URL: url,
    HOST: "127.0.0.1",
    PORT: "0",
    BASE_URL: "http://localhost:3000",
    RATE_LIMITS_ENABLED: "false",
    // Nobody listens there: a test that wants an engine brings one.
    ROUTING_ENGINE_URL: "http://127.0.0.1:9",
    // A test that moves the clock by a month should not poll for each second of it.
    OUTBOX_POLL_INTERVAL: "1 hour",
    PURGE_SWEEP_INTERVAL: "1 hour",
    ERASURE_SWEEP_INTERVAL: "1 hour",
    // No front waits to see that a test's server is no longer ready, and its clock may stand still.
    SHUTDOWN_DRAIN_DELAY: "0 seconds",
    ...settings
  }))
