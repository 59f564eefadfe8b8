import { Effect } from "effect"
import { connect, type Socket } from "node:net"

/** The socket was closed after `milliseconds`. */
export interface RawAnswer {
  readonly status: number | undefined
  readonly head: string
  readonly body: string
  readonly milliseconds: number
}

const parse = (text: string, milliseconds: number): RawAnswer => {
  const [head = "", ...rest] = text.split("\r\n\r\n")
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  return { status: status === undefined ? undefined : Number(status), head, body: rest.join("\r\n\r\n"), milliseconds }
}

/** Connects, calls `write`, and reads until the server closes. */
export const rawExchange = (origin: string, write: (socket: Socket) => void) =>
  Effect.callback<RawAnswer>((resume) => {
    const { hostname, port } = new URL(origin)
    const started = performance.now()
    const chunks: Array<Buffer> = []
    const socket = connect(Number(port), hostname, () => write(socket))
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", () => undefined)
    socket.on(
      "close",
      () => resume(Effect.succeed(parse(Buffer.concat(chunks).toString(), performance.now() - started)))
    )
    return Effect.sync(() => socket.destroy())
  })

/** Sends bytes as they are, which no HTTP client would, and reads until the server closes. */
export const sendRaw = (origin: string, ...bytes: ReadonlyArray<string | Uint8Array>) =>
  rawExchange(origin, (socket) => bytes.forEach((part) => socket.write(part)))

export const JSON_TYPE = { "content-type": "application/json" }

/** Returns a request line and headers, with `Connection: close` among them. */
export const requestHead = (line: string, headers: Readonly<Record<string, string>> = {}) =>
  [
    `${line} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    ""
  ].join("\r\n")
