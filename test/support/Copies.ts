import { assert } from "@effect/vitest"
import { Effect, Ref, Schema } from "effect"
import type { Actor } from "./Actors.ts"
import { TestServer } from "./TestServer.ts"
import { until } from "./Waiting.ts"

const Members = Schema.Record(Schema.String, Schema.Json)
const Item = Schema.StructWithRest(Schema.Struct({ id: Schema.Int }), [Members])

const Change = Schema.Struct({
  type: Schema.Literals(["route", "collection", "link", "account"]),
  id: Schema.Int,
  change: Schema.Literals(["upserted", "deleted"]),
  version: Schema.Int,
  at: Schema.String,
  route: Schema.optionalKey(Item),
  collection: Schema.optionalKey(Item),
  link: Schema.optionalKey(Item),
  account: Schema.optionalKey(Members)
})
type Change = typeof Change.Type

export const pageIn = Schema.decodeUnknownSync(
  Schema.Struct({ changes: Schema.Array(Change), cursor: Schema.String, hasMore: Schema.Boolean })
)

export interface Copy {
  readonly cursor: string | undefined
  readonly items: ReadonlyMap<string, unknown>
}

export const emptyCopy: Copy = { cursor: undefined, items: new Map() }

const applied = (items: ReadonlyMap<string, unknown>, changes: ReadonlyArray<Change>) => {
  const next = new Map(items)
  for (const { account, change, collection, id, link, route, type } of changes) {
    if (change === "deleted") next.delete(`${type} ${id}`)
    else next.set(`${type} ${id}`, route ?? collection ?? link ?? account)
  }
  return next
}

/** Reads one page into a copy; an interruption loses the page and keeps the copy. */
export const readPage = Effect.fnUntraced(function*(reader: Actor, copy: Ref.Ref<Copy>, query = "") {
  const { cursor, items } = yield* Ref.get(copy)
  const { body, status } = yield* reader.get(`/sync?${query}${cursor === undefined ? "" : `&cursor=${cursor}`}`)
  assert.strictEqual(status, 200)
  const page = pageIn(body)
  yield* Ref.set(copy, { cursor: page.cursor, items: applied(items, page.changes) })
  return page
})

export const catchUp = (reader: Actor, copy: Ref.Ref<Copy>, query?: string): Effect.Effect<void> =>
  Effect.flatMap(readPage(reader, copy, query), ({ hasMore }) => hasMore ? catchUp(reader, copy, query) : Effect.void)

export const EVERYTHING = "include=everything"

/** Ends when so many requests wait for a change. */
export const areWaiting = (count: number) =>
  Effect.flatMap(
    TestServer,
    ({ call }) => until(Effect.map(call("GET", "//metrics"), ({ text }) => text.includes(`\nchange_waits ${count}\n`)))
  )

const listed = Schema.decodeUnknownSync(Schema.Array(Item))

/** Reads the account by its lists. */
const accountOf = Effect.fnUntraced(function*(owner: Actor) {
  const routes = listed((yield* owner.get("/routes?limit=200")).body)
  const collections = listed((yield* owner.get("/collections?limit=200")).body)
  return new Map<string, unknown>([
    ...routes.map((route) => [`route ${route.id}`, route] as const),
    ...collections.map((collection) => [`collection ${collection.id}`, collection] as const)
  ])
})

const SettingsIn = Schema.decodeUnknownSync(Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  handle: Schema.String,
  avatar: Schema.optionalKey(Schema.String),
  preferences: Schema.Json
}))

const ZonesIn = Schema.decodeUnknownSync(Schema.Struct({ zones: Schema.Json }))

/** Reads the account by its lists, the links of each route and collection, and its settings. */
const everythingOf = Effect.fnUntraced(function*(owner: Actor) {
  const resources = yield* accountOf(owner)
  const items = new Map(resources)
  for (const key of resources.keys()) {
    const [type, id] = key.split(" ")
    for (const link of listed((yield* owner.get(`/${type}s/${id}/links?limit=200`)).body)) {
      items.set(`link ${link.id}`, { ...link, [`${type}Id`]: Number(id) })
    }
  }
  const { id, ...settings } = SettingsIn((yield* owner.get("/users/me")).body)
  const { zones } = ZonesIn((yield* owner.get("/users/me/privacy-zones")).body)
  return items.set(`account ${id}`, { ...settings, zones })
})

const sorted = (items: ReadonlyMap<string, unknown>) => [...items].toSorted(([a], [b]) => a.localeCompare(b))

export const assertCopied = Effect.fnUntraced(function*(owner: Actor, copy: Ref.Ref<Copy>) {
  assert.deepStrictEqual(sorted((yield* Ref.get(copy)).items), sorted(yield* accountOf(owner)))
})

export const assertEverythingCopied = Effect.fnUntraced(function*(owner: Actor, copy: Ref.Ref<Copy>) {
  assert.deepStrictEqual(sorted((yield* Ref.get(copy)).items), sorted(yield* everythingOf(owner)))
})
