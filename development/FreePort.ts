import { once } from "node:events"
import { createServer } from "node:net"

/** Returns the wanted port of the loopback interface, or any free one. Rejects if the wanted one is taken. */
export const freePort = async (wanted: number = 0): Promise<number> => {
  await using probe = createServer().listen(wanted, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  return address === null || typeof address === "string" ? wanted : address.port
}
