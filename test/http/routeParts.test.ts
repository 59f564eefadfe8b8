import { assert, test } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { avatarImage, avatarPolicy } from "../../src/http/pages/shared/Avatar.ts"
import { profile, share, stops, surfaceBar, surfaceText } from "../../src/http/pages/shared/RouteDetails.ts"
import {
  attribution,
  cardPage,
  cards,
  factList,
  facts,
  formatName,
  frameOf,
  pagesAround,
  picture,
  previewHead,
  previewPicture,
  summaryOf,
  tagLinks
} from "../../src/http/pages/shared/RouteParts.ts"
import { alongText, distanceText, heightText, makeReaderUnits } from "../../src/http/pages/shared/Units.ts"
import { RouteId, ShareToken, UserId } from "../../src/schema/Ids.ts"
import type { StoredRoute } from "../../src/schema/Route.ts"
import { Profiles } from "../../src/services/accounts/Profile.ts"
import { html } from "../../src/services/operations/Html.ts"
import type { RouteSheet, Sample, Stop } from "../../src/services/routes/RouteSheet.ts"
import { textsIn } from "../../src/services/texts/Texts.ts"

const TEXTS = textsIn("en")

const TOKEN = ShareToken.make("5f2d8c1e9b7a4036a1c4e8d2f0b3967d")

const ROUTE: StoredRoute = {
  id: RouteId.make(12),
  name: "Around <Vaduz>",
  visibility: "public",
  tags: [],
  favourite: false,
  waypoints: "[]",
  geometry: undefined,
  polyline6: undefined,
  segments: undefined,
  cues: undefined,
  routingPreferences: null,
  provenance: "gpx-import",
  shareToken: TOKEN,
  user: { id: UserId.make(7), name: "Ada", handle: "ada", idHash: "0f" },
  createdAt: "2025-06-01T08:30:00.000Z",
  updatedAt: "2025-06-01T08:30:00.000Z",
  version: 1
}

const SHEET: RouteSheet = {
  start: undefined,
  polyline5: "",
  steps: "",
  climb: undefined,
  samples: [],
  stops: [],
  stopCount: 0
}

const samplesOf = (...values: ReadonlyArray<readonly [metres: number, height: number, slope: number]>) =>
  values.map(([metres, height, slope]): Sample => ({ metres, height, slope }))

const profileOf = (samples: ReadonlyArray<Sample>) => profile({ ...SHEET, samples }, TEXTS, "metric").html

/** The slopes before each position are on both sides of 3, 6 and 10 percent. */
const HILL = samplesOf(
  [0, 400, -2],
  [500, 440, 0],
  [1000, 420, 2.94],
  [1500, 460, 3],
  [1700, 470, 6],
  [1800, 480, 10],
  [1900, 490, 9.94],
  [2000, 500, 0]
)

test("a profile is as wide as the plot, has a margin of 4 % above and below, and a colour for each run of one steepness", () => {
  const text = profileOf(HILL)
  assert.include(text, "<svg viewBox=\"0 0 1000 200\"")
  const areas = [...text.matchAll(/<path class="steep-(\d)" d="([^"]*)"/g)].map(([, steepness, path]) =>
    `${steepness} ${path}`
  )
  assert.deepStrictEqual(areas, [
    "0 M0 192L250 118L500 155L750 82V200H0Z",
    "1 M750 82L850 63V200H750Z",
    "2 M850 63L900 45V200H850Z",
    "3 M900 45L950 26V200H900Z",
    "2 M950 26L1000 8V200H950Z"
  ])
  assert.include(text, "<path class=\"ridge\" d=\"M0 192L250 118L500 155L750 82L850 63L900 45L950 26L1000 8\"")
})

test("a profile is read by a script, and its ends by people; screen readers read its name only", () => {
  const text = profileOf(HILL)
  assert.include(
    text,
    "data-profile=\"[[0,400,-2],[500,440,0],[1000,420,2.9],[1500,460,3],[1700,470,6],[1800,480,10],[1900,490,9.9],"
      + "[2000,500,0]]\" data-long=\"1000 km\" data-short=\"1 m\""
  )
  assert.include(text, "<p class=\"readout\" aria-hidden=\"true\"></p>")
  assert.include(text, "<div class=\"heights\" aria-hidden=\"true\"><span>500 m</span><span>400 m</span></div>")
  assert.include(
    text,
    "<div class=\"metres\" aria-hidden=\"true\"><span>0</span><span>1.0 km</span><span>2.0 km</span></div>"
  )
  const legend = ["under 3 %", "3 to 6 %", "6 to 10 %", "10 % and more"]
  assert.include(
    text,
    `<ul class="legend">${legend.map((words, at) => `<li class="steep-${at}">${words}</li>`).join("")}</ul>`
  )
})

test("a profile with less than 40 m between its ends is drawn in the middle of 40 m", () => {
  // 450 m is 1 m below the middle: 200 * (1 - 0.04 - 0.92 * 19 / 40) = 104.6.
  assert.include(profileOf(samplesOf([0, 450, 0], [900, 452, 0])), "<path class=\"ridge\" d=\"M0 105L1000 95\"")
  assert.include(profileOf(samplesOf([0, 450, 0], [900, 450, 0])), "<path class=\"ridge\" d=\"M0 100L1000 100\"")
})

test("there is no profile without elevations or without a length", () => {
  assert.strictEqual(profileOf([]), "")
  assert.strictEqual(profileOf(samplesOf([0, 450, 0], [0, 460, 0])), "")
  assert.notStrictEqual(profileOf(samplesOf([0, 450, 0], [1, 460, 0])), "")
})

const stopsOf = (count: number, stopCount = count) =>
  stops(
    {
      ...SHEET,
      stops: Array.from({ length: count }, (_, index): Stop => ({
        kind: "cue",
        metres: 100 * index,
        text: "On",
        turn: "Left"
      })),
      stopCount
    },
    TEXTS,
    "metric"
  ).html

test("more than 12 stops are folded, and those that the page leaves out are counted", () => {
  assert.strictEqual(stopsOf(0), "")
  assert.notStrictEqual(stopsOf(1), "")
  assert.notInclude(stopsOf(12), "<details>")
  assert.include(stopsOf(13), "<details><summary>Show all 13</summary>")
  assert.notInclude(stopsOf(13), "in the files")
  assert.include(stopsOf(13, 14), "<p class=\"hint\">1 more is in the files.</p>")
})

test("a stop without words has those of its turn", () => {
  const items = [
    { kind: "waypoint", metres: 0, coord: [9.5, 47.1], text: "Home", turn: undefined },
    { kind: "cue", metres: 1234.6, text: "Turn at the church", turn: "Left" },
    { kind: "cue", metres: 2000, text: "", turn: "Left" },
    { kind: "cue", metres: 3000, text: "", turn: undefined }
  ] as const
  const { html: text } = stops({ ...SHEET, stops: items, stopCount: 4 }, TEXTS, "metric")
  assert.deepStrictEqual([...text.matchAll(/<li class="(.*?)<\/span><\/li>/g)].map(([, item]) => item), [
    "waypoint\" data-stop=\"0 9.5 47.1\"><span class=\"at\">0.0 km</span> <span class=\"what\">Home",
    "cue\" data-stop=\"1235\"><span class=\"at\">1.2 km</span> <span class=\"what\">Turn at the church",
    "cue\" data-stop=\"2000\"><span class=\"at\">2.0 km</span> <span class=\"what\">Turn left",
    "cue\" data-stop=\"3000\"><span class=\"at\">3.0 km</span> <span class=\"what\">"
  ])
})

test("the code of a link has four white modules on each side", () => {
  // 21 bytes need a code of version 2, of 25 modules (ISO/IEC 18004), whose first dark module is in its corner.
  const { html: text } = share("https://a.example/r/1", html`<iframe src="/x">`, TEXTS)
  assert.include(text, "<svg class=\"qr\" viewBox=\"0 0 33 33\"")
  assert.include(text, "d=\"M0 0h33v33H0z\"/><path d=\"M4 4h1v1h-1zM5 4")
  assert.include(text, "<textarea id=\"embed\" rows=\"4\" readonly>&lt;iframe src=&quot;/x&quot;&gt;</textarea>")
})

test("surfaces are parts of one bar, whatever their sum, with words by which a share is never wrong", () => {
  const surfacesOf = (...shares: ReadonlyArray<number>) =>
    shares.map((share, index) => ({ surface: ["paved", "gravel", "ice"][index] ?? "", share, length: 1000 * share }))
  const barOf = (...shares: ReadonlyArray<number>) => {
    const { html: text } = surfaceBar({ ...ROUTE, surfaces: surfacesOf(...shares) }, TEXTS, "metric")
    const [, box] = /<svg viewBox="([^"]+)" preserveAspectRatio="none" aria-hidden="true">/.exec(text) ?? []
    const parts = [...text.matchAll(/<rect class="surface-(\d)" x="(\S+)" width="(\S+)" height="1"\/>/g)]
    const words = [...text.matchAll(/<li class="surface-\d">([^<]+)</g)].map(([, words]) => words)
    return { box, parts: parts.map((part) => part.slice(1).join(" ")), words }
  }
  assert.strictEqual(surfaceBar(ROUTE, TEXTS, "metric").html, "")
  assert.deepStrictEqual(barOf(0.3, 0.2), {
    box: "0 0 1000 1",
    parts: ["1 0 600", "4 600 400"],
    words: ["Paved 30 % (300 km)", "Gravel 20 % (200 km)"]
  })
  assert.deepStrictEqual(barOf(0.6, 0.1, 0.1), {
    box: "0 0 1000 1",
    parts: ["1 0 750", "4 750 125", "8 875 125"],
    words: ["Paved 60 % (600 km)", "Gravel 10 % (100 km)", "ice 10 % (100 km)"]
  })
  assert.deepStrictEqual(barOf(0.0004, 0.005).words, ["Paved &lt; 1 % (400 m)", "Gravel 1 % (5.0 km)"])
  assert.deepStrictEqual(barOf(0, 0), {
    box: "0 0 1000 1",
    parts: ["1 0 0", "4 0 0"],
    words: ["Paved 0 % (0 m)", "Gravel 0 % (0 m)"]
  })
  assert.strictEqual(surfaceText({ ...ROUTE, surfaces: surfacesOf(0.3, 0.2) }, TEXTS), "30 % paved")
  const asked = { surfacePreference: "unpaved" } as const
  assert.strictEqual(surfaceText({ ...ROUTE, routingPreferences: asked }, TEXTS), "Unpaved, if possible")
  assert.isUndefined(surfaceText(ROUTE, TEXTS))
})

test("a route is summed up by what is known of it", () => {
  const timeOf = (duration: number) => summaryOf({ ...ROUTE, duration }, TEXTS, "metric")
  const times = { 0: "0 min", 29: "0 min", 30: "1 min", 3569: "59 min", 3570: "1 h 00 min", 7500: "2 h 05 min" }
  for (const [seconds, time] of Object.entries(times)) {
    assert.strictEqual(timeOf(Number(seconds)), time.replaceAll(" ", "\u00a0"))
  }
  const inGerman = { 300: "5 min", 7500: "2 h 05 min", 3_603_900: "1.001 h 05 min" }
  for (const [seconds, time] of Object.entries(inGerman)) {
    const text = summaryOf({ ...ROUTE, duration: Number(seconds) }, textsIn("de"), "metric")
    assert.strictEqual(text, time.replaceAll(" ", "\u00a0"), "it fits on a phone")
  }
  assert.strictEqual(summaryOf(ROUTE, TEXTS, "metric"), "")
  assert.strictEqual(facts(ROUTE, TEXTS, "metric").html, "")
  const inVaduz = { placeCity: "Vaduz", placeRegion: "Vaduz", placeCountryCode: "LI" }
  const whole = { ...ROUTE, ...inVaduz, activity: "run", distance: 5000, duration: 60, elevationGain: 80 } as const
  assert.strictEqual(
    summaryOf(whole, TEXTS, "imperial"),
    ["3.1 mi", "262 ft of climbing", "1\u00a0min", "Run", "Vaduz, Liechtenstein"].join("\u00a0· ")
  )
  assert.strictEqual(
    facts(whole, TEXTS, "metric").html.replaceAll(/<[^>]+>/g, "|").replaceAll(/\|+/g, "|"),
    "|Distance|5.0 km|Ascent|80 m|Time|1\u00a0min|Activity|Run|"
  )
  assert.strictEqual(
    factList([["a", undefined], ["b", "c"]]).html,
    "<dl class=\"facts\"><div><dt>b</dt><dd>c</dd></div></dl>"
  )
})

test("a picture has a source for each scheme of colours and, where there is a narrow one, for each width", () => {
  const narrow = { width: 400, height: 300, profile: true }
  assert.deepStrictEqual(
    picture("12", { wide: { width: 640, height: 360 }, narrow }, "A <line>", "../").html.split("\n"),
    [
      "<picture>",
      "<source media=\"(max-width: 30rem) and (prefers-color-scheme: dark)\" "
      + "srcset=\"../api/v1/routes/12/picture.svg?width=400&amp;height=300&amp;theme=dark&amp;profile=true\" "
      + "width=\"400\" height=\"300\">",
      "<source media=\"(max-width: 30rem)\" "
      + "srcset=\"../api/v1/routes/12/picture.svg?width=400&amp;height=300&amp;profile=true\" width=\"400\" height=\"300\">",
      "<source media=\"(prefers-color-scheme: dark)\" "
      + "srcset=\"../api/v1/routes/12/picture.svg?width=640&amp;height=360&amp;theme=dark\" width=\"640\" height=\"360\">",
      "<img src=\"../api/v1/routes/12/picture.svg?width=640&amp;height=360\" width=\"640\" height=\"360\" "
      + "alt=\"A &lt;line&gt;\">",
      "</picture>"
    ]
  )
  const lazy = picture("12", { wide: { width: 360, height: 225 }, isLazy: true }, "", "").html
  assert.include(lazy, " alt=\"\" loading=\"lazy\">")
  assert.notInclude(lazy, "max-width")
})

test("a page of cards has 24, counts from 1 and begins at the first one for any other number", () => {
  const offsets = { 1: 0, 2: 24, 10: 216, 9999: 239_952, 0: 0, "01": 0, 10000: 0, "1.5": 0, "-1": 0, x: 0, "": 0 }
  for (const [page, offset] of Object.entries(offsets)) {
    assert.deepStrictEqual(cardPage(new URLSearchParams({ page })), { limit: 24, offset }, page)
  }
  assert.deepStrictEqual(cardPage(new URLSearchParams()), { limit: 24, offset: 0 })
})

test("a page leads to those beside it, and to none behind the last", () => {
  const linksOf = (offset: number, items: number, total: number, covered?: number) =>
    [
      ...pagesAround(
        { items: Array.from({ length: items }), total, ...(covered === undefined ? {} : { covered }) },
        { limit: 24, offset, filters: { tag: "a&b" } },
        TEXTS
      ).html.matchAll(/<a href="\?tag=a%26b&amp;page=(\d+)" rel="(\w+)">([^<]+)</g)
    ].map((link) => link.slice(1).join(" "))
  assert.deepStrictEqual(linksOf(0, 24, 24), [])
  assert.deepStrictEqual(linksOf(0, 24, 25), ["2 next More routes"])
  assert.deepStrictEqual(linksOf(24, 1, 25), ["1 prev Previous routes"])
  assert.deepStrictEqual(linksOf(48, 24, 99), ["2 prev Previous routes", "4 next More routes"])
  assert.deepStrictEqual(linksOf(0, 1, 25, 24), ["2 next More routes"])
  assert.deepStrictEqual(linksOf(0, 1, 25, 25), [])
  assert.deepStrictEqual(linksOf(9997 * 24, 24, 999_999), ["9997 prev Previous routes", "9999 next More routes"])
  assert.deepStrictEqual(linksOf(9998 * 24, 24, 999_999), ["9998 prev Previous routes"], "no address leads further")
  // Routes that were deleted meanwhile count in the total, and there is nothing behind an empty page.
  assert.deepStrictEqual(linksOf(24, 0, 99), ["1 prev Previous routes"])
  assert.strictEqual(pagesAround({ items: [1], total: 1 }, { limit: 24, offset: 0 }, TEXTS).html, "")
  assert.include(pagesAround({ items: [1], total: 2 }, { limit: 1, offset: 0 }, TEXTS).html, "<nav class=\"pages\"")
  assert.include(pagesAround({ items: [1], total: 2 }, { limit: 1, offset: 1 }, TEXTS).html, "<nav class=\"pages\"")
})

test("a card has a small picture that is loaded when it is seen, and neither picture nor link without a share token", () => {
  const cardsOf = (items: ReadonlyArray<Partial<StoredRoute>>) =>
    cards(
      { items: items.map((item) => ({ ...ROUTE, ...item })), total: items.length },
      { offset: 0, root: "../", texts: TEXTS, units: "metric" }
    ).html
  assert.strictEqual(cardsOf([]), "<p>There are no routes here.</p>")
  const shown = cardsOf([{}])
  assert.include(shown, `<h2><a href="../r/${TOKEN}">Around &lt;Vaduz&gt;</a></h2>`)
  assert.include(shown, "?width=360&amp;height=225\" width=\"360\" height=\"225\" alt=\"\" loading=\"lazy\">")
  const { shareToken: _, ...untold } = ROUTE
  const hidden = cards({ items: [untold], total: 1 }, { offset: 0, root: "", texts: TEXTS, units: "metric" }).html
  assert.include(hidden, "<li><h2>Around &lt;Vaduz&gt;</h2>")
  assert.notMatch(hidden, /<a|<picture/)
})

test("a page is announced with its picture, its data and its oEmbed address, where it has them", () => {
  const site = {
    name: "The club",
    texts: TEXTS,
    color: { light: "#0b5cad", dark: "#7fbfff" },
    logo: undefined,
    address: "https://a.example/",
    notice: undefined
  }
  const preview = { title: "A <b>", description: "Of it", url: "https://a.example/r/1?x" }
  const root = "https://a.example/"
  const pictured = previewPicture(root, "1")
  assert.strictEqual(pictured, "https://a.example/api/v1/routes/1/picture.png?width=1200&height=630&profile=true")
  const whole = previewHead(site, root, { ...preview, pictured, hasOEmbed: true, data: { name: "</script>" } }).html
  assert.include(whole, `<meta property="og:image" content="${pictured.replaceAll("&", "&amp;")}">`)
  assert.include(
    whole,
    "<meta property=\"og:image:width\" content=\"1200\">\n<meta property=\"og:image:height\" content=\"630\">"
  )
  assert.include(
    whole,
    "href=\"https://a.example/oembed?format=json&amp;url=https%3A%2F%2Fa.example%2Fr%2F1%3Fx\" title=\"A &lt;b&gt;\">"
  )
  assert.include(whole, "{\"@context\":\"https://schema.org\",\"name\":\"\\u003c/script>\"}</script>")
  const bare = previewHead(site, root, { ...preview, pictured: undefined, hasOEmbed: false, data: undefined }).html
  assert.notMatch(bare, /og:image|oembed|ld\+json/)
})

test("tags, formats, frames and sources are written as they are read", () => {
  assert.strictEqual(tagLinks([], TEXTS, "../").html, "")
  assert.include(tagLinks(["a"], TEXTS, "../").html, "<li><a href=\"../?tag=a\">a</a></li>")
  assert.deepStrictEqual((["geojson", "gpx"] as const).map(formatName), ["GeoJSON", "GPX"])
  assert.include(frameOf("/", "t", "x").html, "<iframe src=\"/embed/t\" width=\"640\" height=\"480\" title=\"x\"")
  assert.strictEqual(attribution({ provenance: "gpx-import" }, TEXTS).html, "")
  assert.include(attribution({ provenance: "routing-engine" }, TEXTS).html, ">© OpenStreetMap contributors</a>")
})

test("an avatar is shown from an https origin, which its policy names, and from no address with more in it", () => {
  const [avatar, origin] = ["https://img.example:8443/a.png?x=1", "https://img.example:8443"]
  assert.include(avatarImage(avatar).html, `<img class="avatar" src="${avatar}" alt=""`)
  assert.deepStrictEqual(avatarPolicy(avatar), { "img-src": `'self' data: ${origin}` })
  for (const refused of [undefined, "http://img.example/a.png", "https://*/a.png", "https://a;b/a.png", "no address"]) {
    assert.strictEqual(avatarImage(refused).html, "", refused)
    assert.deepStrictEqual(avatarPolicy(refused), {}, refused)
  }
})

test("lengths have a tenth below 100 of their unit, and short ones are in the unit of heights", () => {
  const mile = 1609.344
  const table = [
    [0, "metric", "0 m"],
    [999, "metric", "999 m"],
    [1000, "metric", "1.0 km"],
    [99_940, "metric", "99.9 km"],
    [100_000, "metric", "100 km"],
    [100_900, "metric", "101 km"],
    [mile - 0.001, "imperial", "5,280 ft"],
    [mile, "imperial", "1.0 mi"],
    [99.94 * mile, "imperial", "99.9 mi"],
    [100 * mile, "imperial", "100 mi"]
  ] as const
  for (const [metres, units, text] of table) assert.strictEqual(distanceText(metres, TEXTS, units), text)
  assert.deepStrictEqual([heightText(450.4, TEXTS, "metric"), heightText(304.8, TEXTS, "imperial")], [
    "450 m",
    "1,000 ft"
  ])
  assert.deepStrictEqual([alongText(0, TEXTS, "metric"), alongText(250_000, TEXTS, "metric")], ["0.0 km", "250.0 km"])
  assert.strictEqual(alongText(mile / 2, TEXTS, "imperial"), "0.5 mi")
})

const unitsFor = (query: string, language?: string) =>
  Effect.flatMap(makeReaderUnits, (readerUnits) =>
    readerUnits(
      new URLSearchParams(query),
      HttpServerRequest.fromWeb(
        new Request("http://localhost", { headers: language === undefined ? {} : { "accept-language": language } })
      ),
      Option.none()
    )).pipe(Effect.provide(Layer.mock(Profiles, {})), Effect.runSync)

test("a reader whose first language is that of a country with miles reads miles, unless the address says otherwise", () => {
  for (const language of ["en-US", "EN-gb", "my-MM;q=0.9", "vai-Latn-LR", "en-Latn-US, de", "kpe-lr"]) {
    assert.strictEqual(unitsFor("", language), "imperial", language)
    assert.strictEqual(unitsFor("units=metric", language), "metric")
  }
  for (const language of [undefined, "", "en", "de-DE", "de,en-US", "engl-US", "e-US", "en-Latin-US", "en-USA"]) {
    assert.strictEqual(unitsFor("", language), "metric", language)
    assert.strictEqual(unitsFor("units=imperial", language), "imperial")
  }
})
