import type { Socket } from "node:net"

/** In milliseconds: unread bytes cause a reset, which can drop a response that the client has not read yet. */
const CLOSING_TIME = 500

export const closeGently = (socket: Socket) => {
  if (socket.destroyed) return
  socket.end()
  const timer = setTimeout(() => socket.destroy(), CLOSING_TIME)
  socket.once("close", () => clearTimeout(timer))
}
