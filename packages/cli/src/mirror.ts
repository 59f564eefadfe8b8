import { Effect, Schema, Struct } from "effect"
import { Command, Flag } from "effect/cli"
import {
  type BatchOperation,
  type BatchResult,
  type Collection,
  pages,
  type PrivacyZone,
  type Route,
  type RouteInput,
  ServiceError,
  sync
} from "../../client/src/index.ts"
import { addZones, clientIdOf, Ids, inputOf, OF_OTHERS, presentIds, sendAll } from "./Copies.ts"
import { attempt, EXIT_CODES, Failure } from "./Failure.ts"
import { lock, ownFile, readText, replaceJson } from "./Files.ts"
import { type Account, fileNameOf, targetAt } from "./Logins.ts"
import { account, print } from "./Root.ts"
import { showProgress } from "./Terminal.ts"

type Kind = "routes" | "collections"

const Zone = Schema.Struct({
  center: Schema.Tuple([Schema.Finite, Schema.Finite]),
  radius: Schema.Finite,
  label: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const State = Schema.Struct({
  cursor: Schema.optionalKey(Schema.String),
  /** These zones of the target are from the source. Earlier versions did not keep them. */
  zones: Schema.optionalKey(Schema.Array(Zone)),
  /** Each id of the source has its id of the target. */
  ids: Schema.Struct({ routes: Ids, collections: Ids }),
  /** These ids are not as in the source: refused ones, and collections until all of their routes are in the target. */
  stale: Schema.Struct({ routes: Schema.Array(Schema.Int), collections: Schema.Array(Schema.Int) }),
  /** The feed of the source began again, so it does not tell what was deleted. */
  isUnsure: Schema.Boolean,
  /** The number grows with each deletion: a route that is restored in the source is another one in the target. */
  generation: Schema.Int
})

const decodeState = Schema.decodeUnknownSync(Schema.fromJsonString(State))

const EMPTY = decodeState(JSON.stringify({
  ids: { routes: {}, collections: {} },
  stale: { routes: [], collections: [] },
  isUnsure: false,
  generation: 0
}))

interface Mirror {
  readonly source: Account
  readonly target: Account
  readonly file: string
  readonly ids: Readonly<Record<Kind, Map<number, number>>>
  readonly stale: Readonly<Record<Kind, Set<number>>>
  readonly counts: { copied: number; deleted: number }
  readonly refused: Map<string, string>
  zones: ReadonlyArray<PrivacyZone>
  cursor: string | undefined
  isUnsure: boolean
  generation: number
}

const mapOf = (ids: typeof Ids.Type) => new Map(Object.entries(ids).map(([from, to]) => [Number(from), to]))

const opened = async (source: Account, target: Account): Promise<Mirror> => {
  const [from, to] = await Promise.all([source.client.users.me(), target.client.users.me()])
  // A service may have several addresses, such as with and without www.
  if (from.idHash === to.idHash) throw Failure.because("--to is the account itself", EXIT_CODES.usage)
  const file = ownFile(`mirrors/${fileNameOf(source.origin, from.id)}-to-${fileNameOf(target.origin, to.id)}.json`)
  await lock(file, "mirror")
  const text = await readText(file)
  const { cursor, generation, ids, isUnsure, stale, zones = [] } = text === undefined ? EMPTY : decodeState(text)
  return {
    source,
    target,
    file,
    zones,
    cursor,
    generation,
    isUnsure,
    ids: { routes: mapOf(ids.routes), collections: mapOf(ids.collections) },
    stale: { routes: new Set(stale.routes), collections: new Set(stale.collections) },
    counts: { copied: 0, deleted: 0 },
    refused: new Map()
  }
}

const save = ({ cursor, file, generation, ids, isUnsure, stale, zones }: Mirror) =>
  replaceJson(file, {
    zones,
    ...(cursor === undefined ? {} : { cursor }),
    generation,
    isUnsure,
    ids: { routes: Object.fromEntries(ids.routes), collections: Object.fromEntries(ids.collections) },
    stale: { routes: [...stale.routes], collections: [...stale.collections] }
  })

const copyZones = async (mirror: Mirror) => {
  const { zones } = await mirror.source.client.users.privacyZones()
  mirror.zones = await addZones(mirror.target.client, zones, mirror.zones)
  if (mirror.zones.length > 0) await save(mirror)
}

interface Step {
  readonly kind: Kind
  readonly id: number
  readonly operation: BatchOperation
}

const perform = async ({ target: { client } }: Mirror, steps: ReadonlyArray<Step>) => {
  const sent = await sendAll(client, steps.map(({ operation }) => operation))
  return sent.flatMap(({ operation, result }, index): ReadonlyArray<readonly [Step, BatchResult]> => {
    const step = steps[index]
    return step === undefined || operation === undefined ? [] : [[{ ...step, operation }, result]]
  })
}

type Item = { readonly kind: "routes"; readonly item: Route } | {
  readonly kind: "collections"
  readonly item: Collection
}

const stepOf = (mirror: Mirror, { item, kind }: Item): Step => {
  const id = mirror.ids[kind].get(item.id)
  const clientId = clientIdOf(`${mirror.source.origin} ${kind} ${item.id} ${mirror.generation}`)
  if (kind === "routes") {
    const route = inputOf(item)
    const operation: BatchOperation = id === undefined
      ? { op: "create", route: { ...route, clientId } }
      : { op: "update", id, changes: route }
    return { kind, id: item.id, operation }
  }
  const { description = null, name, routeIds, visibility } = item
  const collection = {
    name,
    description,
    visibility,
    // Public routes of others in the collection are no routes of the target.
    routeIds: routeIds.flatMap((route) => mirror.ids.routes.get(route) ?? [])
  }
  const operation: BatchOperation = id === undefined
    ? { op: "createCollection", collection: { ...collection, clientId } }
    : { op: "updateCollection", collectionId: id, changes: collection }
  return { kind, id: item.id, operation }
}

/** Results of a batch have no line, nor what belongs to its positions. */
const withoutLine = (route: RouteInput) => Struct.omit(route, ["clientId", "geometry", "segments", "cues"])

/** An earlier run may have created the item without keeping its id, and the source may have changed since. */
const isAsSent = ({ operation }: Step, { collection, route }: BatchResult) => {
  if (operation.op === "create" && route !== undefined) {
    return JSON.stringify(withoutLine(inputOf(route))) === JSON.stringify(withoutLine(operation.route))
  }
  if (operation.op === "createCollection" && collection !== undefined) {
    return collection.name === operation.collection.name
      && JSON.stringify(collection.routeIds) === JSON.stringify(operation.collection.routeIds)
  }
  return true
}

/** A collection stays stale while a route of it was refused. */
const lacksRoutes = ({ stale }: Mirror, one: Item | undefined) =>
  one?.kind === "collections" && one.item.routeIds.some((id) => stale.routes.has(id))

const ofOthers = ({ ids, stale }: Mirror, one: Item | undefined) =>
  one?.kind === "collections" ? one.item.routeIds.filter((id) => !ids.routes.has(id) && !stale.routes.has(id)) : []

/** Copies that their owner deleted are created again by the next run, and added to their collections. */
const forget = ({ ids, stale }: Mirror, { id, kind }: Step, missing: ReadonlyArray<number> | undefined) => {
  if (missing === undefined) ids[kind].delete(id)
  for (const [route, copied] of ids.routes) {
    if (missing?.includes(copied) !== true) continue
    ids.routes.delete(route)
    stale.routes.add(route)
  }
  for (const collection of ids.collections.keys()) stale.collections.add(collection)
}

const copy = async (mirror: Mirror, items: ReadonlyArray<Item>): Promise<void> => {
  const different = new Set<Item>()
  const performed = await perform(mirror, items.map((item) => stepOf(mirror, item)))
  for (const [index, [step, result]] of performed.entries()) {
    const { id, kind } = step
    const made = (result.route ?? result.collection)?.id
    const name = `${kind === "routes" ? "route" : "collection"} ${id}`
    if (result.error !== undefined || made === undefined) {
      mirror.stale[kind].add(id)
      mirror.refused.set(name, result.error?.message ?? `status ${result.status}`)
      if (result.status === 404) forget(mirror, step, result.error?.details?.routeIds)
      if (result.status === 404 || result.error?.details?.["reason"] === "client_id_used") mirror.generation++
      continue
    }
    mirror.ids[kind].set(id, made)
    const item = items[index]
    if (item !== undefined && !isAsSent(step, result)) different.add(item)
    else {
      if (!lacksRoutes(mirror, item)) mirror.stale[kind].delete(id)
      mirror.refused.delete(name)
      for (const route of ofOthers(mirror, item)) mirror.refused.set(`route ${route} of ${name}`, OF_OTHERS)
      mirror.counts.copied++
    }
  }
  if (different.size > 0) await copy(mirror, [...different])
}

const remove = async (mirror: Mirror, removed: ReadonlyArray<{ readonly kind: Kind; readonly id: number }>) => {
  const steps = removed.flatMap(({ id, kind }): ReadonlyArray<Step> => {
    mirror.stale[kind].delete(id)
    const copied = mirror.ids[kind].get(id)
    if (copied === undefined) return []
    const operation: BatchOperation = kind === "routes"
      ? { op: "delete", id: copied }
      : { op: "deleteCollection", collectionId: copied }
    return [{ kind, id, operation }]
  })
  for (const [{ id, kind }, { error, status }] of await perform(mirror, steps)) {
    if (error !== undefined && status !== 404) {
      mirror.refused.set(`deletion of ${id} in ${kind}`, error.message)
      mirror.isUnsure = true
      continue
    }
    mirror.ids[kind].delete(id)
    mirror.generation++
    mirror.counts.deleted++
  }
}

const KINDS = { route: "routes", collection: "collections" } as const

const PAGE = 50

/**
 * Follows the feed of the source. Collections are copied later, when their routes are there, and so are the routes of the
 * first run: the feed begins with the newest, and so do lists of the target with what it made last.
 */
const follow = (mirror: Mirror, isFirst: boolean) =>
  sync(mirror.source.client, {
    cursor: () => mirror.cursor,
    apply: async ({ changes, cursor }) => {
      const routes = changes.flatMap(({ route }) => route ?? [])
      if (isFirst) { for (const { id } of routes) mirror.stale.routes.add(id) }
      else await copy(mirror, routes.map((item) => ({ kind: "routes", item })))
      for (const { collection } of changes) if (collection !== undefined) mirror.stale.collections.add(collection.id)
      await remove(
        mirror,
        changes.flatMap(({ change, id, type }) =>
          change === "deleted" && (type === "route" || type === "collection") ? [{ kind: KINDS[type], id }] : []
        )
      )
      mirror.cursor = cursor
      await save(mirror)
      showProgress(mirror.counts.copied, mirror.counts.copied, "copied")
    },
    reset: () => {
      mirror.cursor = undefined
      mirror.isUnsure = true
    }
  }, isFirst ? { geometry: "none", limit: 200 } : { limit: PAGE })

const copyPage = async (mirror: Mirror, items: ReadonlyArray<Item>) => {
  await copy(mirror, items)
  await save(mirror)
  showProgress(mirror.counts.copied, mirror.counts.copied, "copied")
}

const copyOldestFirst = async (mirror: Mirror) => {
  const query = { sort: "createdAt", geometry: "full", limit: PAGE } as const
  const items: Array<Item> = []
  for await (
    const item of pages((page) => mirror.source.client.routes.list.response({ query: { ...query, ...page } }))
  ) {
    items.push({ kind: "routes", item })
    if (items.length === PAGE) await copyPage(mirror, items.splice(0))
  }
  await copyPage(mirror, items)
}

/** Returns nothing if the item is gone: the feed tells of its deletion. */
const present = async <A>(read: Promise<A>): Promise<ReadonlyArray<A>> => {
  try {
    return [await read]
  } catch (error) {
    if (error instanceof ServiceError && error.statusCode === 404) return []
    throw error
  }
}

const ascending = (ids: ReadonlySet<number>) => [...ids].toSorted((a, b) => a - b)

const copyStale = async (mirror: Mirror) => {
  const { collections, routes } = mirror.source.client
  const copyAll = async (refs: Array<number>, read: (ref: number) => Promise<Item>) => {
    while (refs.length > 0) {
      const items: Array<Item> = []
      for (const ref of refs.splice(0, PAGE)) items.push(...await present(read(ref)))
      await copyPage(mirror, items)
    }
  }
  await copyAll(
    ascending(mirror.stale.routes),
    async (ref) => ({ kind: "routes", item: await routes.get({ params: { ref } }) })
  )
  await copyAll(
    ascending(mirror.stale.collections),
    async (ref) => ({ kind: "collections", item: await collections.get({ params: { ref } }) })
  )
}

const removeAbsent = async (mirror: Mirror) => {
  if (!mirror.isUnsure) return
  const present = await presentIds(mirror.source.client)
  mirror.isUnsure = false
  for (const kind of ["routes", "collections"] as const) {
    const absent = [...mirror.ids[kind].keys()].filter((id) => !present[kind].has(id))
    await remove(mirror, absent.map((id) => ({ kind, id })))
  }
  await save(mirror)
}

export const mirror = Command.make(
  "mirror",
  {
    to: Flag.String("to").pipe(
      Flag.withDescription("The other service, with a login of its own or its token in RPS_TO_TOKEN")
    )
  },
  Effect.fnUntraced(function*({ to }) {
    const source = yield* account
    const copied = yield* attempt(async () => {
      const mirror = await opened(source, await targetAt(to))
      await copyZones(mirror)
      const isFirst = mirror.cursor === undefined
      await follow(mirror, isFirst)
      if (isFirst) await copyOldestFirst(mirror)
      await copyStale(mirror)
      await removeAbsent(mirror)
      return mirror
    })
    for (const [what, message] of copied.refused) yield* print({ what, error: message }, `${what}: ${message}`)
    const counts = { ...copied.counts, refused: copied.refused.size }
    yield* print(counts, `${counts.copied} copied, ${counts.deleted} deleted, ${counts.refused} refused`)
    if (counts.refused > 0) return yield* Failure.because(`${counts.refused} were refused`, EXIT_CODES.partial)
  })
).pipe(Command.withDescription(
  "Copy privacy zones, routes and collections to an account of another service. The next run copies what changed since; what else is "
    + "there stays"
))
