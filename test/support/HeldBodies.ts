import { Effect, type Scope } from "effect"
import type { Socket } from "node:net"
import { connection } from "./Connections.ts"
import { requestHead } from "./RawHttp.ts"
import type { TestServer } from "./TestServer.ts"
import { until } from "./Waiting.ts"

export interface Upload {
  readonly socket: Socket
  readonly received: () => string
}

/** Announces a body, sends a part of it when the service asks for it, and is silent then. */
export const partlySent = Effect.fnUntraced(
  function*(line: string, part: string, headers: Readonly<Record<string, string>>) {
    const { received, socket } = yield* connection
    socket.write(requestHead(line, { "Content-Type": "application/json", "Expect": "100-continue", ...headers }))
    yield* until(Effect.sync(() => received().startsWith("HTTP/1.1 ")))
    yield* Effect.callback<void>((resume) => void socket.write(part, () => resume(Effect.void)))
    const upload: Upload = { socket, received }
    return upload
  }
)

/** Ends when the share of uploads is full. `isFull` takes a part of it, so a refused upload is sent again. */
export const filling = <R>(
  send: Effect.Effect<Upload, never, R>,
  isFull: Effect.Effect<boolean, never, R>
): Effect.Effect<Upload, never, R | Scope.Scope | TestServer> =>
  Effect.gen(function*() {
    const upload = yield* send
    const isRefused = () => /^HTTP\/1\.1 [45]/m.test(upload.received())
    yield* until(Effect.map(isFull, (isFull) => isFull || isRefused()))
    return isRefused() ? yield* filling(send, isFull) : upload
  })
