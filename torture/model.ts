import * as fc from "fast-check"

type Visibility = "private" | "public"

/** One call of a client. Picks are indexes into what there is when it is made, modulo its length. */
export type Operation =
  | { readonly kind: "createRoute"; readonly visibility: Visibility }
  | { readonly kind: "changeRoute"; readonly pick: number; readonly visibility: Visibility }
  | { readonly kind: "deleteRoute"; readonly pick: number }
  | { readonly kind: "restoreRoute"; readonly pick: number }
  | { readonly kind: "createCollection"; readonly visibility: Visibility }
  | { readonly kind: "deleteCollection"; readonly pick: number }
  | { readonly kind: "addOwn"; readonly collection: number; readonly pick: number }
  | { readonly kind: "addOther"; readonly collection: number; readonly pick: number }
  | { readonly kind: "takeOut"; readonly collection: number; readonly pick: number }

const visibility = fc.constantFrom<Visibility>("private", "public")

const pick = fc.nat(1000)

const collection = fc.nat(1000)

const kind = fc.constant

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind("createRoute" as const), visibility }) },
  { weight: 3, arbitrary: fc.record({ kind: kind("changeRoute" as const), pick, visibility }) },
  { weight: 3, arbitrary: fc.record({ kind: kind("deleteRoute" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("restoreRoute" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("createCollection" as const), visibility }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("deleteCollection" as const), pick }) },
  { weight: 4, arbitrary: fc.record({ kind: kind("addOwn" as const), collection, pick }) },
  { weight: 3, arbitrary: fc.record({ kind: kind("addOther" as const), collection, pick }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("takeOut" as const), collection, pick }) }
)

/** Draws a list of operations for each client, the same for the same seed. */
export const operationsOf = (seed: number, clients: number, length: number) =>
  fc.sample(fc.array(operation, { minLength: length, maxLength: length }), { seed, numRuns: clients })

interface ModelRoute {
  readonly id: number
  readonly owner: number
  visibility: Visibility
  isDeleted: boolean
}

export interface ModelCollection {
  readonly id: number
  readonly owner: number
  isDeleted: boolean
  /** Ids of routes; their order is not compared. */
  readonly members: Set<number>
  /** A call of these without a response may have been done, and a repeated one cannot tell. */
  readonly uncertain: Set<number>
}

/** The state that must be there, by what was acknowledged. */
export interface Model {
  readonly routes: Map<number, ModelRoute>
  readonly collections: Map<number, ModelCollection>
}

export const emptyModel = (): Model => ({ routes: new Map(), collections: new Map() })

export const routesOf = ({ routes }: Model, owner: number) => [...routes.values()].filter((one) => one.owner === owner)

export const collectionsOf = ({ collections }: Model, owner: number) =>
  [...collections.values()].filter((one) => one.owner === owner)

/** The members that the owner of a collection sees: their own routes and what is public of others. */
export const visibleMembers = ({ routes }: Model, { members, owner, uncertain }: ModelCollection) =>
  [...members].filter((id) => !uncertain.has(id)).filter((id) => {
    const route = routes.get(id)
    return route !== undefined && !route.isDeleted && (route.owner === owner || route.visibility === "public")
  })
