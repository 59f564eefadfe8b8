export type Visibility = "private" | "public"

export type Kind = "routes" | "collections"

interface Item {
  readonly id: number
  readonly owner: number
  visibility: Visibility
  isDeleted: boolean
  /** The members of a collection are ids of routes; their order is not compared. */
  readonly members: Set<number>
  /** A call without a response may have added or removed these members, and a repeated call cannot tell. */
  readonly uncertain: Set<number>
}

/** The content that the service must have, by what was acknowledged. */
export type Model = Readonly<Record<Kind, Map<number, Item>>>

export const emptyModel = (): Model => ({ routes: new Map(), collections: new Map() })

export const ownedBy = ({ collections, routes }: Model, owner: number) => {
  const own = [...routes.values()].filter((one) => one.owner === owner)
  return {
    routes: own.filter(({ isDeleted }) => !isDeleted),
    trash: own.filter(({ isDeleted }) => isDeleted),
    collections: [...collections.values()].filter((one) => one.owner === owner && !one.isDeleted)
  }
}

/** Returns the members that the owner of a collection sees: their own routes and public ones of others. */
export const visibleMembers = ({ routes }: Model, { members, owner, uncertain }: Item) =>
  [...members].filter((id) => !uncertain.has(id)).filter((id) => {
    const route = routes.get(id)
    return route !== undefined && !route.isDeleted && (route.owner === owner || route.visibility === "public")
  })
