import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { UserId } from "../../src/schema/Ids.ts"
import { secretCircles } from "../../src/services/accounts/Zones.ts"
import { SECRETS } from "../support/TestServer.ts"
import { estimatesOf, measuresOf, type Seen, seenOf, street } from "../support/ZoneAttack.ts"
import { beside, metresFrom, type Place } from "../support/Zones.ts"

const circleOf = Effect.runSync(
  Effect.provide(secretCircles, ConfigProvider.layer(ConfigProvider.fromUnknown(SECRETS)))
)

/** Makes numbers from 0 to 1, the same in each run (mulberry32). */
const seeded = (seed: number) => {
  const state = { now: seed }
  return () => {
    state.now = (state.now + 0x6D2B79F5) | 0
    const mixed = Math.imul(state.now ^ (state.now >>> 15), state.now | 1)
    const more = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61))
    return ((more ^ (more >>> 14)) >>> 0) / 2 ** 32
  }
}

const RADII = [100, 300, 500, 2000]

const homes = Array.from({ length: 80 }, (_, index) => {
  const random = seeded(index + 1)
  const center: Place = [360 * random() - 180, 140 * random() - 70]
  return { owner: UserId.make(index + 1), center, radius: RADII[index % RADII.length] ?? 0 }
})

type Home = typeof homes[number]

type Line = ReturnType<typeof street>

/** A line has so many positions in one radius of a zone. */
const POSITIONS = 8

const leaving = ({ center, radius }: Home, headingAt: (radii: number) => number) =>
  street(center, 6 * radius, radius / POSITIONS, (metres) => headingAt(metres / radius))

const COUNTS = [1, 3, 12]

const MOST = 12

/** The lines leave a home by its one straight street, or by winding ones in all directions. */
const LINES: Readonly<Record<string, (home: Home) => ReadonlyArray<Line>>> = {
  straight: (home) => {
    const heading = 2 * Math.PI * seeded(home.owner + 1000)()
    return [leaving(home, () => heading)]
  },
  winding: (home) => {
    const random = seeded(home.owner + 1000)
    const first = 2 * Math.PI * random()
    return Array.from({ length: MOST }, (_, index) => {
      const [length, phase] = [0.5 + 2 * random(), 2 * Math.PI * random()]
      const winding = (radii: number) => 0.6 * Math.sin(phase + 2 * Math.PI * radii / length)
      return leaving(home, (radii) => first + 2 * Math.PI * index / MOST + winding(radii))
    })
  }
}

const circleFor = (home: Home) => circleOf(home.owner, home, [])

type Misses = Readonly<Record<string, ReadonlyArray<number>>>

/** Returns by how many radii each estimate misses the homes, of 1, 3 and 12 routes from each. */
const missesOf = (attacked: ReadonlyArray<readonly [Home, ReadonlyArray<Seen>]>): Misses => {
  const misses: Record<string, Array<number>> = {}
  for (const [{ center, radius }, seen] of attacked) {
    for (const count of COUNTS) {
      const routes = Array.from({ length: count }, (_, index) => seen.slice(index * MOST / count % seen.length)[0])
        .filter((route) => route !== undefined)
      for (const [name, places] of Object.entries(estimatesOf(routes))) {
        const missed = misses[`${count}: ${name}`] ??= []
        missed.push(Math.min(...places.map((place) => metresFrom(center, place))) / radius)
      }
    }
  }
  return misses
}

const medianOf = (numbers: ReadonlyArray<number> = []) =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN

const assertMissed = (misses: Misses) => {
  assert.isAbove(Object.keys(misses).length, 10)
  for (const [name, missed] of Object.entries(misses)) {
    assert.isAtLeast(Math.min(...missed), 1 / 3, name)
    assert.isAtLeast(medianOf(missed), 1 / 2, name)
  }
}

const FOUND_BY = { straight: "1: distance, walked back", winding: "12: distance, least squares" }

describe("an attacker who reads all that others see of routes from 80 homes", () => {
  for (const [kind, found] of Object.entries(FOUND_BY)) {
    it(`misses each by a third of the radius, and by half in the median, where streets are ${kind}`, async () => {
      const whole = homes.map((home) => [home, LINES[kind]?.(home) ?? []] as const)
      const seen = await Promise.all(
        whole.map(async ([home, lines]) =>
          [home, await Promise.all(lines.map((line) => seenOf(line, [circleFor(home)])))] as const
        )
      )
      assertMissed(missesOf(seen))
      // The attack would find them by the measures of the whole routes.
      const told = seen.map(([home, routes], index) => {
        const lines = whole[index]?.[1] ?? []
        return [home, routes.map(({ line }, at) => ({ line, measures: measuresOf(lines[at] ?? []) }))] as const
      })
      assert.isBelow(medianOf(missesOf(told)[found]), 1 / 3)
    })
  }

  it("learns nothing from a zone that was removed and set again ten metres beside", async () => {
    const pairs = homes.map((home) => {
      const direction = 2 * Math.PI * seeded(home.owner + 2000)()
      const center = beside(home.center, 10 * Math.cos(direction), 10 * Math.sin(direction))
      return { home, circles: [circleFor(home), circleFor({ ...home, center })] }
    })
    const movedBy = ({ circles: [one, other], home }: typeof pairs[number]) =>
      one === undefined || other === undefined
        ? Number.NaN
        : metresFrom([one.lng, one.lat], [other.lng, other.lat]) / home.radius
    const moved = pairs.map(movedBy)
    assert.isAtMost(Math.max(...moved), 1 / 3)
    assert.isAbove(moved.filter((radii) => radii === 0).length, homes.length / 2)
    const seen = await Promise.all(
      pairs.slice(0, 20).map(async ({ circles, home }) => {
        const lines = LINES["winding"]?.(home) ?? []
        const routes = await Promise.all(
          lines.map((line, index) => seenOf(line, circles.slice(index % 2, index % 2 + 1)))
        )
        return [home, routes] as const
      })
    )
    assertMissed(missesOf(seen))
  })

  it("sees one circle of a zone that is set again with a slightly larger radius", () => {
    for (const home of homes.filter(({ radius }) => radius === 300)) {
      assert.deepStrictEqual(circleFor({ ...home, radius: 320 }), circleFor(home))
    }
  })
})
