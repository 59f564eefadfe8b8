import { Clock, Effect, identity, Predicate, Record, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { MAX_OPERATIONS } from "../../client/src/contract.ts"
import {
  type AccountSettings,
  type BatchOperation,
  type Collection,
  type Route,
  ServiceError,
  type ShareLink,
  type SyncedLink
} from "../../client/src/index.ts"
import { readState } from "./backup.ts"
import { addZones, clientIdOf, Ids, inputOf, OF_OTHERS, presentIds, sendAll, sourceText } from "./Copies.ts"
import { attempt, EXIT_CODES, Failure } from "./Failure.ts"
import { lock, readText, replaceJson } from "./Files.ts"
import { fileNameOf } from "./Logins.ts"
import { account, given, print } from "./Root.ts"
import { showProgress } from "./Terminal.ts"

/** Backups from before links had their own files have them in the files of routes and collections. */
interface Shared {
  readonly links?: ReadonlyArray<ShareLink>
}

const has = (value: unknown, ...names: ReadonlyArray<string>) =>
  typeof value === "object" && value !== null && names.every((name) => name in value)

type Members = Readonly<Record<string, unknown>>

/** Returns all members, also of objects within: those of the account rather than those of the backup. */
const merged = (stored: Members, own: Members): Members => ({
  ...stored,
  ...Record.map(own, (value, key) => {
    const other = stored[key]
    return Predicate.isReadonlyObject(value) && Predicate.isReadonlyObject(other) ? merged(other, value) : value
  })
})

/** Only these members are checked: the service checks the rest, as in any request. */
const isRoute = (value: unknown): value is Route & Shared => has(value, "id", "name", "waypoints", "createdAt")

const isCollection = (value: unknown): value is Collection & Shared => has(value, "id", "name", "routeIds", "createdAt")

const isLink = (value: unknown): value is SyncedLink => has(value, "id", "createdAt", "expiresAt")

const isAccount = (value: unknown): value is AccountSettings => has(value, "preferences", "zones")

const readItem = async <A>(file: string, isOne: (value: unknown) => value is A) => {
  const text = await readFile(file, "utf8")
  const value: unknown = JSON.parse(text)
  if (!isOne(value)) throw Failure.because(`${file}: not a file of a backup`)
  return { value, file, length: text.length }
}

/** Returns the items of a directory, oldest first. Not all lines fit in memory: `kept` returns what is needed of an item. */
const readAll = async <A extends { readonly createdAt: string }, B extends { readonly createdAt: string }>(
  directory: string,
  isOne: (value: unknown) => value is A,
  kept: (item: A, file: string, length: number) => B
): Promise<ReadonlyArray<B>> => {
  const items: Array<B> = []
  for (const name of await readdir(directory).catch(() => [])) {
    if (!name.endsWith(".json")) continue
    const { file, length, value } = await readItem(join(directory, name), isOne)
    items.push(kept(value, file, length))
  }
  return items.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))
}

const MAX_LENGTH = 16 * 1024 * 1024

/** Returns the files in groups, each to be read into memory at once. */
const grouped = <A extends { readonly length: number }>(files: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const groups: Array<Array<A>> = []
  let room = 0
  for (const file of files) {
    room -= file.length
    if (room < 0 || groups.at(-1)?.length === MAX_OPERATIONS) {
      groups.push([])
      room = MAX_LENGTH - file.length
    }
    groups.at(-1)?.push(file)
  }
  return groups
}

/** Each id of the backup has its id of the account. */
const Restored = Schema.Struct({
  routes: Ids,
  collections: Ids,
  links: Schema.optionalKey(Ids),
  /** A run that did not get to its end has left its UUID: the next one sends the same ids of the client, and makes nothing twice. */
  run: Schema.optionalKey(Schema.String)
})

const decodeRestored = Schema.decodeUnknownSync(Schema.fromJsonString(Restored))

const isCurrent = (now: number) => ({ expiresAt }: ShareLink | SyncedLink) =>
  expiresAt === null || Date.parse(expiresAt) > now

const missingIn = (error: unknown): ReadonlyArray<number> =>
  error instanceof ServiceError && error.statusCode === 404 ? error.details.routeIds ?? [] : []

export const restore = Command.make(
  "restore",
  {
    directory: given(Argument.Directory("directory", { mustExist: true })).pipe(
      Argument.withDescription("What rps backup wrote")
    )
  },
  Effect.fnUntraced(function*({ directory }) {
    const { client, origin } = yield* account
    const now = yield* Clock.currentTimeMillis
    const counts = { restored: 0, present: 0, failed: 0 }
    const refused: Array<{ readonly what: string; readonly error: string }> = []
    const refuse = (what: string, error: { readonly message: string } | undefined) => {
      counts.failed++
      refused.push({ what, error: error?.message ?? "not stored" })
    }
    yield* attempt(async () => {
      const state = await readState(directory)
      if (state === undefined) throw Failure.because(`${directory}: not a backup, it has no backup.json`)
      const { user: { id: userId } } = await client.credential.describe()
      const file = join(directory, "restored", `${fileNameOf(origin, userId)}.json`)
      await lock(file, "restore")
      const text = await readText(file)
      const done = text === undefined ? { routes: {}, collections: {} } : decodeRestored(text)
      const ids = { routes: { ...done.routes }, collections: { ...done.collections }, links: { ...done.links } }
      const run = done.run ?? crypto.randomUUID()
      const keep = () => replaceJson(file, { ...ids, run })
      await keep()
      const newId = (kind: keyof typeof ids, id: number) => clientIdOf(`${run} ${kind} ${id}`)
      const present = await presentIds(client)
      const isSame = state.origin === origin && state.userId === userId
      /** Returns the id in the account of an item with an id in the backup. */
      const presentId = (kind: keyof typeof ids, id: number | undefined) => {
        const known = ids[kind][id ?? 0] ?? (isSame ? id : undefined)
        return known !== undefined && present[kind].has(known) ? known : undefined
      }
      const send = async (operations: ReadonlyArray<BatchOperation>) =>
        (await sendAll(client, operations)).map(({ result }) => result)

      const settings = await readText(join(directory, "account.json"))
      const stored: unknown = settings === undefined ? undefined : JSON.parse(settings)
      if (isAccount(stored)) {
        const { avatar, preferences, zones } = stored
        await addZones(client, zones)
        const own = await client.users.me()
        const both = own.preferences === null ? preferences : merged({ ...preferences }, { ...own.preferences })
        await client.users.update({ payload: { avatar: own.avatar ?? avatar, preferences: both } })
      }

      const routes = await readAll(
        join(directory, "routes"),
        isRoute,
        ({ createdAt, id, links, source }, file, length) => ({ createdAt, id, links, source, file, length })
      )
      for (const { id, source } of routes) {
        const known = source === undefined ? undefined : present.bySource.get(sourceText(source))
        if (known !== undefined && presentId("routes", id) === undefined) ids.routes[id] = known
      }
      const absent = routes.filter(({ id }) => presentId("routes", id) === undefined)
      counts.present = routes.length - absent.length
      let tried = 0
      for (const some of grouped(absent)) {
        const operations = await Promise.all(some.map(async ({ file, id }) => {
          const route = inputOf((await readItem(file, isRoute)).value)
          return { op: "create", route: { ...route, clientId: newId("routes", id) } } as const
        }))
        const results = await send(operations)
        for (const [index, { error, route }] of results.entries()) {
          const stored = some[index]
          if (stored === undefined || route === undefined) refuse(`route ${stored?.id}`, error)
          else {
            ids.routes[stored.id] = route.id
            present.routes.add(route.id)
            counts.restored++
          }
        }
        await keep()
        tried += some.length
        showProgress(tried, absent.length, "routes")
      }

      const collections = await readAll(join(directory, "collections"), isCollection, identity)
      const own = new Set(routes.map(({ id }) => id))
      // Routes of others have the same ids where the service is the same, and may be gone or hidden.
      const otherId = (member: number) => state.origin === origin && !own.has(member) ? member : undefined
      for (const { description = null, id, name, routeIds, visibility } of collections) {
        if (presentId("collections", id) !== undefined) continue
        const create = (members: ReadonlyArray<number>) =>
          client.collections.create({
            headers: { "X-Service-Confirm": "true", "Idempotency-Key": crypto.randomUUID() },
            payload: { name, description, visibility, clientId: newId("collections", id), routeIds: members }
          })
        const members = routeIds.flatMap((member) => presentId("routes", member) ?? otherId(member) ?? [])
        try {
          const made = await create(members).catch((error) => {
            const missing = missingIn(error)
            if (missing.length === 0) throw error
            return create(members.filter((member) => !missing.includes(member)))
          })
          ids.collections[id] = made.id
          present.collections.add(made.id)
          for (const member of routeIds) {
            if (!own.has(member) && !made.routeIds.includes(member)) {
              refuse(`route ${member} of collection ${id}`, { message: OF_OTHERS })
            }
          }
          await keep()
        } catch (error) {
          if (!(error instanceof ServiceError) || ![400, 404, 409].includes(error.statusCode)) throw error
          refuse(`collection ${id}`, error)
        }
      }

      const links: ReadonlyArray<SyncedLink> = [
        ...await readAll(join(directory, "links"), isLink, identity),
        ...routes.flatMap(({ id, links = [] }) => links.map((link) => ({ ...link, routeId: id }))),
        ...collections.flatMap(({ id, links = [] }) => links.map((link) => ({ ...link, collectionId: id })))
      ]
      const made = links.filter(isCurrent(now)).flatMap((link) => {
        const [routeId, collectionId] = [presentId("routes", link.routeId), presentId("collections", link.collectionId)]
        if (presentId("links", link.id) !== undefined || (routeId ?? collectionId) === undefined) return []
        const { allowDownload, expiresAt, label } = link
        return [{
          id: link.id,
          operation: {
            op: "createLink" as const,
            routeId,
            collectionId,
            link: { allowDownload, expiresAt, label, clientId: newId("links", link.id) }
          }
        }]
      })
      const results = await send(made.map(({ operation }) => operation))
      for (const [index, { error, link }] of results.entries()) {
        const stored = made[index]
        if (stored === undefined || link === undefined) refuse(`link ${stored?.id}`, error)
        else ids.links[stored.id] = link.id
      }
      await replaceJson(file, ids)
    })
    for (const { error, what } of refused) yield* print({ what, error }, `${what}: ${error}`)
    yield* print(
      counts,
      `${counts.restored} routes restored, ${counts.present} already there, ${counts.failed} refused`
    )
    if (counts.failed > 0) {
      return yield* Failure.because(`${counts.failed} routes, collections or links were refused`, EXIT_CODES.partial)
    }
  })
).pipe(Command.withDescription(
  "Bring a backup back, into this account or another one: what is there stays as it is, and a run that ended early goes on. What "
    + "came there in another way, such as with an import, is there a second time afterwards, but for routes with a source"
))
