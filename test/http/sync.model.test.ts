import { layer } from "@effect/vitest"
import { Effect, Fiber, Random, Ref, Schema } from "effect"
import { type Rider, signedIn } from "../support/Actors.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { assertEverythingCopied, catchUp, type Copy, emptyCopy, EVERYTHING, readPage } from "../support/Copies.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const WRITERS = 3
const READERS = 3
const ROUNDS = 6
const STEPS = 4
const AT_FIRST = 6

const SEEDS = ["lost", "late"]

const IdOf = Schema.decodeUnknownOption(Schema.Struct({ id: Schema.Int }))

interface World {
  readonly rider: Rider
  readonly other: Rider
  readonly routes: Ref.Ref<ReadonlyArray<number>>
  readonly foreign: ReadonlyArray<number>
  readonly collections: Ref.Ref<ReadonlyArray<number>>
  readonly links: Ref.Ref<ReadonlyArray<string>>
}

const linkOf = Effect.fnUntraced(function*(links: Ref.Ref<ReadonlyArray<string>>) {
  const all = yield* Ref.get(links)
  return all[yield* Random.nextIntBetween(0, Math.max(1, all.length))] ?? "/routes/1/links/1"
})

const pick = (ids: ReadonlyArray<number>) =>
  Effect.map(Random.nextIntBetween(0, ids.length), (index) => ids[index] ?? 0)

const added = (ids: Ref.Ref<ReadonlyArray<number>>, body: unknown) => {
  const made = IdOf(body)
  return made._tag === "Some" ? Ref.update(ids, (known) => [...known, made.value.id]) : Effect.void
}

/** Makes one random change; many are refused, since others changed the same. */
const change = Effect.fnUntraced(function*({ collections, foreign, links, other, rider, routes }: World) {
  const id = yield* pick(yield* Ref.get(routes))
  const collection = yield* pick(yield* Ref.get(collections))
  const theirs = yield* pick(foreign)
  const link = yield* linkOf(links)
  const zones = [{ center: [9.5, 47.1], radius: 100 * (yield* Random.nextIntBetween(1, 5)) }]
  const linked = (path: string) =>
    Effect.flatMap(rider.post(`${path}/links`, {}), ({ body }) => {
      const made = IdOf(body)
      return made._tag === "Some"
        ? Ref.update(links, (known) => [...known, `${path}/links/${made.value.id}`])
        : Effect.void
    })
  const kinds: ReadonlyArray<Effect.Effect<unknown>> = [
    Effect.flatMap(rider.post("/routes", newRoute({})), ({ body }) => added(routes, body)),
    rider.patch(`/routes/${id}`, { name: "Changed" }),
    rider.delete(`/routes/${id}`),
    rider.post(`/routes/${id}/restore`),
    Effect.flatMap(rider.post("/collections", { name: "More" }), ({ body }) => added(collections, body)),
    rider.patch(`/collections/${collection}`, { name: "Renamed" }),
    rider.delete(`/collections/${collection}`),
    rider.post(`/collections/${collection}/routes`, { routeId: id }),
    rider.post(`/collections/${collection}/routes`, { routeId: theirs }),
    rider.delete(`/collections/${collection}/routes/${id}`),
    other.patch(`/routes/${theirs}`, { visibility: "private" }),
    other.patch(`/routes/${theirs}`, { visibility: "public" }),
    other.delete(`/routes/${theirs}`),
    other.post(`/routes/${theirs}/restore`),
    linked(`/routes/${id}`),
    linked(`/collections/${collection}`),
    rider.patch(link, { label: `No. ${theirs}`, allowDownload: false }),
    rider.delete(link),
    rider.patch("/users/me", { preferences: { mapStyle: `style ${id}` } }),
    rider.call("PUT", "/users/me/privacy-zones", { body: { zones } })
  ]
  yield* kinds[yield* Random.nextIntBetween(0, kinds.length)] ?? Effect.void
})

/** Reads pages of random sizes. Some are killed, so that the page is lost; some are applied and their cursor is not. */
const read = Effect.fnUntraced(function*(rider: Rider, copy: Ref.Ref<Copy>) {
  const limit = yield* Random.nextIntBetween(1, 30)
  const before = yield* Ref.get(copy)
  const reading = yield* Effect.forkChild(readPage(rider, copy, `${EVERYTHING}&limit=${limit}`))
  const fate = yield* Random.nextIntBetween(0, 4)
  if (fate === 0) yield* Fiber.interrupt(reading)
  else yield* Fiber.join(reading)
  // Without a cursor it starts again, and so with nothing.
  const retried = ({ items }: Copy) => before.cursor === undefined ? emptyCopy : { items, cursor: before.cursor }
  if (fate === 1) yield* Ref.update(copy, retried)
})

layer(TestServer.layer())("the change feed", (it) => {
  it.effect.each(SEEDS)(
    "gives every reader the account, whatever writers and kills come in between (%s)",
    (seed) =>
      Effect.gen(function*() {
        const [rider, other] = [yield* signedIn, yield* signedIn]
        const foreign = yield* Effect.replicateEffect(makeRoute(other, { visibility: "public" }), 2)
        const own = yield* Effect.replicateEffect(makeRoute(rider), AT_FIRST)
        // The routes are in several collections, so that not all of them are changed after a route that they list.
        const lists = yield* Effect.replicateEffect(make(rider, { routeIds: [...own, ...foreign] }), AT_FIRST)
        const routes = yield* Ref.make<ReadonlyArray<number>>(own)
        const collections = yield* Ref.make<ReadonlyArray<number>>(lists.map(({ id }) => id))
        const links = yield* Ref.make<ReadonlyArray<string>>([])
        const world: World = { rider, other, routes, foreign, collections, links }
        const copies = yield* Effect.forEach(Array.from({ length: READERS }), () => Ref.make(emptyCopy))
        const writing = Array.from({ length: WRITERS }, () => Effect.repeat(change(world), { times: STEPS }))
        const reading = copies.map((copy) => Effect.repeat(read(rider, copy), { times: STEPS }))
        for (const _ of Array(ROUNDS).keys()) {
          yield* Effect.all([...writing, ...reading], { concurrency: "unbounded" })
          for (const copy of copies) {
            yield* catchUp(rider, copy, EVERYTHING)
            yield* assertEverythingCopied(rider, copy)
          }
        }
      }).pipe(Random.withSeed(seed))
  )
})
