import { Clock, Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import {
  batch,
  type Client,
  type Collection,
  pages,
  type Route,
  type RouteInput,
  type ShareLink
} from "../../client/src/index.ts"
import { readState } from "./backup.ts"
import { attempt, EXIT_CODES, Failure } from "./Failure.ts"
import { readText, replaceJson } from "./Files.ts"
import { account, print, showProgress } from "./Root.ts"

interface Shared {
  readonly links: ReadonlyArray<ShareLink>
}

const has = (value: unknown, ...names: ReadonlyArray<string>) =>
  typeof value === "object" && value !== null && names.every((name) => name in value)

/** The rest is for the service to check, which reads it as it reads any request. */
const isRoute = (value: unknown): value is Route & Shared => has(value, "id", "name", "waypoints", "createdAt", "links")

const isCollection = (value: unknown): value is Collection & Shared =>
  has(value, "id", "name", "routeIds", "createdAt", "links")

const readAll = async <A extends { readonly createdAt: string }>(
  directory: string,
  isOne: (value: unknown) => value is A
): Promise<ReadonlyArray<A>> => {
  const files = (await readdir(directory).catch(() => [])).filter((file) => file.endsWith(".json"))
  const items = await Promise.all(files.map(async (file) => {
    const value: unknown = JSON.parse(await readFile(join(directory, file), "utf8"))
    if (!isOne(value)) throw Failure.because(`${join(directory, file)}: not a file of a backup`)
    return value
  }))
  return items.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))
}

const inputOf = (route: Route): RouteInput => ({
  name: route.name,
  waypoints: route.waypoints,
  visibility: route.visibility,
  provenance: route.provenance,
  description: route.description ?? null,
  activity: route.activity ?? null,
  duration: route.duration ?? null,
  elevationGain: route.elevationGain ?? null,
  startAddress: route.startAddress ?? null,
  endAddress: route.endAddress ?? null,
  geometry: route.geometry ?? null,
  segments: route.segments ?? null,
  distance: route.distance ?? null,
  routingPreferences: route.routingPreferences,
  cues: route.cues ?? null,
  tags: route.tags,
  favourite: route.favourite
})

const Ids = Schema.Record(Schema.String, Schema.Int)

/** Which id of the backup is which of the account. */
const Restored = Schema.Struct({ routes: Ids, collections: Ids })

const decodeRestored = Schema.decodeUnknownSync(Schema.fromJsonString(Restored))

/** A batch is at most 8 MiB. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024
const MAX_BATCH = 50

const batches = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const all: Array<Array<A>> = []
  let bytes = 0
  for (const item of items) {
    const length = JSON.stringify(item).length
    const last = all.at(-1)
    if (last === undefined || last.length === MAX_BATCH || bytes + length > MAX_BATCH_BYTES) {
      all.push([item])
      bytes = length
    } else {
      last.push(item)
      bytes += length
    }
  }
  return all
}

/** An account of the same id may have what the backup has: its own routes are left as they are. */
const presentIds = async ({ collections, routes }: Client) => {
  const ids = { routes: new Set<number>(), collections: new Set<number>() }
  const lists = [
    pages((page) => routes.list.response({ query: { geometry: "none", limit: 200, ...page } })),
    pages((page) => collections.list.response({ query: { limit: 200, ...page } }))
  ] as const
  for await (const { id } of lists[0]) ids.routes.add(id)
  for await (const { id } of lists[1]) ids.collections.add(id)
  return ids
}

const CONFIRMED = { "X-Service-Confirm": "true" }

const isCurrent = (now: number) => ({ expiresAt }: ShareLink) => expiresAt === null || Date.parse(expiresAt) > now

export const restore = Command.make(
  "restore",
  {
    directory: Argument.Directory("directory", { mustExist: true }).pipe(
      Argument.withDescription("What rps backup wrote")
    )
  },
  Effect.fnUntraced(function*({ directory }) {
    const { client, origin } = yield* account
    const now = yield* Clock.currentTimeMillis
    const counts = { restored: 0, present: 0, failed: 0 }
    yield* attempt(async () => {
      const state = await readState(directory)
      if (state === undefined) throw Failure.because(`${directory}: not a backup, it has no backup.json`)
      const { user: { id: userId } } = await client.credential.describe()
      const file = join(directory, "restored", `${new URL(origin).host.replace(":", "-")}-${userId}.json`)
      const text = await readText(file)
      const done = text === undefined ? { routes: {}, collections: {} } : decodeRestored(text)
      const ids = { routes: { ...done.routes }, collections: { ...done.collections } }
      const keep = () => replaceJson(file, ids)
      const present = await presentIds(client)
      const isSame = state.origin === origin && state.userId === userId
      const isPresent = (kind: "routes" | "collections", id: number) =>
        present[kind].has(ids[kind][id] ?? (isSame ? id : -1))

      const routes = await readAll(join(directory, "routes"), isRoute)
      const absent = routes.filter(({ id }) => !isPresent("routes", id))
      counts.present = routes.length - absent.length
      let tried = 0
      for (const some of batches(absent)) {
        const operations = some.map((route) => ({ op: "create", route: inputOf(route) } as const))
        const results = await batch(client, operations, { confirm: true, idempotencyKey: crypto.randomUUID() })
        for (const [index, { route }] of results.entries()) {
          const stored = some[index]
          if (stored === undefined || route === undefined) counts.failed++
          else {
            ids.routes[stored.id] = route.id
            counts.restored++
            for (const { allowDownload, expiresAt, label } of stored.links.filter(isCurrent(now))) {
              await client.links.createForRoute({
                params: { id: route.id },
                payload: { allowDownload, expiresAt, label }
              })
            }
          }
        }
        await keep()
        tried += some.length
        showProgress(tried, absent.length, "routes")
      }
      for (
        const { description = null, id, links, name, routeIds, visibility } of await readAll(
          join(directory, "collections"),
          isCollection
        )
      ) {
        if (isPresent("collections", id)) continue
        const members = routeIds.flatMap((member) =>
          ids.routes[member] ?? (isSame && present.routes.has(member) ? member : [])
        )
        const made = await client.collections.create({
          headers: { ...CONFIRMED, "Idempotency-Key": crypto.randomUUID() },
          payload: { name, description, visibility, routeIds: members }
        })
        ids.collections[id] = made.id
        await keep()
        for (const { allowDownload, expiresAt, label } of links.filter(isCurrent(now))) {
          await client.links.createForCollection({
            params: { id: made.id },
            payload: { allowDownload, expiresAt, label }
          })
        }
      }
    })
    yield* print(
      counts,
      `${counts.restored} routes restored, ${counts.present} already there, ${counts.failed} refused`
    )
    if (counts.failed > 0) return yield* Failure.because(`${counts.failed} routes were refused`, EXIT_CODES.partial)
  })
).pipe(Command.withDescription(
  "Bring a backup back, into this account or another one: what is there stays as it is, and a run that ended early goes on"
))
