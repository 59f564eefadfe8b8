import { Effect } from "effect"
import { Agent, type ClientRequest, request } from "node:http"
import { buffer } from "node:stream/consumers"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"

export interface Outgoing {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly redirect: "manual"
}

/** What a test reads of a response; the `Response` of `fetch` is one. */
export interface Incoming {
  readonly status: number
  readonly headers: Headers
  readonly text: () => Promise<string>
}

/** The headers that `fetch` adds. */
const USUAL = {
  "accept": "*/*",
  "accept-encoding": "gzip, deflate",
  "accept-language": "*",
  "sec-fetch-mode": "cors",
  "user-agent": "node"
}

const unpack = promisify(gunzip)

const headersOf = (raw: ReadonlyArray<string>) => {
  const headers = new Headers()
  for (let n = 0; n < raw.length; n += 2) headers.append(raw[n] ?? "", raw[n + 1] ?? "")
  return headers
}

/** A connection that a server gives up while the client takes it has brought nothing: the request goes by another one. */
const wasGivenUp = (sent: ClientRequest, { code }: NodeJS.ErrnoException) =>
  sent.reusedSocket && (code === "ECONNRESET" || code === "EPIPE")

const sendBy = (agent: Agent) => {
  const send = (url: string, outgoing: Outgoing): Promise<Incoming> =>
    new Promise((resolve, reject) => {
      const { body, headers, method } = outgoing
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }
      const sent = request(url, { agent, method, headers: { ...USUAL, ...length, ...headers } }, (response) => {
        const received = headersOf(response.rawHeaders)
        const isPacked = received.get("content-encoding") === "gzip" && method !== "HEAD"
        buffer(response).then((bytes) => isPacked ? unpack(bytes) : bytes).then(
          (bytes) =>
            resolve({
              status: response.statusCode ?? 0,
              headers: received,
              text: () => Promise.resolve(new TextDecoder().decode(bytes))
            }),
          reject
        )
      })
      sent.on("error", (error) => wasGivenUp(sent, error) ? resolve(send(url, outgoing)) : reject(error))
      sent.end(body)
    })
  return send
}

/** Without a timeout of its own the agent would not look at that of the server, and use connections that the server is closing. */
const CONNECTIONS = { keepAlive: true, timeout: 60_000 }

/** Time for the other side to see that connections are closed, in real time whatever the clock of a test. */
const CLOSING_MS = 10

/**
 * `fetch` for a third of its processor time. Its idle connections close with the scope, since a server that ends waits for the idle ones
 * of its clients.
 */
export const httpClient = Effect.map(
  Effect.acquireRelease(Effect.sync(() => new Agent(CONNECTIONS)), (agent) =>
    Effect.promise(() => {
      // A request that still runs has its response.
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy()
      return new Promise((resolve) => setTimeout(resolve, CLOSING_MS))
    })),
  sendBy
)
