/** The index at which an ascending list stays sorted with the value. */
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

/** The longest increasing subsequence: keeps the least last value for each length. */
export const longestRising = <A>(items: ReadonlyArray<A>, valueOf: (item: A) => number): ReadonlyArray<A> => {
  const ends: Array<number> = []
  const links: Array<Link<A>> = []
  for (const item of items) {
    const place = placeIn(ends, valueOf(item))
    ends[place] = valueOf(item)
    links[place] = { item, before: links[place - 1] }
  }
  return itemsOf(links.at(-1))
}
