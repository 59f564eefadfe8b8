/**
 * Node 24 closes idle connections as soon as a server stops listening, and so resets those whose next request is on its
 * way. To see it, let `close` do so at once and send requests on one connection while the service stops. No version
 * ends this yet: the file goes when `Server.close` can leave idle connections open for a while.
 */
import { Server, type ServerOptions } from "node:http"

/** Serves requests on idle connections for `linger` milliseconds after it has stopped listening. */
export class LingeringServer extends Server {
  private readonly linger: number

  constructor(options: ServerOptions, linger: number) {
    super(options)
    this.linger = linger
  }

  override closeIdleConnections() {
    setTimeout(() => super.closeIdleConnections(), this.linger)
  }
}
