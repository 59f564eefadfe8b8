import { Effect, Schema } from "effect"
import type { Account } from "./accounts.ts"
import { type Ask, decoded } from "./ask.ts"
import { type Model, ownedBy, visibleMembers } from "./model.ts"
import type { Recorder } from "./recorder.ts"

const idsIn = decoded(Schema.Array(Schema.Struct({ id: Schema.Int })))

const collectionIn = decoded(Schema.Struct({ routeIds: Schema.Array(Schema.Int), routeCount: Schema.Int }))

const PAGE = 200

const listed = Effect.fnUntraced(function*(ask: Ask, path: string, token: string | undefined) {
  const ids = new Set<number>()
  for (let offset = 0;; offset += PAGE) {
    const reply = yield* ask({ path: `${path}?limit=${PAGE}&offset=${offset}`, token })
    const page = idsIn(reply)
    page.forEach(({ id }) => ids.add(id))
    if (page.length < PAGE) return { ids, total: Number(reply.headers["x-total-count"]) }
  }
})

const missing = (wanted: Iterable<number>, found: ReadonlySet<number>) => [...wanted].filter((id) => !found.has(id))

/** Compares what one client sees with the model. Returns the names of everything that is lost. */
export const comparison = Effect.fnUntraced(
  function*(ask: Ask, recorder: Recorder, model: Model, { id: owner, token }: Account) {
    const lost: Array<string> = []
    const same = Effect.fnUntraced(function*(
      path: string,
      rows: ReadonlyArray<{ readonly id: number }>,
      credential: string | undefined,
      extra: string
    ) {
      const wanted = new Set(rows.map(({ id }) => id))
      const { ids, total } = yield* listed(ask, path, credential)
      recorder.report(extra, missing(ids, wanted).length)
      if (total !== ids.size) {
        recorder.report(`X-Total-Count of ${path.split("/").slice(3, 5).join("/")} is not its rows`)
      }
      lost.push(...missing(wanted, ids).map((id) => `${id} of ${path}`))
    })
    const { collections, routes, trash } = ownedBy(model, owner)
    const open = routes.filter(({ visibility }) => visibility === "public")
    yield* same("/api/v1/routes", routes, token, "a resurrected route")
    yield* same("/api/v1/routes/deleted", trash, token, "a live route in the trash")
    yield* same(`/api/v1/routes/by-user/${owner}`, open, undefined, "a route is public after its deletion")
    yield* same("/api/v1/collections", collections, token, "a resurrected collection")
    for (const { id } of trash) {
      const { status } = yield* ask({ path: `/api/v1/routes/${id}` })
      if (status !== 404) recorder.report("a deleted route is open to a visitor")
    }
    for (const collection of collections) {
      const { routeCount, routeIds } = collectionIn(yield* ask({ path: `/api/v1/collections/${collection.id}`, token }))
      const wanted = visibleMembers(model, collection)
      const known = new Set([...wanted, ...collection.uncertain])
      lost.push(...missing(wanted, new Set(routeIds)).map((id) => `${id} of collection ${collection.id}`))
      recorder.report("a member that was not added or was taken out", missing(routeIds, known).length)
      if (routeCount !== routeIds.length) recorder.report("routeCount is not the number of routeIds")
    }
    return lost
  }
)
