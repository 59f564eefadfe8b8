import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import { parseXml } from "../../src/services/files/Xml.ts"
import { NOTHING, type PointReader } from "../../src/services/files/XmlTree.ts"

const KNOWN = new Set(["gpx", "trk", "trkseg", "trkpt", "lat", "lon", "ele", "time", "extensions", "name"])

const POINTS: PointReader = {
  names: new Set(["trkpt"]),
  read: (point) => ({ ...point, attributes: { ...NOTHING, ...point.attributes } })
}

/** Nobody reads blanks between elements. */
const withoutBlanks = (key: string, value: unknown) =>
  key === "text" && typeof value === "string" ? value.replace(/\s+/g, "") : value

const outcomeOf = (pieces: ReadonlyArray<string>, points: PointReader) =>
  Effect.runSync(Effect.match(parseXml(pieces, ["gpx"], KNOWN, points), {
    onSuccess: (root) => JSON.stringify(root, withoutBlanks),
    onFailure: ({ message }) => message
  }))

const isSame = (text: string, size: number) => {
  const pieces = Array.from(
    { length: Math.ceil(text.length / size) },
    (_, at) => text.slice(at * size, (at + 1) * size)
  )
  assert.strictEqual(outcomeOf(pieces, { ...POINTS, repeated: "trkpt" }), outcomeOf(pieces, POINTS), text)
}

const value = fc.constantFrom(
  "1",
  "2.5",
  "",
  " ",
  "\n",
  "a\r\nb",
  "&lt;",
  "&amp;",
  "&nope;",
  "it's",
  "say \"so\"",
  ">",
  "]]>",
  "ü",
  "--"
)

const point = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(value, value).map(([a, b]) => `<trkpt lat="47.${a}" lon="9.1"><ele>4${b}</ele></trkpt>`)
  },
  { weight: 3, arbitrary: value.map((a) => `<trkpt lat="1" lon="2">\n <time>${a}</time>\n</trkpt>\n`) },
  {
    weight: 3,
    arbitrary: value.map((a) =>
      `<trkpt lat="1" lon="2"><extensions><x:a>${a}</x:a><b><name>${a}</name></b></extensions></trkpt>\n`
    )
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "<trkpt lat='1' lon='2'><ele>3</ele></trkpt>",
      "<trkpt lat=\"1\" lon=\"2\"/>",
      "<!-- <trkpt lat=\"1\" lon=\"2\"><ele>3</ele></trkpt> -->",
      "<!-- =\"47\" <trkpt lat=\"1\" lon=\"2\"> -->",
      "<![CDATA[<trkpt lat=\"1\" lon=\"2\"><ele>3</ele></trkpt>]]>",
      "<![CDATA[",
      "]]></trkpt>",
      "<!--",
      "--></trkpt>",
      "<?p <trkpt lat=\"1\" lon=\"2\"><ele>3</ele></trkpt>?>",
      "<a b=\"<trkpt lat=\"1\" lon=\"2\"></trkpt>",
      "</trkseg><trkseg>",
      "<trkpt lat=\"1\" lat=\"2\"><ele>3</ele></trkpt>",
      "<trkpt lat=\"1\" lon=\"2\"><ele>3</time></trkpt>",
      "<trkpt lat=\"1\" lon=\"2\"><trkpt lat=\"3\" lon=\"4\"></trkpt></trkpt>",
      "<trkpt lat=\"1\" lon=\"2\"><name a=\"b\"/>text<name/></trkpt>",
      "text",
      "</gpx>"
    )
  }
)

describe("points of the same form", () => {
  it("are read as a parser reads each of them, and what is malformed among them is refused in the same line", () => {
    fc.assert(
      fc.property(fc.array(point, { maxLength: 12 }), fc.integer({ min: 1, max: 400 }), (points, size) => {
        const repeated = points.flatMap((text) => [text, text])
        isSame(`<gpx>\n<trk><trkseg>${repeated.join("")}</trkseg></trk></gpx>`, size)
        isSame(`<gpx><trk><trkseg>\n${points.join("\n")}</trkseg></trk></gpx>`, 1000)
      }),
      { numRuns: 100 }
    )
  })

  it("are refused with a declaration of entities, also where control characters would hide it", () => {
    for (const hidden of ["<!DOCTYPE gpx>", "<!DOC\u0001TYPE gpx>", "<!ENTITY a 'b'>"]) {
      for (const size of [1, 7, 1000]) {
        const text = `<gpx>${hidden}<trk/></gpx>`
        const pieces = Array.from({ length: text.length }, (_, at) => text.slice(at * size, (at + 1) * size))
        const exit = Effect.runSyncExit(parseXml(pieces, ["gpx"], KNOWN))
        assert.isTrue(
          Exit.isFailure(exit) && /Document types|invalid markup/.test(String(exit.cause)),
          `${hidden} ${size}`
        )
      }
    }
  })
})
