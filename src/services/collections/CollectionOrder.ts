import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CollectionId, RouteId } from "../../schema/Ids.ts"

const placeIn = (values: ReadonlyArray<number>, value: number, from = 0, to = values.length): number => {
  if (from === to) return from
  const middle = (from + to) >> 1
  return (values[middle] ?? Infinity) < value
    ? placeIn(values, value, middle + 1, to)
    : placeIn(values, value, from, middle)
}

interface Link<A> {
  readonly item: A
  readonly before: Link<A> | undefined
}

const itemsOf = <A>(link: Link<A> | undefined): ReadonlyArray<A> => {
  const items: Array<A> = []
  for (let at = link; at !== undefined; at = at.before) items.push(at.item)
  return items.toReversed()
}

/** Finds the longest increasing subsequence: it keeps the least last value for each length. */
const longestRising = <A>(items: ReadonlyArray<A>, valueOf: (item: A) => number): ReadonlyArray<A> => {
  const ends: Array<number> = []
  const links: Array<Link<A>> = []
  for (const item of items) {
    const place = placeIn(ends, valueOf(item))
    ends[place] = valueOf(item)
    links[place] = { item, before: links[place - 1] }
  }
  return itemsOf(links.at(-1))
}

/** 1,000 routes use half of the range of an integer. */
const GAP = 2 ** 20

const MAX_POSITION = 2 ** 31 - 1

export interface Member {
  readonly routeId: RouteId
  readonly position: number
}

/** Spreads positions evenly between two others; undefined if there is no room. */
const between = (routeIds: ReadonlyArray<RouteId>, before: number | undefined, after: number | undefined) => {
  const parts = routeIds.length + 1
  const lower = before ?? (after ?? 0) - parts * GAP
  const upper = after ?? lower + parts * GAP
  const hasRoom = upper - lower >= parts && lower >= -MAX_POSITION && upper <= MAX_POSITION
  return hasRoom
    ? routeIds.map((routeId, index) => ({
      routeId,
      position: lower + Math.floor(((upper - lower) * (index + 1)) / parts)
    }))
    : undefined
}

/**
 * Gives routes positions in a wanted order. As few as possible change theirs, since pages begin after a position: a
 * page skips or repeats no route while others are added, moved and taken out.
 */
export const positionsOf = (
  current: ReadonlyArray<Member>,
  wanted: ReadonlyArray<RouteId>
): ReadonlyArray<Member> => {
  const positions = new Map(current.map(({ position, routeId }) => [routeId, position]))
  const known = wanted.flatMap((routeId, index) => {
    const position = positions.get(routeId)
    return position === undefined ? [] : [{ routeId, position, index }]
  })
  const kept = longestRising(known, ({ position }) => position)
  const first = between(wanted.slice(0, kept[0]?.index), undefined, kept[0]?.position)
  const runs = kept.map(({ index, position, routeId }, place) => {
    const next = kept[place + 1]
    return between(wanted.slice(index + 1, next?.index), position, next?.position)?.toSpliced(0, 0, {
      routeId,
      position
    })
  })
  const all = [first, ...runs]
  return all.every((run) => run !== undefined)
    ? all.flat()
    : wanted.map((routeId, index) => ({ routeId, position: (index + 1) * GAP }))
}

/** Writes the order of a collection that the caller has locked. */
export const collectionOrder = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fnUntraced(function*(
    id: CollectionId,
    current: ReadonlyArray<Member>,
    wanted: ReadonlyArray<RouteId>
  ) {
    const members = positionsOf(current, wanted)
    yield* sql`DELETE FROM collection_routes WHERE collection_id = ${id} AND route_id <> ALL(${[...wanted]}::bigint[])`
    yield* sql`
      INSERT INTO collection_routes (collection_id, route_id, position)
      SELECT ${id}, member, place
      FROM unnest(${[...wanted]}::bigint[], ${members.map(({ position }) => position)}::int[]) AS ids (member, place)
      ON CONFLICT (collection_id, route_id) DO UPDATE SET position = excluded.position
      WHERE collection_routes.position <> excluded.position`
  }))
