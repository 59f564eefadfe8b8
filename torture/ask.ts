import { Effect, Schema } from "effect"
import { Agent, type IncomingHttpHeaders, request } from "node:http"
import { text } from "node:stream/consumers"

/** `token` is a personal access token or a session's JWT. */
export interface Call {
  readonly method?: string
  readonly path: string
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The status is 0 if no response came; `failure` says why. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly failure: string
}

/** Sends a call on a connection that is kept. An interrupted call is aborted. */
export type Ask = (call: Call) => Effect.Effect<Reply>

/** The timeout is above the service's deadline of 10 seconds: a client without a response by then shows a defect. */
const GIVE_UP_AFTER = "15 seconds"

export const GAVE_UP = "no response in time"

const noResponse = (failure: string): Effect.Effect<Reply> =>
  Effect.succeed({ status: 0, headers: {}, text: "", failure })

const codeOf = (error: Error) => "code" in error && typeof error.code === "string" ? error.code : error.message

const sent = (agent: Agent, origin: string, { body, headers, method = "GET", path, token }: Call) =>
  Effect.callback<Reply>((resume) => {
    const fail = (error: Error) => resume(noResponse(codeOf(error)))
    const options = {
      agent,
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}`, "x-service-confirm": "true" }),
        ...headers
      }
    }
    const outgoing = request(`${origin}${path}`, options, (response) => {
      const { headers, statusCode: status = 0 } = response
      text(response).then((text) => resume(Effect.succeed({ status, headers, text, failure: "" })), fail)
    })
    outgoing.on("error", fail).end(body)
    return Effect.sync(() => void outgoing.destroy())
  })

export const asking = (origin: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true })),
    (agent) => Effect.sync(() => agent.destroy())
  ).pipe(Effect.map((agent): Ask => (call) =>
    Effect.timeoutOrElse(sent(agent, origin, call), { duration: GIVE_UP_AFTER, orElse: () => noResponse(GAVE_UP) })
  ))

/** Makes a function that decodes the JSON of a reply, and throws if it has another shape. */
export const decoded = <A>(schema: Schema.Decoder<A>) => {
  const decode = Schema.decodeUnknownSync(Schema.fromJsonString(schema))
  return ({ text }: Reply) => decode(text)
}

const stored = decoded(Schema.Struct({ id: Schema.Int }))

export const idOf = (reply: Reply) => stored(reply).id

export const routeNamed = (name: string, members: object = {}) => ({
  name,
  waypoints: [{ coord: [9.5, 47.1] }],
  ...members
})

/** Stores a route or a collection under a key. */
export const creation = (path: "routes" | "collections", key: string, members: object): Call => ({
  method: "POST",
  path: `/api/v1/${path}`,
  headers: { "idempotency-key": key },
  body: JSON.stringify(members)
})
