import type { RequestListener, ServerResponse } from "node:http"

/** A server has this fault once it gets a request. */
export type HttpFault = "hang" | "refuse" | "drip" | "dripHeaders" | "garbage" | "notHttp" | "endless"

const DRIP_MS = 100

const CHUNK = "garbage ".repeat(8192)

/** Writes one byte each 100 ms, until the connection ends. */
const drip = (write: (byte: string) => void, isOver: () => boolean) => {
  const timer = setInterval(() => isOver() ? clearInterval(timer) : write(" "), DRIP_MS)
}

const pour = (response: ServerResponse): void => {
  if (!response.destroyed) response.write(CHUNK, () => pour(response))
}

/**
 * Each fault lasts until the client ends it. `refuse` closes the connection, like a process that ends; `garbage` is a
 * body that is not JSON, `notHttp` is not even HTTP.
 */
export const HTTP_FAULTS: Readonly<Record<HttpFault, RequestListener>> = {
  hang: () => undefined,
  refuse: ({ socket }) => void socket.destroy(),
  drip: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write("{")
    drip((byte) => response.write(byte), () => response.destroyed)
  },
  dripHeaders: ({ socket }) => {
    socket.write("HTTP/1.1 200 OK\r\nx:")
    drip((byte) => socket.write(byte), () => socket.destroyed)
  },
  garbage: (_, response) => void response.end("<html>canary</html>"),
  notHttp: ({ socket }) => void socket.end("canary\r\n\r\n"),
  endless: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" })
    pour(response)
  }
}
