import { connect, type Socket } from "node:net"

/** As much as Node reads at once. */
const SIZE = 64 * 1024

const PORT = 5432

/** What changes where a URL leads to, or how. */
const DECIDE = ["host", "port", "sslmode"]

/** Not the escaped path of a Unix socket. */
const HOST = /^[^%]+$/

interface Address {
  readonly host: string
  readonly port: number
}

/** Of a URL that says no more: where it asks for TLS or a Unix socket, the driver connects by itself. */
export const plainAddress = (databaseUrl: string): Address | undefined => {
  const url = URL.parse(databaseUrl)
  if (url === null || !HOST.test(url.hostname) || DECIDE.some((name) => url.searchParams.has(name))) return undefined
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? PORT : Number(url.port)
  }
}

/**
 * Reads all that it gets into one buffer, so that what it emits is overwritten once its listeners have returned. The driver
 * copies it before that into buffers that rows are views of (`PgProtocol.makeParser`): what Node allocates for each read
 * was garbage at once, and made V8 collect its whole heap (decision 0003).
 */
export const readingSocket = (address: Address): Socket => {
  const buffer = Buffer.allocUnsafeSlow(SIZE)
  const socket: Socket = connect({
    ...address,
    noDelay: true,
    onread: {
      buffer,
      callback: (size) => {
        socket.emit("data", buffer.subarray(0, size))
        return true
      }
    }
  })
  return socket
}
