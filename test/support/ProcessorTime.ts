import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ROUTE_BODY_LIMIT } from "../../src/http/api/Requests.ts"

/** Steps of the clock of processor time. */
const LEAST_MILLIS = 5

/** Of a longer text one try tells as much as three. */
const LONG_TEXT = 1024 * 1024

const millisOf = ({ system, user }: NodeJS.CpuUsage) => (system + user) / 1000

const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/**
 * The processor time of this thread that work takes, in milliseconds, and its result: beside a busy neighbour it is the
 * same. The clock has steps of up to 4 ms.
 */
export const processorTimeOf = <A>(work: () => A): readonly [milliseconds: number, result: A] => {
  const before = process.threadCpuUsage()
  const result = work()
  return [millisOf(process.threadCpuUsage(before)), result]
}

/** The processor time that `JSON.parse` takes for a text, in milliseconds. */
const parseCostOf = (text: string): number => {
  const tries = text.length > LONG_TEXT ? 1 : 3
  const costs = Array.from({ length: tries }, () => processorTimeOf(() => JSON.parse(text))[0])
  return Math.max(LEAST_MILLIS, median(costs))
}

const POSITION = "[13.123456789,47.123456789]"

/** JSON of so many bytes, for what is no JSON itself. */
export const positionsOf = (bytes: number): string =>
  `[${`${POSITION},`.repeat(Math.max(1, Math.floor(bytes / (POSITION.length + 1))) - 1)}${POSITION}]`

/** How much processor time work may take, in milliseconds. */
export interface Bound {
  /** What the bound is not below, whatever is measured for it. */
  readonly floor: number
  /** Measured when it is first asked for: for some texts that takes longer than the work. */
  readonly exact: () => number
}

const boundOf = (floor: number, most: number, measure: () => number): Bound => {
  const measured: { value?: number } = {}
  return {
    floor: Math.min(most, floor),
    exact: () => measured.value ??= Math.min(most, Math.max(floor, measure()))
  }
}

/** A bound that needs no measuring. */
export const fixedBound = (milliseconds: number): Bound => ({ floor: milliseconds, exact: () => milliseconds })

const isWithin = (taken: number, bound: Bound): boolean => taken < bound.floor || taken < bound.exact()

export const assertWithin = (taken: number, bound: Bound): void => {
  if (!isWithin(taken, bound)) assert.isBelow(taken, bound.exact())
}

/** So often what `JSON.parse` takes for a text, and so much at most. */
export const parsingBound = (json: string, times: number, mostMillis: number): Bound =>
  boundOf(times * LEAST_MILLIS, mostMillis, () => times * parseCostOf(json))

/**
 * What a request may cost, of what `JSON.parse` costs; in milliseconds where that is next to nothing, and at most:
 * what `npm run bench:hostile` judges by.
 */
const BOUND = { times: 10, leastMillis: 100, mostMillis: 1500 }

/**
 * The processor time that a request may take, by what `JSON.parse` takes for the same in the same run, or as large a share of the
 * most as its bytes are of the largest body.
 */
export const workBoundBy = (json: string): Bound =>
  boundOf(
    Math.max(BOUND.leastMillis, BOUND.mostMillis * json.length / ROUTE_BODY_LIMIT),
    BOUND.mostMillis,
    () => BOUND.times * parseCostOf(json)
  )

/** The result of an effect, and the processor time in milliseconds that it took. */
interface Cost<A> {
  readonly value: A
  /** Of the thread that serves, where the client of a test is too. */
  readonly here: number
  /** Of all threads of the process. */
  readonly inAll: number
}

export const costOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Cost<A>, E, R> =>
  Effect.gen(function*() {
    const [thread, all] = [process.threadCpuUsage(), process.cpuUsage()]
    const value = yield* effect
    return { value, here: millisOf(process.threadCpuUsage(thread)), inAll: millisOf(process.cpuUsage(all)) }
  })

const MOST_TRIES = 5

/** The least processor time of up to five tries, of which the first below the bound is the last, and the result. */
export const leastTimeOf = <A>(
  work: () => A,
  bound: Bound,
  tries = MOST_TRIES
): readonly [milliseconds: number, result: A] => {
  const [taken, result] = processorTimeOf(work)
  if (isWithin(taken, bound) || tries === 1) return [taken, result]
  return [Math.min(taken, leastTimeOf(work, bound, tries - 1)[0]), result]
}

/**
 * What an effect costs in the cheapest of up to five tries, of which the first within the bound is the last: cold code and
 * busy neighbours add to a cost, and nothing takes from it.
 */
export const leastCostOf = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  bound: Bound,
  tries = MOST_TRIES
): Effect.Effect<Cost<A>, E, R> =>
  Effect.flatMap(costOf(effect), (cost) =>
    isWithin(cost.inAll, bound) || tries === 1
      ? Effect.succeed(cost)
      : Effect.map(leastCostOf(effect, bound, tries - 1), (next) => next.inAll < cost.inAll ? next : cost))

/**
 * Returns the result of an effect, and the most processor time in milliseconds that this thread took between two turns of its event
 * loop meanwhile. Another busy process makes each turn last longer, but does not change this time.
 */
const longestTurnOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const turns = { longest: 0, isOver: false }
      const turn = (before: NodeJS.CpuUsage) => {
        turns.longest = Math.max(turns.longest, millisOf(process.threadCpuUsage(before)))
        if (!turns.isOver) setImmediate(turn, process.threadCpuUsage())
      }
      setImmediate(turn, process.threadCpuUsage())
      return turns
    }),
    (turns) => Effect.map(effect, (value) => ({ value, longest: turns.longest })),
    (turns) =>
      Effect.sync(() => {
        turns.isOver = true
      })
  )

/**
 * The same with the least of that in up to five tries, of which the first below so many milliseconds is the last: a turn in which
 * the garbage of other tests is collected is longer by that.
 */
export const leastTurnOf = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  milliseconds: number,
  tries = MOST_TRIES
): Effect.Effect<{ readonly value: A; readonly longest: number }, E, R> =>
  Effect.flatMap(longestTurnOf(effect), (turns) =>
    turns.longest < milliseconds || tries === 1
      ? Effect.succeed(turns)
      : Effect.map(
        leastTurnOf(effect, milliseconds, tries - 1),
        (next) => next.longest < turns.longest ? next : turns
      ))
