import { Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import type { Account } from "./accounts.ts"
import type { Ask, Asking, Reply } from "./ask.ts"
import { collectionsOf, type Model, type Operation, routesOf } from "./model.ts"
import type { Recorder } from "./recorder.ts"

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.Int }))

const idOf = ({ text }: Reply) => Schema.decodeSync(Stored)(text).id

const PERSISTENCE = 100_000

/** A call, what it does to the model when it has succeeded, and what a 404 does to it, where there may be one. */
interface Step {
  readonly call: Omit<Ask, "token">
  readonly done: (reply: Reply) => void
  readonly onMissing?: (isRepeated: boolean) => void
}

const picked = <A>(all: ReadonlyArray<A>, pick: number) => all[pick % Math.max(all.length, 1)]

const keyed = (path: string, name: string, members: object): Omit<Ask, "token"> => ({
  method: "POST",
  path,
  headers: { "idempotency-key": name },
  body: JSON.stringify({ name, ...members })
})

const routeSteps = (model: Model, owner: number, name: string) => {
  const all = routesOf(model, owner)
  const live = all.filter(({ isDeleted }) => !isDeleted)
  return {
    create: (visibility: "private" | "public"): Step => ({
      call: keyed("/api/v1/routes", name, { visibility, waypoints: [{ coord: [9.5, 47.1] }] }),
      done: (reply) => {
        const id = idOf(reply)
        model.routes.set(id, { id, owner, visibility, isDeleted: false })
      }
    }),
    change: (pick: number, visibility: "private" | "public"): Step | undefined => {
      const route = picked(live, pick)
      return route && {
        call: { method: "PATCH", path: `/api/v1/routes/${route.id}`, body: JSON.stringify({ visibility }) },
        done: () => void (route.visibility = visibility)
      }
    },
    remove: (pick: number): Step | undefined => {
      const route = picked(live, pick)
      return route && {
        call: { method: "DELETE", path: `/api/v1/routes/${route.id}` },
        done: () => void (route.isDeleted = true)
      }
    },
    restore: (pick: number): Step | undefined => {
      const route = picked(all.filter(({ isDeleted }) => isDeleted), pick)
      return route && {
        call: { method: "POST", path: `/api/v1/routes/${route.id}/restore` },
        done: () => void (route.isDeleted = false)
      }
    }
  }
}

const collectionSteps = (model: Model, owner: number, name: string) => {
  const live = collectionsOf(model, owner).filter(({ isDeleted }) => !isDeleted)
  const own = routesOf(model, owner).filter(({ isDeleted }) => !isDeleted)
  const others = [...model.routes.values()].filter((one) => one.owner !== owner && one.visibility === "public")
  const add = (collection: number, routeId: number | undefined): Step | undefined => {
    const into = picked(live, collection)
    return into && routeId !== undefined
      ? {
        call: { method: "POST", path: `/api/v1/collections/${into.id}/routes`, body: JSON.stringify({ routeId }) },
        done: () => void into.members.add(routeId),
        onMissing: (isRepeated) => void (isRepeated && into.uncertain.add(routeId))
      }
      : undefined
  }
  return {
    create: (visibility: "private" | "public"): Step => ({
      call: keyed("/api/v1/collections", name, { visibility }),
      done: (reply) => {
        const id = idOf(reply)
        model.collections.set(id, { id, owner, isDeleted: false, members: new Set(), uncertain: new Set() })
      }
    }),
    remove: (pick: number): Step | undefined => {
      const one = picked(live, pick)
      return one && {
        call: { method: "DELETE", path: `/api/v1/collections/${one.id}` },
        done: () => void (one.isDeleted = true)
      }
    },
    addOwn: (collection: number, pick: number) => add(collection, picked(own, pick)?.id),
    addOther: (collection: number, pick: number) => add(collection, picked(others, pick)?.id),
    takeOut: (collection: number, pick: number): Step | undefined => {
      const from = picked(live, collection)
      const id = from && picked([...from.members], pick)
      return from && id !== undefined
        ? {
          call: { method: "DELETE", path: `/api/v1/collections/${from.id}/routes/${id}` },
          done: () => void from.members.delete(id),
          onMissing: (isRepeated) => void (isRepeated && from.uncertain.add(id))
        }
        : undefined
    }
  }
}

const stepOf = (model: Model, owner: number, name: string, operation: Operation): Step | undefined => {
  const routes = routeSteps(model, owner, name)
  const collections = collectionSteps(model, owner, name)
  switch (operation.kind) {
    case "createRoute":
      return routes.create(operation.visibility)
    case "changeRoute":
      return routes.change(operation.pick, operation.visibility)
    case "deleteRoute":
      return routes.remove(operation.pick)
    case "restoreRoute":
      return routes.restore(operation.pick)
    case "createCollection":
      return collections.create(operation.visibility)
    case "deleteCollection":
      return collections.remove(operation.pick)
    case "addOwn":
      return collections.addOwn(operation.collection, operation.pick)
    case "addOther":
      return collections.addOther(operation.collection, operation.pick)
    case "takeOut":
      return collections.takeOut(operation.collection, operation.pick)
  }
}

/** Calls until there is a response. A repeated call gets 404 where one without a response was done already. */
const persist = async ({ ask }: Asking, recorder: Recorder, { token }: Account, { call, done, onMissing }: Step) => {
  const began = performance.now()
  for (let attempt = 0; performance.now() - began < PERSISTENCE; attempt++) {
    const reply = await ask({ ...call, token })
    if (reply.status >= 200 && reply.status < 300) return done(reply)
    if (reply.status === 404 && onMissing !== undefined) return onMissing(attempt > 0)
    if (reply.status === 404 && attempt > 0) return done(reply)
    if (reply.status === 404) return recorder.report(`${call.method} ${call.path}: 404`)
    await pause(100)
  }
  return recorder.reportSlowness("an operation got no response within 100 s")
}

/** A client that does its operations one after the other. */
export const modelClient = async (
  asking: Asking,
  recorder: Recorder,
  account: Account,
  model: Model,
  operations: ReadonlyArray<Operation>,
  prefix: string
) => {
  for (const [n, operation] of operations.entries()) {
    const step = stepOf(model, account.id, `${prefix}-${account.id}-${n}`, operation)
    if (step !== undefined) await persist(asking, recorder, account, step)
  }
}
