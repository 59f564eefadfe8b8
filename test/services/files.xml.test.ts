import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { parseXml, piecesOfBytes, xmlOf } from "../../src/services/files/Xml.ts"
import {
  childrenOf,
  descendantsOf,
  leafOf,
  unknownChildren,
  type XmlElement,
  XmlTree
} from "../../src/services/files/XmlTree.ts"

const KNOWN = new Set(["gpx", "name", "a"])

const parsed = (...pieces: ReadonlyArray<string>) => Effect.runSync(Effect.result(parseXml(pieces, ["gpx"], KNOWN)))

const rootOf = (text: string) => {
  const result = parsed(text)
  return Result.isSuccess(result) ? result.success : assert.fail(result.failure.message)
}

const problemOf = (...pieces: ReadonlyArray<string>) => {
  const result = parsed(...pieces)
  return Result.isFailure(result) ? result.failure.message : "none"
}

const LONG_TAG = "Malformed XML: a tag has more than 65536 characters"

const LONG = "-x".repeat(35_000)

/** Returns a root of so many characters, with a quoted text that begins so. */
const rootOfLength = (length: number, quote: string, start = "") => {
  const tag = `<gpx a=${quote}${start}`
  const end = `${quote}/>`
  return `${tag}${"x".repeat(length - tag.length - end.length)}${end}`
}

/** Cuts a text in each of several ways. */
const cutsOf = (text: string) => {
  const places = [6, 7, 8, 9, 11, 12, 13, 15, 16, -3, -7, -8].map((place) => text.slice(0, place).length)
  const everyTime = (length: number) =>
    Array.from({ length: Math.ceil(text.length / length) }, (_, n) => text.slice(n * length, (n + 1) * length))
  return [[text], ...places.map((place) => [text.slice(0, place), text.slice(place)]), everyTime(30_000)]
}

describe("a document of XML", () => {
  it("has tags of at most 65,536 characters, wherever its pieces end", () => {
    const documents: ReadonlyArray<readonly [text: string, problem: string]> = [
      [rootOfLength(65_536, "\""), "none"],
      [rootOfLength(65_536, "'", "> \" >"), "none"],
      [rootOfLength(65_537, "\""), LONG_TAG],
      [rootOfLength(65_537, "'", "> \" >"), LONG_TAG],
      [`<gpx>${LONG}</gpx>`, "none"],
      [`<gpx>${LONG}<name/><a b="c"></a></gpx>`, "none"],
      [`<gpx><!--< ' ${LONG}--></gpx>`, "none"],
      [`<gpx><!--${LONG}--><!--${LONG}--></gpx>`, "none"],
      [`<gpx><!--x<'-->${LONG}</gpx>`, "none"],
      [`<gpx><![CDATA[<a '${LONG}]]></gpx>`, "none"],
      [`<gpx><?p < "${LONG}?></gpx>`, "none"],
      [`<gpx>${LONG}<a b="${LONG}"/></gpx>`, LONG_TAG],
      [`<gpx><!--x--><a b="${LONG}"/></gpx>`, LONG_TAG],
      [`<gpx><![CDATA[]]><a b="${LONG}"/></gpx>`, LONG_TAG],
      [`<gpx><?p?><a b="${LONG}" c='>'/></gpx>`, LONG_TAG]
    ]
    for (const [text, problem] of documents) {
      for (const pieces of cutsOf(text)) {
        assert.strictEqual(problemOf(...pieces), problem, `${text.slice(0, 30)} ${pieces.map(({ length }) => length)}`)
      }
    }
  })

  it("is refused with a message of 200 characters, that names the line and the expected root", () => {
    const name = "n".repeat(300)
    assert.strictEqual(problemOf(`<${name}/>`), `Expected <gpx>, not <${"n".repeat(200)}>`)
    assert.match(problemOf(""), /^Malformed XML: line 1: /)
    assert.strictEqual(problemOf(`<gpx>\n</${name}>`).length, "Malformed XML: ".length + 200)
    assert.match(problemOf("<gpx>\n</a>"), /^Malformed XML: line 2: /)
  })

  it("has at most 256 levels, 128 attributes of an element, and 8 MiB of one text", () => {
    const nested = (depth: number) => `<gpx>${"<a>".repeat(depth - 1)}${"</a>".repeat(depth - 1)}</gpx>`
    assert.strictEqual(problemOf(nested(256)), "none")
    assert.match(problemOf(nested(257)), /^Expected at most 256 levels.*nesting/)
    const attributes = (count: number) => `<gpx ${Array.from({ length: count }, (_, n) => `a${n}=""`).join(" ")}/>`
    assert.strictEqual(problemOf(attributes(128)), "none")
    assert.strictEqual(problemOf(attributes(129)), "Malformed XML: an element has more than 128 attributes")
    const most = 8 * 1024 * 1024
    assert.strictEqual(problemOf("<gpx>", "x".repeat(most), "</gpx>"), "none")
    assert.match(
      problemOf("<gpx>", "x".repeat(most + 1), "</gpx>"),
      /^Expected at most .* 8388608 characters in one text/
    )
  })

  it("has the text of its elements without the white space between them, and known ones at any depth", () => {
    assert.deepInclude(rootOf("<gpx> <name> a </name>\n</gpx>"), { text: "" })
    assert.deepInclude(rootOf("<gpx> <name/> <name/> </gpx>"), { text: "" })
    assert.deepInclude(rootOf("<gpx> x <name/></gpx>"), { text: " x " })
    assert.deepInclude(rootOf("<gpx> </gpx>"), { text: " " })
    const nested = rootOf("<gpx><x><y><z><name>deep</name></z></y></x><x><name>flat</name><y/></x></gpx>")
    assert.deepStrictEqual(descendantsOf([nested], "name").map(({ text }) => text), ["deep", "flat"])
    assert.lengthOf(childrenOf(nested, "x"), 2)
    assert.deepStrictEqual(childrenOf(nested, "x")[1]?.children.map(({ name }) => name), ["name"])
  })

  it("may have a prefix that it does not declare", () => {
    const root = rootOf("<g:gpx><g:name>a</g:name></g:gpx>")
    assert.deepStrictEqual(root.children.map(({ name, text }) => [name, text]), [["name", "a"]])
  })
})

describe("the elements of a document", () => {
  const START = (name: string) => ({ _tag: "StartElement" as const, name, attributes: {} })
  const TOO_LONG = "Expected at most 500000 positions and other elements that are read"
  const END = (name: string) => ({ _tag: "EndElement" as const, name })

  /** Takes the events so many times, and returns the first problem. */
  const repeated = (tree: XmlTree, events: Parameters<XmlTree["take"]>[0], count: number) => {
    for (let n = 0; n < count; n++) {
      const problem = tree.take(events)
      if (problem !== undefined) return `${n}: ${problem}`
    }
    return undefined
  }

  it("are 1,250,000 at most, of which 500,000 stay in memory", () => {
    const [many, kept] = [new XmlTree(KNOWN), new XmlTree(KNOWN)]
    many.take([START("gpx"), START("x")])
    assert.isUndefined(repeated(many, [START("y"), END("y")], 1_249_998))
    assert.strictEqual(many.take([START("y")]), "Expected at most 1250000 elements in all")
    kept.take([START("gpx")])
    assert.isUndefined(repeated(kept, [START("y"), END("y")], 500_000))
    assert.strictEqual(kept.take([START("y"), END("y")]), TOO_LONG)
  })

  it("of points count as far as their reader keeps them", () => {
    const names = new Set(["a"])
    const point = [START("a"), START("name"), END("name"), END("a")]
    const treeOf = (read: (point: XmlElement) => XmlElement) => {
      const tree = new XmlTree(KNOWN, { names, read })
      tree.take([START("gpx")])
      return tree
    }
    const whole = treeOf((element) => element)
    assert.isUndefined(repeated(whole, point, 250_000))
    assert.strictEqual(whole.take(point), TOO_LONG)
    assert.isUndefined(repeated(treeOf(() => leafOf("a")), point, 250_001))
  })

  it("that are not read are counted by the first 64 characters of 100 names, and the rest together", () => {
    const long = "l".repeat(70)
    const names = ["name", long, ...Array.from({ length: 150 }, (_, n) => `x${n}`), long, "x1"]
    const parent = { ...leafOf("gpx"), children: names.map(leafOf) }
    const dropped = unknownChildren([parent], KNOWN, "because")
    assert.lengthOf(dropped, 101)
    assert.deepStrictEqual(dropped.slice(0, 3), [
      { what: `${"l".repeat(64)} of gpx`, why: "because", count: 2 },
      { what: "x0 of gpx", why: "because", count: 1 },
      { what: "x1 of gpx", why: "because", count: 2 }
    ])
    assert.deepStrictEqual(dropped.at(-1), { what: "other elements of gpx", why: "because", count: 51 })
    assert.deepStrictEqual(unknownChildren([], KNOWN, "because"), [])
  })
})

describe("the bytes of a document", () => {
  const textOf = (bytes: Uint8Array, encoding: string) => [...piecesOfBytes(bytes, encoding)].join("")

  it("are decoded in pieces that end within no character, without the mark of their order", () => {
    const text = `a${"🚲".repeat(40_000)}\ufeff`
    assert.strictEqual(textOf(Buffer.from(text), "utf-8"), text)
    assert.strictEqual(textOf(Buffer.from(`\ufeff${text}`), "utf-8"), text)
    assert.strictEqual(textOf(Buffer.from(text, "utf16le"), "utf-16le"), text)
    assert.strictEqual(textOf(Buffer.from(`ab${text}`, "utf16le").subarray(2), "utf-16le"), `b${text}`)
    assert.strictEqual(textOf(Buffer.from("x".repeat(65_536)), "utf-8").length, 65_536)
    for (const [bytes, encoding] of [[[0xff], "utf-8"], [[0x00, 0xd8], "utf-16le"], [[0x61], "utf-16le"]] as const) {
      assert.throws(() => piecesOfBytes(Uint8Array.from(bytes), encoding), TypeError)
    }
  })
})

describe("written XML", () => {
  it("has what XML can carry, with references for the rest, and attributes in their element", () => {
    const parts = { gpx: { "@a": "\"<>'&", "@b": undefined, "@c": { x: "y" }, name: ["a\rb\u0001", undefined], x: {} } }
    assert.strictEqual(
      xmlOf(parts),
      "<gpx a=\"&quot;&lt;&gt;&apos;&amp;\"><name>a&#13;b</name><x></x></gpx>"
    )
    assert.strictEqual(xmlOf({ name: "\u{10000}\u0001\ud800 \u{10ffff}" }), "<name>\u{10000} \u{10ffff}</name>")
    assert.strictEqual(xmlOf({ name: "\ud800" }), "<name></name>")
    assert.strictEqual(xmlOf({ name: "\u{10000}" }), "<name>\u{10000}</name>")
  })
})
