import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Socket } from "node:net"

/** Node's channel of the sockets that clients of TCP connect with. */
const SOCKETS = "net.client.socket"

/** Replies of the handshake may be longer than its commands, but not by more. */
const MAX_BYTES = 64 * 1024

/** A count is shorter than the command that asks for it. */
const endWhereLonger = (socket: Socket) => {
  socket.on("data", () => {
    if (socket.bytesRead > socket.bytesWritten + MAX_BYTES) socket.destroy(new Error("replies without end"))
  })
}

const see = (message: unknown) => {
  if (message instanceof Object && "socket" in message && message.socket instanceof Socket) {
    endWhereLonger(message.socket)
  }
}

/**
 * The same, where the socket that is opened at once ends with an error for more bytes than replies to commands can have:
 * the client keeps all that it reads of a reply. A connection by TLS has no such bound.
 */
export const withBoundedReplies = <A>(open: () => A): A => {
  subscribe(SOCKETS, see)
  try {
    return open()
  } finally {
    unsubscribe(SOCKETS, see)
  }
}
