import { Agent, type IncomingHttpHeaders, request } from "node:http"

/** One request. `token` is a personal access token or a session's JWT. */
export interface Ask {
  readonly method?: string
  readonly path: string
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  /** Milliseconds until the client gives up. */
  readonly timeout?: number
}

/** The response as it came back. The status is 0 where no response came; `failure` says why. */
export interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
  readonly failure: string
  /** On the clock of `performance.now()`. */
  readonly began: number
  readonly ended: number
}

/** Above the service's deadline of 10 seconds: a client that gets no response by then shows a defect. */
const GIVE_UP_AFTER = 15_000

export const GAVE_UP = "no response in time"

const codeOf = (error: Error) => "code" in error && typeof error.code === "string" ? error.code : error.message

const headersOf = ({ body, headers, token }: Ask) => ({
  ...(typeof body === "string" ? { "content-type": "application/json" } : {}),
  ...(token === undefined ? {} : { authorization: `Bearer ${token}`, "x-service-confirm": "true" }),
  ...headers
})

/** Requests on connections that are kept. Never rejects. */
export const asking = (origin: string) => {
  const agent = new Agent({ keepAlive: true })
  const ask = (call: Ask): Promise<Reply> =>
    new Promise((resolve) => {
      const began = performance.now()
      const chunks: Array<Buffer> = []
      const end = (status: number, headers: IncomingHttpHeaders, failure: string) => {
        clearTimeout(timer)
        resolve({
          status,
          headers,
          failure,
          text: Buffer.concat(chunks).toString(),
          began,
          ended: performance.now()
        })
      }
      const options = {
        agent,
        method: call.method ?? "GET",
        headers: headersOf(call),
        ...(call.signal === undefined ? {} : { signal: call.signal })
      }
      const sent = request(`${origin}${call.path}`, options, (response) => {
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => end(response.statusCode ?? 0, response.headers, ""))
        response.on("error", (error) => end(0, {}, codeOf(error)))
      })
      const timer = setTimeout(() => sent.destroy(new Error(GAVE_UP)), call.timeout ?? GIVE_UP_AFTER)
      sent.on("error", (error) => end(0, {}, codeOf(error)))
      sent.end(call.body)
    })
  return { ask, close: () => agent.destroy() }
}

export type Asking = ReturnType<typeof asking>
