import { Predicate, Schema } from "effect"
import type { Worker } from "node:cluster"

/** Messages between the primary and a worker, as Node 24 has them in `internal/cluster`. */
const Handover = Schema.Struct({ act: Schema.Literal("newconn"), seq: Schema.Int })
const Reply = Schema.Struct({ ack: Schema.Int })

const isHandover = Schema.is(Handover)
const isReply = Schema.is(Reply)

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
  const state: { handed: { readonly seq: number; readonly handle: Closeable } | undefined } = { handed: undefined }
  process.send = new Proxy(process.send, {
    apply: (send, self, args) => {
      const [message, handle]: ReadonlyArray<unknown> = args
      if (isHandover(message) && isCloseable(handle)) state.handed = { seq: message.seq, handle }
      return Reflect.apply(send, self, args)
    }
  })
  // The next connection may be handed over before this runs.
  process.on("internalMessage", (message: unknown) => {
    if (isReply(message) && message.ack === state.handed?.seq) state.handed = undefined
  })
  const close = () => state.handed?.handle.close()
  process.once("exit", close)
  process.once("disconnect", close)
}
