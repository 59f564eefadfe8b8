import polyline from "@mapbox/polyline"
import { Effect, Layer } from "effect"
import { type Behaviour, StandInEngine } from "./StandInEngine.ts"
import { TestServer } from "./TestServer.ts"

export const pointAt = (n: number) => `{"lat":${(47 + n / 1e5).toFixed(5)},"lon":${(9 + n / 1e5).toFixed(5)}}`

/** Returns the engine's response to a trace of this many points. */
const matchOf = (points: number) =>
  JSON.stringify({
    shape: polyline.encode(Array.from({ length: points }, (_, n) => [47 + n / 1e5, 9 + n / 1e5]), 6),
    edges: Array.from({ length: points / 4 }, (_, n) => ({
      length: 0.02,
      surface: "paved",
      names: ["Street"],
      way_id: n,
      begin_shape_index: 4 * n,
      end_shape_index: 4 * n + 3
    })),
    matched_points: Array.from({ length: points }, (_, n) => ({
      lat: 47.123456 + n / 1e5,
      lon: 9.123456 + n / 1e5,
      type: "matched",
      edge_index: Math.floor(n / 4),
      distance_from_trace_point: 1.234
    }))
  })

/** The text is made once. */
const MATCH = matchOf(16_000)

export const matching: Behaviour = (_request, response) =>
  void response.writeHead(200, { "content-type": "application/json" }).end(MATCH)

export const withEngine = Layer.unwrap(
  Effect.map(StandInEngine, ({ url }) => TestServer.layer({ ROUTING_ENGINE_URL: url }))
).pipe(Layer.provideMerge(StandInEngine.layer))
