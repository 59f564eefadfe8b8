export type Visibility = "private" | "public"

interface ModelRoute {
  readonly id: number
  readonly owner: number
  visibility: Visibility
  isDeleted: boolean
}

interface ModelCollection {
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

/** What an owner has, in the trash or not. */
export const ownedBy = ({ collections, routes }: Model, owner: number) => {
  const own = [...routes.values()].filter((one) => one.owner === owner)
  return {
    live: own.filter(({ isDeleted }) => !isDeleted),
    trash: own.filter(({ isDeleted }) => isDeleted),
    collections: [...collections.values()].filter((one) => one.owner === owner && !one.isDeleted)
  }
}

/** The members that the owner of a collection sees: their own routes and what is public of others. */
export const visibleMembers = ({ routes }: Model, { members, owner, uncertain }: ModelCollection) =>
  [...members].filter((id) => !uncertain.has(id)).filter((id) => {
    const route = routes.get(id)
    return route !== undefined && !route.isDeleted && (route.owner === owner || route.visibility === "public")
  })
