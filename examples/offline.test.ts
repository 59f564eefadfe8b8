import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect, Random } from "effect"
import { signedIn } from "../test/support/Actors.ts"
import { TestServer } from "../test/support/TestServer.ts"
import { mint } from "../test/support/Tokens.ts"
import { offlineRoutes, type Service } from "./offline.ts"

const OPERATIONS = 1000

const SYNCED_EVERY = 8

const ride = (name: string) => ({ name, waypoints: [{ coord: [9.5209, 47.1415] }] })

const lost = () => Promise.reject(new Error("no network"))

/** The network of the two devices of one account fails as `fate` says: before a call, or after it was done. */
const world = Effect.gen(function*() {
  const { origin } = yield* TestServer
  const { token } = yield* mint(yield* signedIn, "write")
  const call = (path: string, init: RequestInit & { readonly headers?: Readonly<Record<string, string>> } = {}) =>
    fetch(`${origin}/api/v1${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })
  const fate: { next: "answered" | "never sent" | "lost" } = { next: "answered" }
  const tried = async (...request: Parameters<typeof call>) => {
    const { next } = fate
    fate.next = "answered"
    if (next === "never sent") return lost()
    const response = await call(...request)
    return next === "lost" ? lost() : response
  }
  const service: Service = {
    push: async (operations, key) => {
      const headers = { "content-type": "application/json", "idempotency-key": key, "x-service-confirm": "true" }
      const body = JSON.stringify({ operations })
      return JSON.parse(await (await tried("/routes/batch", { method: "POST", headers, body })).text()).results
    },
    pull: async (cursor) => {
      const query = `include=routes&geometry=none${cursor === "" ? "" : `&cursor=${cursor}`}`
      const response = await tried(`/sync?${query}`)
      return response.status === 410 ? undefined : JSON.parse(await response.text())
    }
  }
  const routes = Effect.promise(async (): Promise<ReadonlyArray<{ readonly id: number; readonly name: string }>> =>
    JSON.parse(await (await call("/routes?limit=200&geometry=none")).text())
  )
  return { devices: [offlineRoutes(service), offlineRoutes(service)] as const, fate, routes }
})

type Device = ReturnType<typeof offlineRoutes>

const namesOn = (device: Device) => [...device.routes().values()].map(({ name }) => String(name)).toSorted()

const synced = (device: Device) => Effect.promise(() => device.sync())

const keyOf = (device: Device, name: string) =>
  [...device.routes()].find(([, route]) => route["name"] === name)?.[0] ?? ""

layer(TestServer.layer())("an offline copy", (it) => {
  it.effect("brings edits of both sides together: members are merged, and a deletion gives way to a change", () =>
    Effect.gen(function*() {
      const { devices: [one, other], routes } = yield* world
      for (const name of ["Merged", "Kept", "Gone"]) one.create(ride(name))
      yield* synced(one)
      yield* synced(other)
      one.change(keyOf(one, "Merged"), { tags: ["gravel"] })
      other.change(keyOf(other, "Merged"), { description: "By night", name: "Both" })
      one.change(keyOf(one, "Kept"), { name: "Kept after all" })
      other.remove(keyOf(other, "Kept"))
      one.remove(keyOf(one, "Gone"))
      other.change(keyOf(other, "Gone"), { name: "Too late" })
      for (const device of [one, other, one]) yield* synced(device)
      assert.deepStrictEqual((yield* routes).map(({ name }) => name).toSorted(), ["Both", "Kept after all"])
      const merged = [...other.routes().values()].find(({ name }) => name === "Both")
      assert.deepInclude(merged, { tags: ["gravel"], description: "By night" })
      assert.deepStrictEqual(namesOn(one), namesOn(other))
    }))

  it.effect("makes a route once though its response was lost, and goes on with what was edited meanwhile", () =>
    Effect.gen(function*() {
      const { devices: [one, other], fate, routes } = yield* world
      one.create(ride("Offline"))
      fate.next = "lost"
      yield* Effect.flip(Effect.tryPromise(() => one.sync()))
      one.change(keyOf(one, "Offline"), { name: "Renamed meanwhile" })
      yield* synced(one)
      yield* synced(other)
      assert.deepStrictEqual((yield* routes).map(({ name }) => name), ["Renamed meanwhile"])
      assert.deepStrictEqual(namesOn(other), ["Renamed meanwhile"])
    }))

  it.effect("is the account after 1,000 random edits of two devices, with calls and responses that are lost", () =>
    Effect.gen(function*() {
      const { devices, fate, routes } = yield* world
      // Each route that a device has made and no device has deleted must be there at the end, once.
      const living = new Set<string>()
      const touched = new Set<string>()
      for (let n = 0; n < OPERATIONS; n++) {
        const device = devices[yield* Random.nextIntBetween(0, 2)] ?? devices[0]
        const names = namesOn(device)
        const name = names[yield* Random.nextIntBetween(0, Math.max(1, names.length))] ?? ""
        const kind = yield* Random.nextIntBetween(0, 10)
        if (kind < 3 || name === "") {
          device.create(ride(`route ${n}`))
          living.add(`route ${n}`)
        } else if (kind < 8) {
          device.change(keyOf(device, name), { description: `edit ${n}` })
        } else {
          device.remove(keyOf(device, name))
          living.delete(name)
          touched.add(name)
        }
        if (n % SYNCED_EVERY > 0) continue
        fate.next = (["answered", "never sent", "lost"] as const)[yield* Random.nextIntBetween(0, 3)] ?? "answered"
        yield* Effect.ignore(Effect.tryPromise(() => device.sync()))
      }
      fate.next = "answered"
      for (const device of [...devices, ...devices]) yield* synced(device)
      const there = (yield* routes).map(({ name }) => name)
      for (const device of devices) assert.deepStrictEqual(namesOn(device), there.toSorted())
      assert.strictEqual(new Set(there).size, there.length)
      // A deletion that has met a change is given up, so such a route may be there or not.
      assert.deepStrictEqual([...living].filter((name) => !there.includes(name)), [])
      assert.deepStrictEqual(there.filter((name) => !living.has(name) && !touched.has(name)), [])
    }).pipe(Random.withSeed("offline")))
})

const changed = (id: number, name: string) => ({
  type: "route",
  id,
  change: "upserted",
  etag: name,
  route: { id, name }
})

/** The responses are those of a service that is not there. */
const scripted = (push: Service["push"], ...pages: ReadonlyArray<() => ReturnType<Service["pull"]>>) => {
  const rest = [...pages]
  return offlineRoutes({ push, pull: () => rest.shift()?.() ?? Promise.resolve(JSON.parse(JSON.stringify(EMPTY))) })
}

const EMPTY = { changes: [], cursor: "end", hasMore: false }

const page = (changes: ReadonlyArray<object>, cursor = "end", hasMore = false) => () =>
  Promise.resolve(JSON.parse(JSON.stringify({ changes, cursor, hasMore })))

describe("an offline copy of a service that refuses", () => {
  test("sends more edits than a request may have in several, and what is too large in one of its own", async () => {
    const requests: Array<number> = []
    const device = scripted((operations) => {
      const tooLarge = Buffer.byteLength(JSON.stringify({ operations })) > 8 * 1024 * 1024
      if (tooLarge) return Promise.reject(new Error("413"))
      requests.push(operations.length)
      return Promise.resolve(operations.map((_, index) => {
        const route = JSON.parse(`{"id":${requests.length * 100 + index},"name":"Stored"}`)
        return { op: "", status: 201, etag: "1", route }
      }))
    })
    for (const bytes of [5e6, 1e6, 1e6, 1e6, 1e6, 1e6]) device.create({ name: "€".repeat(bytes / 3) })
    await device.sync()
    assert.deepStrictEqual(requests, [1, 4, 1])
    assert.strictEqual(device.routes().size, 6)
  })

  test("keeps what is refused, says why, and sends it again with what was changed since", async () => {
    const error = { statusCode: 409, code: "CONFLICT", message: "The account is full" }
    const received: Array<object> = []
    let isFull = true
    const device = scripted(async (operations) => {
      received.push(...operations)
      return operations.map(() =>
        isFull
          ? { op: "", status: 409, error }
          : { op: "", status: 201, etag: "1", route: JSON.parse("{\"id\":7,\"name\":\"B\"}") }
      )
    }, page([changed(12, "Twelve")]))
    await device.sync()
    device.create({ name: "A" })
    device.change("12", { name: "Renamed" })
    await device.sync()
    assert.deepStrictEqual(namesOn(device), ["A", "Renamed"])
    assert.deepStrictEqual([...device.refused()].map(([, { message }]) => message), [error.message, error.message])
    assert.strictEqual(received.length, 2)
    device.change(keyOf(device, "A"), { name: "B" })
    device.remove("12")
    isFull = false
    received.length = 0
    await device.sync()
    assert.deepStrictEqual(received.map((operation) => "op" in operation ? operation.op : ""), ["create", "delete"])
    assert.strictEqual(device.refused().size, 0)
  })

  test("shows what is stored again after a refused edit is discarded, and sends nothing of it", async () => {
    const error = { statusCode: 400, code: "VALIDATION_FAILED", message: "No name" }
    const received: Array<object> = []
    const device = scripted(async (operations) => {
      received.push(...operations)
      return operations.map(() => ({ op: "", status: 400, error }))
    }, page([changed(12, "Twelve")]))
    await device.sync()
    device.change("12", { name: "" })
    device.create({ name: "New" })
    await device.sync()
    for (const key of device.refused().keys()) device.discard(key)
    assert.deepStrictEqual(namesOn(device), ["Twelve"])
    assert.strictEqual(device.refused().size, 0)
    received.length = 0
    await device.sync()
    assert.deepStrictEqual(received, [])
  })

  test("sends nothing of a route that was made and removed while another one was on its way", async () => {
    const received: Array<object> = []
    let isAway = true
    const device = scripted((operations) => {
      received.push(...operations)
      const route = JSON.parse("{\"id\":7,\"name\":\"A\"}")
      return isAway ? lost() : Promise.resolve(operations.map(() => ({ op: "", status: 201, etag: "1", route })))
    })
    device.create({ name: "A" })
    await device.sync().catch(() => {})
    device.create({ name: "B" })
    device.remove(keyOf(device, "B"))
    isAway = false
    await device.sync()
    assert.strictEqual(received.length, 2)
    assert.deepStrictEqual(received[1], received[0])
    assert.deepStrictEqual(namesOn(device), ["A"])
  })

  test("sends each route once though it is asked to sync again before it has ended", async () => {
    let made = 0
    const response = Promise.withResolvers<void>()
    const device = scripted(async (operations) => {
      await response.promise
      return operations.map((operation) => {
        const route = { ...Object(operation).route, id: ++made }
        return { op: "create", status: 201, etag: String(made), route }
      })
    })
    device.create({ name: "A" })
    const both = [device.sync(), device.sync()]
    device.create({ name: "B" })
    response.resolve()
    await Promise.all(both)
    assert.deepStrictEqual([...device.routes().values()].map(({ id, name }) => [id, name]), [[1, "A"], [2, "B"]])
  })

  test("drops an edit of a route whose deletion it learns meanwhile, and keeps what was made here", async () => {
    const gone = page([{ type: "route", id: 12, change: "deleted" }])
    for (const pages of [[gone], [() => Promise.resolve(undefined), page([])]]) {
      const received: Array<object> = []
      const [next = gone, ...rest] = pages
      const device = scripted(
        (operations) => {
          received.push(...operations)
          return Promise.resolve([])
        },
        page([changed(12, "Twelve")]),
        () => {
          device.change("12", { name: "Renamed" })
          device.create({ name: "New" })
          return next()
        },
        ...rest
      )
      for (const _ of ["whole", "deletion"]) await device.sync()
      assert.deepStrictEqual(namesOn(device), ["New"])
      await device.sync()
      assert.strictEqual(received.length, 1)
    }
  })

  test("keeps its copy until the new one is whole where its cursor has expired", async () => {
    const device = scripted(
      () => Promise.resolve([]),
      page([changed(1, "One"), changed(2, "Two")]),
      () => Promise.resolve(undefined),
      page([changed(2, "Two")], "middle", true),
      lost,
      () => Promise.resolve(undefined),
      page([changed(2, "Two")], "middle", true),
      page([changed(3, "Three")])
    )
    await device.sync()
    await device.sync().catch(() => {})
    assert.deepStrictEqual(namesOn(device), ["One", "Two"])
    await device.sync()
    assert.deepStrictEqual(namesOn(device), ["Three", "Two"])
  })
})
