import { Effect, type Scope } from "effect"
import { Server as HttpServer } from "node:http"
import type { Server } from "node:net"

/** Accepts no more connections, and ends those of HTTP. */
export const closed = (server: Server): Effect.Effect<void> =>
  Effect.sync(() => {
    server.close()
    if (server instanceof HttpServer) server.closeAllConnections()
  })

/** Returns the free port of the loopback interface on which a server listens until the scope closes. */
export const listening = (server: Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen({ port: 0, host: "127.0.0.1" }, () => {
        const address = server.address()
        resume(Effect.succeed(address === null || typeof address === "string" ? 0 : address.port))
      })
    }),
    () => closed(server)
  )
