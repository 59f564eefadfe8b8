/** Pixels of a picture, with the y axis down. */
export interface Points {
  readonly xs: Float64Array
  readonly ys: Float64Array
}

/** The least distance between two drawn points, in pixels. */
const LEAST_STEP = 1.2

/** A zigzag across the whole picture has no points that are too near to be drawn. */
const MAX_POINTS = 3000

/** With the first and the last point, and at most `MAX_POINTS`. */
export const thinned = ({ xs, ys }: Points): Points => {
  const last = xs.length - 1
  const kept: Array<number> = last < 0 ? [] : [0]
  for (let index = 1; index < last; index++) {
    const previous = kept.at(-1) ?? 0
    const byX = (xs[index] ?? 0) - (xs[previous] ?? 0)
    const byY = (ys[index] ?? 0) - (ys[previous] ?? 0)
    if (byX * byX + byY * byY >= LEAST_STEP * LEAST_STEP) kept.push(index)
  }
  if (last > 0) kept.push(last)
  // An odd step, so that both sides of a zigzag are kept.
  const every = Math.ceil(kept.length / MAX_POINTS) | 1
  const places = every === 1 ? kept : [...kept.filter((_, index) => index % every === 0), last]
  return {
    xs: Float64Array.from(places, (index) => xs[index] ?? 0),
    ys: Float64Array.from(places, (index) => ys[index] ?? 0)
  }
}

const tenths = (value: number) => Math.round(value * 10)

/** To a tenth of a pixel, each point relative to the rounded one before it, so that errors do not add up. */
export const pathOf = ({ xs, ys }: Points): string => {
  let path = ""
  let x = 0
  let y = 0
  for (let index = 0; index < xs.length; index++) {
    const nextX = tenths(xs[index] ?? 0)
    const nextY = tenths(ys[index] ?? 0)
    const isFirst = index === 0
    if (!isFirst && nextX === x && nextY === y && index < xs.length - 1) continue
    path += `${isFirst ? "M" : "l"}${(nextX - x) / 10} ${(nextY - y) / 10}`
    x = nextX
    y = nextY
  }
  return path
}
