import { Effect, Schedule } from "effect"
import * as fc from "fast-check"
import type { Account } from "./accounts.ts"
import { type Ask, type Call, creation, idOf, type Reply, routeNamed } from "./ask.ts"
import { type Kind, type Model, ownedBy, type Visibility } from "./model.ts"
import type { Recorder } from "./recorder.ts"

/** A call, its effect on the model when it succeeds, and, if a 404 is possible, the effect of that. */
interface Step {
  readonly call: Call
  readonly done: (reply: Reply) => void
  readonly onMissing?: (isRepeated: boolean) => void
}

/** An operation draws these. Picks are indexes into what exists when it is made, modulo its length. */
const draw = fc.record({
  pick: fc.nat(1000),
  collection: fc.nat(1000),
  visibility: fc.constantFrom<Visibility>("private", "public")
})

type Draw = typeof draw extends fc.Arbitrary<infer A> ? A : never

interface Client extends ReturnType<typeof ownedBy> {
  readonly model: Model
  readonly owner: number
  readonly name: string
}

/** Returns undefined if a client has nothing to change in this way. */
type StepOf = (client: Client, draw: Draw) => Step | undefined

const picked = <A>(all: ReadonlyArray<A>, pick: number) => all[pick % Math.max(all.length, 1)]

const create = (kind: Kind): StepOf => ({ model, name, owner }, { visibility }) => ({
  call: creation(kind, name, { ...(kind === "routes" ? routeNamed(name) : { name }), visibility }),
  done: (reply) => {
    const id = idOf(reply)
    model[kind].set(id, { id, owner, visibility, isDeleted: false, members: new Set(), uncertain: new Set() })
  }
})

const remove = (kind: Kind): StepOf => (client, { pick }) => {
  const one = picked(client[kind], pick)
  return one && {
    call: { method: "DELETE", path: `/api/v1/${kind}/${one.id}` },
    done: () => void (one.isDeleted = true)
  }
}

const changeRoute: StepOf = ({ routes }, { pick, visibility }) => {
  const route = picked(routes, pick)
  return route && {
    call: { method: "PATCH", path: `/api/v1/routes/${route.id}`, body: JSON.stringify({ visibility }) },
    done: () => void (route.visibility = visibility)
  }
}

const restoreRoute: StepOf = ({ trash }, { pick }) => {
  const route = picked(trash, pick)
  return route && {
    call: { method: "POST", path: `/api/v1/routes/${route.id}/restore` },
    done: () => void (route.isDeleted = false)
  }
}

const add = (whose: "own" | "others"): StepOf => ({ collections, model, owner, routes }, { collection, pick }) => {
  const others = () => [...model.routes.values()].filter((one) => one.owner !== owner && one.visibility === "public")
  const into = picked(collections, collection)
  const routeId = picked(whose === "own" ? routes : others(), pick)?.id
  if (into === undefined || routeId === undefined) return undefined
  return {
    call: { method: "POST", path: `/api/v1/collections/${into.id}/routes`, body: JSON.stringify({ routeId }) },
    done: () => void into.members.add(routeId),
    onMissing: (isRepeated) => void (isRepeated && into.uncertain.add(routeId))
  }
}

const takeOut: StepOf = ({ collections }, { collection, pick }) => {
  const from = picked(collections, collection)
  const id = picked([...from?.members ?? []], pick)
  if (from === undefined || id === undefined) return undefined
  return {
    call: { method: "DELETE", path: `/api/v1/collections/${from.id}/routes/${id}` },
    done: () => void from.members.delete(id),
    onMissing: (isRepeated) => void (isRepeated && from.uncertain.add(id))
  }
}

const OPERATIONS: ReadonlyArray<readonly [weight: number, stepOf: StepOf]> = [
  [6, create("routes")],
  [3, changeRoute],
  [3, remove("routes")],
  [2, restoreRoute],
  [2, create("collections")],
  [1, remove("collections")],
  [4, add("own")],
  [3, add("others")],
  [2, takeOut]
]

const operation = fc.record({
  stepOf: fc.oneof(...OPERATIONS.map(([weight, stepOf]) => ({ weight, arbitrary: fc.constant(stepOf) }))),
  draw
})

/** Draws a list of operations for each client, the same for the same seed. */
export const operationsOf = (seed: number, clients: number, length: number) =>
  fc.sample(fc.array(operation, { minLength: length, maxLength: length }), { seed, numRuns: clients })

const PERSISTENCE = "100 seconds"

/** Calls until there is a response. A repeated call gets 404 if one without a response was done already. */
const persist = Effect.fnUntraced(
  function*(ask: Ask, recorder: Recorder, token: string, { call, done, onMissing }: Step) {
    const state = { attempts: 0 }
    const reply = yield* Effect.suspend(() => {
      state.attempts += 1
      return ask({ ...call, token })
    }).pipe(Effect.repeat({
      until: ({ status }) => (status >= 200 && status < 300) || status === 404,
      schedule: Schedule.spaced("100 millis")
    }))
    if (reply.status !== 404) return done(reply)
    if (onMissing !== undefined) return onMissing(state.attempts > 1)
    if (state.attempts > 1) return done(reply)
    return recorder.report(`${call.method} ${call.path}: 404`)
  },
  (persisting, _, recorder) =>
    Effect.timeoutOrElse(persisting, {
      duration: PERSISTENCE,
      orElse: () => Effect.sync(() => recorder.reportSlowness("an operation got no response within 100 s"))
    })
)

/** Runs the operations of a client one after the other. */
export const client = Effect.fnUntraced(function*(
  ask: Ask,
  recorder: Recorder,
  { id: owner, token }: Account,
  model: Model,
  operations: ReturnType<typeof operationsOf>[number],
  prefix: string
) {
  for (const [n, { draw, stepOf }] of operations.entries()) {
    const step = stepOf({ ...ownedBy(model, owner), model, owner, name: `${prefix}-${owner}-${n}` }, draw)
    if (step !== undefined) yield* persist(ask, recorder, token, step)
  }
})
