import polyline from "@mapbox/polyline"
import { Effect, Layer, Schema } from "effect"
import { anonymous } from "./Actors.ts"
import { StandInEngine } from "./StandInEngine.ts"
import { TestServer } from "./TestServer.ts"

export const line = (...points: ReadonlyArray<[number, number]>) => polyline.encode([...points], 6)

export const TRIP = {
  trip: {
    locations: [{ lat: 1, lon: 2, original_index: 0 }],
    legs: [
      {
        shape: line([47.1, 9.5], [47.15, 9.55]),
        summary: { length: 4.096, time: 642.74, has_ferry: false, cost: 7 },
        maneuvers: []
      },
      { shape: line([47.15, 9.55], [47.2, 9.6]), summary: { length: 1.5, time: 60, has_ferry: false } }
    ],
    summary: { has_ferry: true, has_highway: true, length: 5.6, time: 700 },
    units: "kilometers",
    language: "en-US"
  },
  warnings: [{ code: 500, text: "an option was reset" }]
}

export const REQUEST = {
  activity: "cycle",
  preferences: { surfacePreference: "paved", avoidFerries: true },
  locations: [{ lat: 47.1, lon: 9.5 }, { lat: 47.15, lon: 9.55 }, { lat: 47.2, lon: 9.6 }]
}

/** Returns a request that no test made before, so that no response to it is kept. */
export const fresh = (n: number) => ({
  ...REQUEST,
  locations: [{ lat: 40 + n / 1000, lon: 9 }, ...REQUEST.locations.slice(1)]
})

export const ask = (body: unknown) => Effect.flatMap(anonymous, (visitor) => visitor.post("/routing/route", body))

export const asked = Effect.map(StandInEngine, (engine) => engine.asked)

export const lastAsked = Effect.map(
  asked,
  (calls) =>
    Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Json))(
      calls.findLast(({ body }) => !body.includes("edge_walk"))?.body
    )
)

export const serverLayer = (settings: Record<string, string> = {}) =>
  Layer.unwrap(
    Effect.map(StandInEngine, ({ url }) =>
      TestServer.layer({ ROUTING_ENGINE_URL: url, TRUSTED_PROXIES: "127.0.0.0/8", ...settings }))
  ).pipe(
    Layer.provideMerge(StandInEngine.layer)
  )
