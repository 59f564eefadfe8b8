import { assert, it } from "@effect/vitest"
import type { Position } from "../../src/schema/Geometry.ts"
import { DEFAULT_PICTURE, type PictureOptions, ROAD_DATA_ATTRIBUTION } from "../../src/schema/Picture.ts"
import { drawPicture } from "../../src/services/pictures/PictureJobs.ts"

type Subject = Parameters<typeof drawPicture>[0]

const draw = (
  positions: ReadonlyArray<Position>,
  options: Partial<PictureOptions> = {},
  members: Partial<Subject> = {}
) =>
  drawPicture(
    { name: "A ride", attribution: undefined, waypoints: [], ...members, positions },
    { ...DEFAULT_PICTURE, ...options }
  )

/** A pixel of a picture of 800 x 500 is a thousandth of a degree with this line, whose ends are 30 pixels from the sides. */
const ACROSS = [[0, 0], [0.74, 0]] as const

/** A meridian of this length in degrees of the equator is higher than any box is wide. */
const UPWARDS = [[0, 0], [0, 80]] as const

const attribution = ROAD_DATA_ATTRIBUTION

/** Returns the box that a line fills: left, right, top and bottom. */
const boxOf = (
  width: number,
  height: number,
  options: Partial<PictureOptions> = {},
  members: Partial<Subject> = {}
) => {
  const [, left, right] =
    / d="M([\d.]+) [\d.]+l([\d.]+) 0"/.exec(draw(ACROSS, { width, height, ...options }, members)) ?? []
  const [, low, up] = / d="M[\d.]+ ([\d.]+)l0 -([\d.]+)"/.exec(draw(UPWARDS, { width, height, ...options }, members)) ??
    []
  return [Number(left), Number(left) + Number(right), Number(low) - Number(up), Number(low)]
}

/** Returns each text with its place. */
const textsIn = (svg: string) =>
  [...svg.matchAll(/<text x="([-\d.]+)" y="([-\d.]+)"[^>]* font-size="11" text-anchor="(\w+)">([^<]*)</g)]
    .map(([, x, y, anchor, text]) => `${text} ${x} ${y} ${anchor}`)

const marksIn = (svg: string) =>
  svg.match(/<circle[^>]*>|<rect x[^>]*>/g)?.map((mark) => mark.match(/(?<=")[\d.]+(?=")/g)?.join(" "))

/** Returns the end of a line from the west, so that a pixel of a picture of 800 x 500 has so many metres. */
const endOf = (
  metresPerPixel: number,
  pixels = 740
): Position => [pixels * metresPerPixel * 360 / (2 * Math.PI * 6_371_000), 0]

it("a line has a border that grows with the picture, and a row for the scale from 160 pixels", () => {
  assert.deepStrictEqual(boxOf(800, 500), [30, 770, 30, 447])
  assert.deepStrictEqual(boxOf(1200, 1200), [30, 1170, 30, 1147])
  assert.deepStrictEqual(boxOf(320, 320), [22, 298, 22, 275])
  assert.deepStrictEqual(boxOf(300, 160), [16, 284, 16, 121])
  assert.deepStrictEqual(boxOf(300, 159), [16, 284, 16, 143])
  assert.deepStrictEqual(boxOf(64, 64), [13, 51, 13, 51])
})

it("a line has a row above it for the source where a narrow picture has one, and none in a small picture", () => {
  assert.deepStrictEqual(boxOf(300, 300, {}, { attribution }), [21, 279, 32, 256])
  assert.deepStrictEqual(boxOf(300, 300), [21, 279, 21, 256])
  assert.deepStrictEqual(boxOf(400, 300, {}, { attribution }), [21, 379, 21, 256])
  assert.deepStrictEqual(boxOf(100, 100, {}, { attribution }), [16, 84, 16, 84])
  const sourceIn = (width: number, height: number) =>
    textsIn(draw(ACROSS, { width, height }, { attribution })).filter((text) => text.startsWith(attribution))
  assert.deepStrictEqual(sourceIn(399, 300), [`${attribution} 387 15 end`])
  assert.deepStrictEqual(sourceIn(400, 300), [`${attribution} 388 288 end`])
  assert.deepStrictEqual(sourceIn(400, 159), [])
})

it("a profile has 28 % of the height, up to 220 pixels, where there is room for its texts", () => {
  const high = { elevations: [400, 1234] }
  const box = (width: number, height: number) => {
    const line = ACROSS.map(([lng, lat], n): Position => [lng, lat, high.elevations[n] ?? 0])
    const svg = draw(line, { width, height, profile: true })
    return / stroke="#c3c9c2" fill="none"/.test(svg) ? Number(/ d="M[\d.]+ ([\d.]+)H/.exec(svg)?.[1]) : undefined
  }
  // The scale of the profile is 29 pixels above the lower edge of the picture.
  assert.deepStrictEqual(
    [[800, 500], [1200, 1200], [300, 160], [300, 159]].map(([width = 0, height = 0]) => box(width, height)),
    [471, 1171, 131, undefined]
  )
  const lineOf = (width: number, height: number) =>
    / d="M[\d.]+ ([\d.]+)l/.exec(draw([[0, 0, 400], [0.74, 0, 1234]], { width, height, profile: true }))?.[1]
  assert.strictEqual(lineOf(800, 500), "168.5", "the middle of a box from 30 to 307")
  assert.strictEqual(lineOf(1200, 1200), "478.5", "the middle of a box from 30 to 927")
})

it("a profile is drawn from its lowest to its highest point, right of the wider label of the two", () => {
  const svg = draw([[0, 0, 400], [0.37, 0, 1234], [0.74, 0, 817]], { profile: true })
  // Six characters take 41.6 pixels.
  assert.include(svg, `<path d="M59.6 471H788" stroke="#c3c9c2" fill="none"/>`)
  assert.include(svg, `<path d="M59.6 471l364.2 -111l364.2 55.5" fill="none"`)
  assert.include(svg, `<path d="M59.6 471l364.2 -111l364.2 55.5V471H59.6Z" fill="#0b5cad"`)
  assert.deepStrictEqual(textsIn(svg).slice(1), [
    "1234 m 53.6 368.8 end",
    "400 m 53.6 471 end",
    "0 59.6 485 start",
    "82.3 km 788 485 end"
  ])
  assert.include(draw([[0, 0, -1234], [0.74, 0, 5]], { profile: true }), `<path d="M66.5 471H788"`)
  // A flat profile is in the middle of 40 metres, and has one label beside it.
  const flat = draw([[0, 0, 400], [0.74, 0, 400]], { profile: true })
  assert.include(flat, `<path d="M52.7 415.5l735.3 0" fill="none"`)
  assert.deepStrictEqual(textsIn(flat).slice(1), ["400 m 46.7 419.9 end", "0 52.7 485 start", "82.3 km 788 485 end"])
  const lowLabels = (rise: number) =>
    textsIn(draw([[0, 0, 400], [0.74, 0, 400 + rise]], { profile: true })).filter((text) => text.startsWith("400 m"))
      .length
  assert.deepStrictEqual([lowLabels(3.9), lowLabels(4)], [0, 1])
})

it("a profile has an area below each part of a line with a gap", () => {
  const svg = draw([[0, 0, 400], [0.2, 0, 500], [0.5, 0, 400], [0.74, 0, 500]], { profile: true }, { segments: [0, 2] })
  const area = / d="([^"]+)" fill="#0b5cad"/.exec(svg)?.[1] ?? ""
  const parts = [...area.matchAll(/M([\d.]+) [\d.]+l[^V]*V([\d.]+)H([\d.]+)Z/g)].map(([, ...figures]) =>
    figures.map(Number)
  )
  assert.strictEqual(parts.length, 2)
  for (const [from, low, back] of parts) assert.deepStrictEqual([low, back], [471, from])
})

it("marks are as large as the picture allows: a circle at the start, a square at the end, dots between", () => {
  const waypoints = [[0, 0], [0.0087, 0], [0.0088, 0], [0.37, 0], [0.74, 0]] as const
  assert.deepStrictEqual(marksIn(draw(ACROSS, {}, { waypoints })), [
    "38.8 238.5 5 2.8",
    "400 238.5 5 2.8",
    "762.2 230.7 15.6 15.6 2.6 3.1",
    "30 238.5 8.8 3.1"
  ])
  assert.deepStrictEqual(marksIn(draw([[0, 0], [0.034, 0]], { width: 64, height: 64 })), [
    "48 29 6 6 1 1.2",
    "13 32 3.4 1.2"
  ])
  assert.include(
    draw(ACROSS),
    `stroke-width="9.4" stroke-linejoin="round" stroke-linecap="round"/>\n<path d="M30 238.5l740 0"`
  )
})

it("a line of one position has its start, and waypoints have ends without a line", () => {
  const waypoints = [[0, 0], [0.37, 0], [0.74, 0]] as const
  const [end, start] = ["762.2 230.7 15.6 15.6 2.6 3.1", "30 238.5 8.8 3.1"]
  assert.deepStrictEqual(marksIn(draw([], {}, { waypoints })), ["400 238.5 5 2.8", end, start])
  assert.deepStrictEqual(marksIn(draw([[0.74, 0]], {}, { waypoints: waypoints.slice(0, 2) })), [
    "30 238.5 5 2.8",
    "400 238.5 5 2.8",
    "770 238.5 8.8 3.1"
  ])
  assert.deepStrictEqual(marksIn(draw([[9, 47]])), ["400 238.5 8.8 3.1"])
  assert.isUndefined(marksIn(draw([])))
})

it("a scale is at most 160 pixels and a quarter of the picture, at its lower left", () => {
  const scaleIn = (metresPerPixel: number, options: Partial<PictureOptions> = {}, pixels?: number) => {
    const svg = draw([[0, 0], endOf(metresPerPixel, pixels)], options)
    return [/ d="(M[\d.]+ [\d.]+v5h[\d.]+v-5)"/.exec(svg)?.[1], ...textsIn(svg)]
  }
  assert.deepStrictEqual(scaleIn(100), ["M12 483v5h100v-5", "10 km 118 488 start"])
  assert.deepStrictEqual(scaleIn(20_000 / 159.9)[1], "20 km 177.9 488 start")
  assert.deepStrictEqual(scaleIn(20_000 / 160.5)[1], "10 km 98.3 488 start")
  const square = { width: 400, height: 400 }
  assert.deepStrictEqual(scaleIn(10_000 / 99.9, square, 348), ["M12 383v5h99.9v-5", "10 km 117.9 388 start"])
  assert.deepStrictEqual(scaleIn(10_000 / 100.5, square, 348)[1], "5 km 68.3 388 start")
})

it("a picture has no scale where it would be wrong for a part of it, and says where nothing is shown", () => {
  const textsOf = (positions: ReadonlyArray<Position>, options: Partial<PictureOptions> = {}) =>
    textsIn(draw(positions, options)).map((text) => text.replace(/ [-\d.]+ [-\d.]+ \w+$/, ""))
  // The scale at this latitude is 1.5 times that at the equator.
  const most = Math.acos(1 / 1.5) * 180 / Math.PI
  assert.strictEqual(textsOf([[0, 0], [0, most - 0.01]]).length, 1)
  assert.deepStrictEqual(textsOf([[0, 0], [0, most + 0.01]]), [])
  assert.strictEqual(textsOf([[9, 47]]).length, 1)
  assert.deepStrictEqual(textsOf([[9, 47]], { width: 159 }), [])
  assert.deepStrictEqual(textsIn(draw([])), ["No line is shown 400 250 middle"])
  assert.deepStrictEqual(textsOf([], { width: 159 }), [])
  assert.notInclude(draw([[9, 47]], {}, { waypoints: [[9, 47]] }), "No line")
  assert.match(draw([]), /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="800" height="500" viewBox="0 0 800 500" /)
})
