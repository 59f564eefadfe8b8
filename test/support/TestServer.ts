import { ConfigProvider, Context, Effect, Layer, Schema } from "effect"
import { HttpServer } from "effect/http"
import { inject } from "vitest"
import { applicationLayer, backgroundLayer, mailDeliveryLayer } from "../../src/layers/Application.ts"
import { databaseLive } from "../../src/layers/Database.ts"
import {
  httpClientLive,
  httpServerLive,
  identityProviderLive,
  mapStyleLive,
  randomnessLive,
  rateCountersLive,
  routingEngineLive
} from "../../src/layers/Live.ts"
import { ConnectionTimeouts } from "../../src/layers/NodeServer.ts"
import { HashCost } from "../../src/services/accounts/Passwords.ts"
import { Places } from "../../src/services/geometry/Places.ts"
import { DatabaseProxy } from "./DatabaseProxy.ts"
import { clonedDatabase } from "./Databases.ts"
import { requireDocumented } from "./DocumentedResponses.ts"
import { Mailbox } from "./Mailbox.ts"
import { Newcomers } from "./Newcomers.ts"
import { pooled } from "./Pooler.ts"

/** `body` is undefined if the response is not JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

export interface Call {
  readonly body?: unknown
  /** These bytes are sent unchanged instead of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const bodyOf = ({ body, raw }: Call) => raw ?? (body === undefined ? undefined : JSON.stringify(body))

type Send = (url: string, init: RequestInit) => Promise<Response>

const answerOf = async (send: Send, url: string, method: string, call: Call): Promise<Answer> => {
  const body = bodyOf(call)
  const response = await send(url, {
    method,
    headers: { ...(call.body === undefined ? {} : { "content-type": "application/json" }), ...call.headers },
    ...(body === undefined ? {} : { body }),
    redirect: "manual"
  })
  const text = await response.text()
  const json = parse(text)
  const answer = {
    status: response.status,
    headers: response.headers,
    text,
    body: json._tag === "Some" ? json.value : undefined
  }
  requireDocumented(method, url, answer)
  return answer
}

/** CI runs the tests once with a pooler of transactions before PostgreSQL. */
const onPooler = (url: string, settings: Readonly<Record<string, string>>) => {
  const port = inject("poolerPort")
  return port === 0 ? settings : { ...pooled(url, port), ...settings }
}

/** A test that is not about places need not load all cities of the world. */
export const nowhere = Layer.succeed(Places, {
  at: () => Effect.succeed({}),
  hasCities: Effect.succeed(false)
})

/** Hundreds of riders sign up in the tests, and 50 ms of a core for each would be a tenth of the run. */
const cheapHashes = Layer.succeed(HashCost, { memoryCost: 8, timeCost: 1 })

/**
 * A client that aborts requests opens connections that it never uses. A server that closes waits for these until the
 * client gives them up, which is a second before the server would.
 */
const briefConnections = Layer.effect(
  ConnectionTimeouts,
  Effect.map(ConnectionTimeouts, (timeouts) => ({ ...timeouts, keepAlive: Math.min(timeouts.keepAlive, 3000) }))
)

/** The service has a real socket and its own database. Mails are sent, but no sweep runs: due rows stay. */
export class TestServer extends Context.Service<TestServer, {
  readonly origin: string
  /** `path` is below `/api/v1` unless it starts with `//`, which stands for the root. */
  readonly call: (method: string, path: string, call?: Call) => Effect.Effect<Answer>
}>()("test/TestServer") {
  static readonly layer = (
    settings: Readonly<Record<string, string>> = {},
    places: Layer.Layer<Places> = nowhere
  ) =>
    Layer.unwrap(
      Effect.map(clonedDatabase, (url) => onDatabase(url, onPooler(url, settings), places, mailDeliveryLayer))
    )

  /** Starts the server with everything that runs in the background. */
  static readonly withSweeps = (
    settings: Readonly<Record<string, string>> = {},
    places: Layer.Layer<Places> = nowhere
  ) =>
    Layer.unwrap(Effect.map(clonedDatabase, (url) => onDatabase(url, onPooler(url, settings), places, backgroundLayer)))

  /** Starts the server with the cost of passwords in production. */
  static readonly withCostlyPasswords = (settings: Readonly<Record<string, string>> = {}) =>
    Layer.unwrap(
      Effect.map(
        clonedDatabase,
        (url) => onDatabase(url, onPooler(url, settings), nowhere, backgroundLayer, Layer.empty)
      )
    )

  /** Starts the server on an existing database. */
  static readonly on = (url: string, settings: Readonly<Record<string, string>>) =>
    onDatabase(url, settings, nowhere, backgroundLayer)

  /** Starts the server with a proxy before its database. */
  static readonly behindProxyWith = (settings: Readonly<Record<string, string>>) =>
    Layer.unwrap(
      Effect.map(
        clonedDatabase,
        (url) =>
          Layer.unwrap(Effect.map(DatabaseProxy, (proxy) => onDatabase(proxy.url, settings, nowhere, backgroundLayer)))
            .pipe(
              Layer.provideMerge(DatabaseProxy.layer(url))
            )
      )
    )

  static readonly behindProxy = TestServer.behindProxyWith({})
}

/** Returns the service that listens at an origin, or that a function calls. */
export const serverAt = (origin: string, send: Send = fetch) =>
  TestServer.of({
    origin,
    call: (method, path, call = {}) => {
      const url = path.startsWith("//") ? `${origin}${path.slice(1)}` : `${origin}/api/v1${path}`
      return Effect.promise(() => answerOf(send, url, method, call))
    }
  })

/** `httpServerLive` has the service on a socket. */
export const socketServer = Layer.effect(
  TestServer,
  Effect.map(HttpServer.HttpServer, ({ address }) => serverAt(HttpServer.formatAddress(address)))
)

const onDatabase = (
  url: string,
  settings: Readonly<Record<string, string>>,
  places: Layer.Layer<Places>,
  background: typeof backgroundLayer,
  passwords: Layer.Layer<never> = cheapHashes
) =>
  Layer.merge(socketServer, Newcomers.layer).pipe(
    Layer.provideMerge(applicationLayer),
    Layer.provideMerge(Layer.provide(httpServerLive, briefConnections)),
    Layer.provide([background, passwords]),
    Layer.provide([identityProviderLive, mapStyleLive, places, rateCountersLive, routingEngineLive]),
    Layer.provideMerge(Mailbox.layer),
    Layer.provideMerge(databaseLive),
    Layer.provide([httpClientLive, randomnessLive]),
    Layer.provide(configLayer(url, settings))
  )

export const SECRETS = {
  JWT_SECRET: "a secret for tests, 32 characters or more",
  ANALYTICS_SALT: "a salt for tests, 32 characters or more!",
  PAT_PEPPER: "a pepper for tests, 32 characters or more"
}

export const configLayer = (url: string, settings: Readonly<Record<string, string>>) =>
  ConfigProvider.layer(ConfigProvider.fromUnknown({
    ...SECRETS,
    DATABASE_URL: url,
    HOST: "127.0.0.1",
    PORT: "0",
    BASE_URL: "http://localhost:3000",
    RATE_LIMITS_ENABLED: "false",
    // No server listens at this port: a test that wants an engine starts one.
    ROUTING_ENGINE_URL: "http://127.0.0.1:9",
    // No front has to see that a test's server is no longer ready, and its clock may stand still.
    SHUTDOWN_DRAIN_DELAY: "0 seconds",
    ...settings
  }))
