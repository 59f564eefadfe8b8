import { Effect, Fiber } from "effect"
import { creation, idOf, routeNamed } from "./ask.ts"
import { copyOf } from "./copies.ts"
import { queryAt } from "./postgres.ts"
import { insistent, messageOf, type Recorder } from "./recorder.ts"
import type { Clients } from "./world.ts"

/** The service waits this many seconds for a change. */
const LONGEST_WAIT = 5

/** A deletion, or a list, begins this many milliseconds after the one before, or at its end. */
const EVERY = 250

const paced = (work: Effect.Effect<void>) => Effect.all([work, Effect.sleep(EVERY)], { concurrency: 2, discard: true })

/** Runs clients beside the load: copies of each account, deletions, and a stranger who lists public routes. */
export const followers = Effect.fnUntraced(
  function*({ accounts, ask }: Clients, recorder: Recorder, prefix: () => string) {
    const state = { isOver: false, unread: 0, lists: 0 }
    const call = insistent(ask, recorder)
    const copies = accounts.map((account) => copyOf(ask, recorder, account))
    const deleted: Array<number> = []
    const remove = Effect.gen(function*() {
      const token = accounts[deleted.length % accounts.length]?.token
      const name = `${prefix()}-deleted-${deleted.length}`
      const id = idOf(yield* call({ ...creation("routes", name, routeNamed(name)), token }, [201]))
      // A repeated deletion finds nothing.
      yield* call({ method: "DELETE", path: `/api/v1/routes/${id}`, token }, [204, 404])
      deleted.push(id)
    })
    const list = Effect.gen(function*() {
      state.lists += 1
      const reply = yield* ask({ path: "/api/v1/routes/public?limit=3&gate=public" })
      if (reply.status === 200 && reply.text !== "[]") return
      state.unread += 1
      recorder.report(`a list of a stranger: ${reply.status} ${messageOf(reply)}`)
    })
    const running = yield* Effect.forkScoped(Effect.forEach(
      [...copies.map(({ pull }) => pull(LONGEST_WAIT)), paced(remove), paced(list)],
      (work: Effect.Effect<unknown>) => Effect.repeat(work, { until: () => state.isOver }),
      { concurrency: "unbounded" }
    ))

    /** Ends the clients, compares what they have with the database at an address, and returns what they did. */
    const end = Effect.fnUntraced(function*(url: string) {
      state.isOver = true
      yield* Fiber.join(running)
      for (const { compare } of copies) yield* compare(url)
      const undone = yield* queryAt(url, "SELECT id FROM routes WHERE id = ANY($1) AND deleted_at IS NULL", [deleted])
      recorder.report("a deletion was undone", undone.length)
      return `${deleted.length} deletions`
    })
    return { counts: () => ({ ...state }), end }
  }
)
