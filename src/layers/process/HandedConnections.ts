import { Predicate } from "effect"
import type { Worker } from "node:cluster"

/** Messages between the primary and a worker, as Node 24 has them in `internal/cluster`. */
const isHandover = Predicate.hasProperty("act")
const isReply = Predicate.hasProperty("ack")

interface Closeable {
  readonly close: () => void
}

const isCloseable = (handle: unknown): handle is Closeable =>
  Predicate.hasProperty(handle, "close") && Predicate.isFunction(handle.close)

/**
 * Node hands a worker one connection at a time, and keeps it open for ever where the worker dies before it has taken it:
 * its client would wait for as long as it likes. It is closed instead.
 */
export const closeUntaken = ({ process }: Worker): void => {
  const state: { handed: Closeable | undefined } = { handed: undefined }
  process.send = new Proxy(process.send, {
    apply: (send, self, args) => {
      const [message, handle]: ReadonlyArray<unknown> = args
      if (isHandover(message) && message.act === "newconn" && isCloseable(handle)) state.handed = handle
      return Reflect.apply(send, self, args)
    }
  })
  process.on("internalMessage", (message: unknown) => {
    if (isReply(message)) state.handed = undefined
  })
  process.once("exit", () => state.handed?.close())
}
