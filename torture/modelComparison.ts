import { Schema } from "effect"
import type { Account } from "./accounts.ts"
import type { Asking } from "./ask.ts"
import { collectionsOf, type Model, routesOf, visibleMembers } from "./model.ts"
import type { Recorder } from "./recorder.ts"

const Ids = Schema.fromJsonString(Schema.Array(Schema.Struct({ id: Schema.Int })))

const Collection = Schema.fromJsonString(
  Schema.Struct({ routeIds: Schema.Array(Schema.Int), routeCount: Schema.Int })
)

const PAGE = 200

interface Listed {
  readonly ids: ReadonlySet<number>
  readonly total: number
}

const listed = async ({ ask }: Asking, path: string, token: string | undefined): Promise<Listed> => {
  const ids = new Set<number>()
  const state = { total: 0, hasMore: true }
  for (let offset = 0; state.hasMore; offset += PAGE) {
    const { headers, text } = await ask({ path: `${path}?limit=${PAGE}&offset=${offset}`, token })
    const page = Schema.decodeSync(Ids)(text)
    page.forEach(({ id }) => ids.add(id))
    state.total = Number(headers["x-total-count"])
    state.hasMore = page.length === PAGE
  }
  return { ids, total: state.total }
}

const missing = (wanted: Iterable<number>, found: ReadonlySet<number>) => [...wanted].filter((id) => !found.has(id))

const idsOf = (some: ReadonlyArray<{ readonly id: number }>) => new Set(some.map(({ id }) => id))

/** Compares what one client sees with the model; returns what is lost, each with its name. */
export const comparison = async (asking: Asking, recorder: Recorder, model: Model, account: Account) => {
  const { id: owner, token } = account
  const same = async (path: string, wanted: ReadonlySet<number>, credential: string | undefined, extra: string) => {
    const { ids, total } = await listed(asking, path, credential)
    recorder.report(extra, missing(ids, wanted).length)
    if (total !== ids.size) {
      recorder.report(`X-Total-Count of ${path.split("/").slice(3, 5).join("/")} is not its rows`)
    }
    return missing(wanted, ids).map((id) => `${id} of ${path}`)
  }
  const routes = routesOf(model, owner)
  const live = idsOf(routes.filter(({ isDeleted }) => !isDeleted))
  const trash = idsOf(routes.filter(({ isDeleted }) => isDeleted))
  const open = idsOf(routes.filter(({ isDeleted, visibility }) => !isDeleted && visibility === "public"))
  const collections = collectionsOf(model, owner).filter(({ isDeleted }) => !isDeleted)
  const lost = [
    await same("/api/v1/routes", live, token, "a resurrected route"),
    await same("/api/v1/routes/deleted", trash, token, "a live route in the trash"),
    await same(`/api/v1/routes/by-user/${owner}`, open, undefined, "a route is public after its deletion"),
    await same("/api/v1/collections", idsOf(collections), token, "a resurrected collection")
  ]
  for (const id of trash) {
    const { status } = await asking.ask({ path: `/api/v1/routes/${id}` })
    if (status !== 404) recorder.report("a deleted route is open to a visitor")
  }
  for (const collection of collections) {
    const { text } = await asking.ask({ path: `/api/v1/collections/${collection.id}`, token })
    const { routeCount, routeIds } = Schema.decodeSync(Collection)(text)
    const wanted = new Set(visibleMembers(model, collection))
    const known = new Set([...wanted, ...collection.uncertain])
    lost.push(missing(wanted, new Set(routeIds)).map((id) => `${id} of collection ${collection.id}`))
    recorder.report("a member that was not added or was taken out", missing(routeIds, known).length)
    if (routeCount !== routeIds.length) recorder.report("routeCount is not the number of routeIds")
  }
  return lost.flat()
}
