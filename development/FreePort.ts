import { createServer } from "node:net"

/** Returns the wanted port of the loopback interface, or any free one. Rejects if the wanted one is taken. */
export const freePort = (wanted: number = 0): Promise<number> => {
  const { promise, reject, resolve } = Promise.withResolvers<number>()
  const probe = createServer()
  probe.once("error", reject)
  probe.listen(wanted, "127.0.0.1", () => {
    const address = probe.address()
    probe.close(() => resolve(address === null || typeof address === "string" ? wanted : address.port))
  })
  return promise
}
