import { assert, describe, it } from "@effect/vitest"
import { gzipSync } from "node:zlib"
import { drawCard } from "../../src/services/pictures/Card.ts"
import type { PlacedTile } from "../../src/services/pictures/MapStyle.ts"
import { EXTENT, type Shape, tileOf } from "../support/VectorTiles.ts"

type Subject = Parameters<typeof drawCard>[0]

const draw = (members: Partial<Subject> = {}) =>
  drawCard({
    title: "A ride",
    facts: ["12 km"],
    site: "Routes",
    color: "#7a1f5c",
    logo: undefined,
    attribution: undefined,
    tiles: [],
    positions: [],
    segments: [],
    waypoints: [],
    ...members
  })

/** A pixel of the card is a thousandth of a degree with this line, which begins and ends 90 pixels from its sides. */
const ACROSS = [[0, 0], [1.02, 0]] as const

/** A unit of this tile is a pixel of the card. */
const placed = (bytes: Uint8Array): PlacedTile => ({ x: 0, y: 0, side: EXTENT, type: "vector", bytes })

const textsIn = (svg: string) =>
  [...svg.matchAll(/<text[^>]*>\u2068?([^<]*?)\u2069?<\/text>/g)].map(([, text = ""]) => text)

const attributesOf = (element: string) =>
  Object.fromEntries([...element.matchAll(/ ([\w-]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]))

const elements = (svg: string, name: string) =>
  [...svg.matchAll(new RegExp(`<${name}[^>]*>`, "g"))].map(([element]) => attributesOf(element))

const pick = (names: ReadonlyArray<string>) => (attributes: Readonly<Record<string, string>>) =>
  names.map((name) => attributes[name]).join(" ")

/** The end is the only rounded rectangle. */
const marksOf = (svg: string) => ({
  start: elements(svg, "circle").map(pick(["cx", "cy"])),
  end: elements(svg, "rect").filter(({ rx }) => rx !== undefined).map(pick(["x", "y", "width", "height"]))
})

const NO_MARKS = { start: [], end: [] }

const place = (name: string, x: number, y: number, properties: Shape["properties"] = {}): Shape => ({
  type: "point",
  points: [[x, y]],
  properties: { class: "town", name, ...properties }
})

/** Returns the names on a map with the pixels of their middles: the letters of 24 pixels stand 8 below them. */
const namesOf = (places: ReadonlyArray<Shape>, members: Partial<Subject> = {}) =>
  [
    ...draw({ tiles: [placed(tileOf({ place: places }))], ...members })
      .matchAll(/<text x="([\d.]+)" y="([\d.]+)"[^>]* font-size="24" [^>]*fill="#4a5058">([^<]*)</g)
  ]
    .map(([, x, y, name]) => [name, Number(x), Number(y) - 8])

const LETTERS = "Abcdefghij"

describe("a card", () => {
  it("has the line in its upper part, 90 pixels from the sides and 60 from top and bottom, with its ends marked", () => {
    const wide = draw({ positions: ACROSS })
    assert.match(wide, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="1200" height="630" viewBox="0 0 1200 630">/)
    assert.include(wide, ` d="M90 215l1020 0"`)
    assert.deepStrictEqual(marksOf(wide), { start: ["90 215"], end: ["1098 203 24 24"] })
    const high = draw({ positions: [[0, 0], [0, 0.31]] })
    assert.include(high, ` d="M600 370l0 -310"`)
    assert.deepStrictEqual(marksOf(high), { start: ["600 370"], end: ["588 48 24 24"] })
  })

  it("marks the waypoints in place of the ends of a line that is not shown", () => {
    const waypoints = [[0, 0], [0.5, 0], [1.02, 0]] as const
    assert.deepStrictEqual(marksOf(draw({ waypoints })), { start: ["90 215"], end: ["1098 203 24 24"] })
    assert.deepStrictEqual(marksOf(draw({ waypoints: [[9, 47]] })), { start: ["600 215"], end: [] })
    assert.deepStrictEqual(marksOf(draw({ positions: [[1.02, 0]], waypoints })), { start: ["1110 215"], end: [] })
    assert.deepStrictEqual(marksOf(draw()), NO_MARKS)
    assert.notInclude(draw({ waypoints }), "<path")
  })

  it("has its texts in rows below the map, the logo beside them, and nothing in place of what is not set", () => {
    const all = draw({ attribution: "A Map", logo: "data:image/png;base64,AA==" })
    assert.deepStrictEqual(textsIn(all), ["A ride", "12 km", "Routes", "A Map"])
    assert.deepStrictEqual(elements(all, "text").map(pick(["x", "y", "font-size", "text-anchor"])), [
      "48 506 52 start",
      "48 558 34 start",
      "48 604 24 start",
      "1152 604 24 end"
    ])
    const logo = { x: "972", y: "470", width: "180", height: "84", href: "data:image/png;base64,AA==" }
    assert.deepInclude(elements(all, "image")[0], logo)
    assert.deepStrictEqual(textsIn(draw()), ["A ride", "12 km", "Routes"])
    assert.notInclude(draw(), "<image")
  })

  it("writes each text in the direction of its first letter, so that the last mark of a name is at its end", () => {
    assert.match(draw({ title: "جولة!" }), />\u2068جولة!\u2069<\/text>/)
  })

  it("cuts a text after as many letters as there is room for, and never within one", () => {
    const family = "👨‍👩‍👧"
    const cutAt = (length: number, logo?: string) => {
      const [title, facts, site, attribution] = textsIn(draw({
        title: family.repeat(length),
        facts: ["x".repeat(length)],
        site: "y".repeat(length),
        attribution: "z".repeat(length),
        logo
      }))
      return [(title?.length ?? 0) / family.length, facts?.length, site?.length, attribution?.length]
    }
    // A bold letter is 0.66 of its size wide, another one 0.58: there are 1,104 pixels, 228 less beside a logo.
    assert.deepStrictEqual(cutAt(32).slice(0, 1), [32])
    assert.deepStrictEqual(cutAt(33), [31 + 1 / family.length, 33, 33, 33])
    assert.deepStrictEqual(cutAt(39).slice(2), [39, 39])
    assert.deepStrictEqual(cutAt(100), [31 + 1 / family.length, 55, 39, 39])
    assert.deepStrictEqual(cutAt(100, "data:image/png;base64,AA=="), [24 + 1 / family.length, 44, 39, 39])
    assert.strictEqual(textsIn(draw({ title: `${"x".repeat(30)} ${"y".repeat(9)}` }))[0], `${"x".repeat(30)}…`)
    assert.strictEqual(textsIn(draw({ facts: ["12 km", "340 m"] }))[1], "12 km · 340 m")
  })

  it("has raster tiles where they belong, as PNG or JPEG by what they are", () => {
    const tile = (x: number, bytes: ReadonlyArray<number>): PlacedTile => ({
      x,
      y: -10.25,
      side: 256,
      type: "raster",
      bytes: Uint8Array.from(bytes)
    })
    const svg = draw({ tiles: [tile(-1.5, [0x89, 0x50]), tile(254.5, [0xff, 0xd8])] })
    assert.deepStrictEqual(elements(svg, "image").map(pick(["x", "y", "width", "height", "href"])), [
      "-1.5 -10.2 256 256 data:image/png;base64,iVA=",
      "254.5 -10.2 256 256 data:image/jpeg;base64,/9g="
    ])
    assert.deepStrictEqual(textsIn(draw({ tiles: [tile(0, [])] })), ["A ride", "12 km", "Routes"])
  })
})

describe("the vector map of a card", () => {
  it("has the ground first, then water and ways, each road above its edge and below larger ones", () => {
    const shape = (name: string): Shape => ({ type: "line", points: [[1, 1], [9, 9]], properties: { class: name } })
    const tile = tileOf({
      place: [shape("motorway")],
      transportation: ["rail", "motorway", "trunk", "primary", "secondary", "tertiary", "minor", "service", "path"]
        .concat("track", "ferry").map(shape),
      waterway: ["stream", "ditch"].map(shape),
      water: ["lake", "ocean"].map(shape),
      landcover: ["ice", "wood", "grass"].map(shape),
      landuse: ["cemetery", "retail"].map(shape)
    })
    const paths = elements(draw({ tiles: [placed(tile)] }), "path").map((path) =>
      `${pick(["fill", "stroke", "stroke-width"])(path)} ${path["d"]?.split("M").length}`
    )
    // Two features in one path make three parts.
    const roads = (color: string, larger: string, wider: number) =>
      [1.2, 2, 3, 3.5, 4.5, 5, 6].map((width) => `none ${width > 4 ? larger : color} ${width + wider} 2`)
    assert.deepStrictEqual(paths, [
      "#e9e7e1 none 0 2",
      "#e6eedb none 0 2",
      "#d3e2c6 none 0 2",
      "#fafaf7 none 0 2",
      "#b4d4e8 none 0 3",
      "none #b4d4e8 2.5 2",
      "none #d2ccbf 1.2 3",
      ...roads("#c9c3b6", "#c9c3b6", 2),
      ...roads("#ffffff", "#f7dfa5", 0),
      "none #a9a9a9 1.5 2"
    ])
  })

  it("has the shapes of each tile where the tile belongs", () => {
    const lake: Shape = { type: "polygon", points: [[0, 0], [4096, 2048], [1024, 1536]], properties: { class: "lake" } }
    const bytes = tileOf({ water: [lake], place: [place("Vaduz", 1024, 1536)] })
    const svg = draw({ tiles: [{ x: 300, y: -40, side: 512, type: "vector", bytes }] })
    assert.include(svg, ` d="M300 -40l512 256l-384 -64l-128 -192"`)
    assert.include(svg, `<text x="428" y="160"`)
  })

  it("is read packed and as it is, up to 4 MiB", () => {
    const water: Shape = { type: "polygon", points: [[0, 0], [90, 0], [90, 90]], properties: { class: "lake" } }
    // A field that no reader knows has a varint of three or four bytes for its length, after one for its number.
    const filled = (length: number) => {
      const tile = tileOf({ water: [water] })
      const filler = Buffer.alloc(length - tile.length)
      const rest = filler.length - 5
      filler.set([0x7a, 0x80 | rest, 0x80 | rest >> 7, 0x80 | rest >> 14, rest >> 21])
      return gzipSync(Buffer.concat([tile, filler]), { level: 1 })
    }
    const most = 4 * 1024 * 1024
    const plain = draw({ tiles: [placed(tileOf({ water: [water] }))] })
    assert.include(plain, "#b4d4e8")
    assert.strictEqual(draw({ tiles: [placed(gzipSync(tileOf({ water: [water] })))] }), plain)
    assert.strictEqual(draw({ tiles: [placed(filled(most))] }), plain)
    assert.throws(() => draw({ tiles: [placed(filled(most + 1))] }))
    // The length of the first layer has the second byte of a packed tile.
    const layer = Array.from({ length: 256 }, (_, length) => "x".repeat(length))
      .find((name) => tileOf({ [name]: [], water: [water] })[1] === 0x8b) ?? assert.fail("no layer is so long")
    assert.strictEqual(draw({ tiles: [placed(tileOf({ [layer]: [], water: [water] }))] }), plain)
  })

  it("has names of places, larger and more important ones first, in Latin letters where there are any", () => {
    const at = (n: number) => [100 + 200 * (n % 5), 100 + 100 * Math.floor(n / 5)] as const
    const kinds = ["island", "hamlet", "suburb", "village", "town", "city"]
    const places = kinds.map((kind) => place(kind, 600, 100, { class: kind, rank: 9 }))
    assert.deepStrictEqual(namesOf(places), [["city", 600, 100], ["town", 600, 60], ["village", 600, 140]])
    const smaller = places.filter(({ properties }) => !/city|town/.test(String(properties["class"])))
    assert.deepStrictEqual(namesOf(smaller).map(([name]) => name), ["village", "suburb", "hamlet"])
    const ranked = [place("c", 600, 100, { rank: 2 }), place("b", 600, 100, { rank: 1 }), place("a", 600, 100)]
    assert.deepStrictEqual(namesOf(ranked), [["a", 600, 100], ["b", 600, 60], ["c", 600, 140]])
    const many = Array.from({ length: 12 }, (_, n) => place(`N${n}`, ...at(n), { rank: n }))
    assert.deepStrictEqual(namesOf(many), Array.from({ length: 10 }, (_, n) => [`N${n}`, ...at(n)]))
    const written = [
      place("北京", ...at(0), { "name:latin": "Beijing" }),
      place("", ...at(1)),
      place("Ruggell", ...at(2)),
      place("Ruggell", ...at(3))
    ]
    assert.deepStrictEqual(namesOf(written), [["Beijing", ...at(0)], ["Ruggell", ...at(2)]])
  })

  it("has no name over the edge of the map, the line or another name, which moves up or down for that", () => {
    // These letters are 163.2 pixels wide, and 36 high with what is free around them.
    const middleOf = (x: number, y: number, members: Partial<Subject> = {}) =>
      namesOf([place(LETTERS, x, y)], members).map(([, , middle]) => middle)
    const atEdges = [[81, 100], [82, 100], [1118, 100], [1119, 100], [600, 18], [600, 19], [600, 411], [
      600,
      412
    ]] as const
    assert.deepStrictEqual(atEdges.map(([x, y]) => middleOf(x, y)[0]), [
      undefined,
      100,
      100,
      undefined,
      58,
      19,
      411,
      372
    ])
    // 25 letters are 408 pixels wide.
    assert.deepStrictEqual([204, 205, 995, 996].map((x) => namesOf([place("x".repeat(25), x, 100)]).length), [
      0,
      1,
      1,
      0
    ])

    // The line has its first position at (90, 215).
    const beside = [[172, 215], [171, 215], [100, 233], [100, 232], [100, 197], [100, 198]] as const
    assert.deepStrictEqual(beside.map(([x, y]) => middleOf(x, y, { positions: ACROSS })[0]), [
      215,
      175,
      233,
      192,
      197,
      158
    ])
    const around = [[0, 0], [1.02, 0], [0.51, 0], [0.51, 0.04], [0.51, -0.04]] as const
    const covered = ["One", "Two", "Three"].map((name, rank) => place(name, 600, 215, { rank }))
    assert.deepStrictEqual(namesOf(covered, { positions: around }), [["One", 600, 143], ["Two", 600, 287]])

    const both = (x: number, y: number) =>
      namesOf([place(LETTERS, 300, 200, { rank: 1 }), place("Klmnopqrst", x, y, { rank: 2 })])[1]?.[2]
    assert.deepStrictEqual([both(464, 200), both(463, 200), both(300, 236), both(300, 235), both(137, 165)], [
      200,
      160,
      236,
      275,
      125
    ])
    const long = [place("x".repeat(25), 300, 200, { rank: 1 }), place("y".repeat(25), 708, 200, { rank: 2 })]
    assert.deepStrictEqual(namesOf(long).map(([, , y]) => y), [200, 200])
    const besideLine = (x: number) => namesOf([place("x".repeat(25), x, 215)], { positions: ACROSS })[0]?.[2]
    assert.deepStrictEqual([besideLine(294), besideLine(293)], [215, 175])
  })
})
