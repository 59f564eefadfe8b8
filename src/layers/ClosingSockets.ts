import type { Socket } from "node:net"

/** For a client to read the response before a reset, which unread bytes would cause, can drop it. In milliseconds. */
const CLOSING_TIME = 500

export const closeGently = (socket: Socket) => {
  if (socket.destroyed) return
  socket.end()
  const timer = setTimeout(() => socket.destroy(), CLOSING_TIME)
  socket.once("close", () => clearTimeout(timer))
}
