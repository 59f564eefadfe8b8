import { Effect } from "effect"
import { XMLParser, XMLValidator } from "fast-xml-parser"
import { ValidationFailed } from "../../../schema/Errors.ts"

/** An element by its local name; one out of another namespace than the root keeps its prefix. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly children: ReadonlyArray<XmlElement>
  readonly text: string
}

const MAX_MESSAGE = 200

const PREDEFINED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'" }

const isXmlCharacter = (code: number) =>
  code === 0x9 || code === 0xA || code === 0xD || (code >= 0x20 && code <= 0xD7FF) || (code >= 0xE000 && code <= 0xFFFD)
  || (code >= 0x10000 && code <= 0x10FFFF)

const character = (reference: string, code: number) => {
  if (!isXmlCharacter(code)) throw new SyntaxError(`${reference} is no character of XML`)
  return String.fromCodePoint(code)
}

const expanded = (reference: string, hex?: string, digits?: string, name?: string) => {
  if (hex !== undefined) return character(reference, Number.parseInt(hex, 16))
  if (digits !== undefined) return character(reference, Number(digits))
  const text = name === undefined ? undefined : PREDEFINED[name]
  if (text === undefined) throw new SyntaxError("only the five entities of XML itself are known")
  return text
}

/** The library's own decoder counts expansions and gives up at a thousand; without declarations there is nothing to count. */
const entityDecoder = {
  setExternalEntities: () => {},
  addInputEntities: () => {},
  reset: () => {},
  setXmlVersion: () => {},
  decode: (text: string) =>
    text.includes("&")
      ? text.replace(/&(?:#x([0-9a-fA-F]{1,10})|#(\d{1,10})|(amp|lt|gt|quot|apos));|&/g, expanded)
      : text
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: "",
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  trimValues: false,
  jPath: false,
  entityDecoder
})

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const nodesOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** The parser gives an element as `{ [name]: children, ":@": attributes }`, and text as `{ "#text": text }`. */
const nameOf = (node: Readonly<Record<string, unknown>>) => Object.keys(node).find((key) => key !== ":@")

const elementOf = (node: unknown, localName: (name: string) => string): XmlElement | undefined => {
  if (!isRecord(node)) return undefined
  const name = nameOf(node)
  if (name === undefined || name === "#text") return undefined
  const content = nodesOf(node[name])
  const attributes = node[":@"]
  return {
    name: localName(name),
    attributes: isRecord(attributes) ? attributes : {},
    children: content.map((child) => elementOf(child, localName)).filter((child) => child !== undefined),
    text: content.map((child) => isRecord(child) && typeof child["#text"] === "string" ? child["#text"] : "").join("")
  }
}

/** Takes off each prefix that the root binds to the root's own namespace. */
const localNames = (rootName: string, attributes: unknown) => {
  const declared = isRecord(attributes) ? attributes : {}
  const [prefix] = rootName.includes(":") ? rootName.split(":") : []
  const namespace = declared[prefix === undefined ? "xmlns" : `xmlns:${prefix}`]
  const prefixes = Object.keys(declared)
    .filter((name) => name.startsWith("xmlns:") && declared[name] === namespace)
    .map((name) => name.slice("xmlns:".length))
  const own = new Set(prefix === undefined ? prefixes : [...prefixes, prefix])
  return (name: string) => {
    const colon = name.indexOf(":")
    return colon > 0 && own.has(name.slice(0, colon)) ? name.slice(colon + 1) : name
  }
}

const rootOf = (nodes: ReadonlyArray<unknown>): XmlElement | undefined => {
  const [node, second] = nodes.filter((node) => isRecord(node) && nameOf(node) !== "#text")
  if (second !== undefined) throw new SyntaxError("there is more than one root")
  return isRecord(node) ? elementOf(node, localNames(nameOf(node) ?? "", node[":@"])) : undefined
}

const malformed = (message: string) => ValidationFailed.at("", `Malformed XML: ${message.slice(0, MAX_MESSAGE)}`)

const wellFormed = (text: string): Effect.Effect<string, ValidationFailed> => {
  const verdict = XMLValidator.validate(text)
  return verdict === true
    ? Effect.succeed(text)
    : Effect.fail(malformed(`line ${verdict.err.line}: ${verdict.err.msg}`))
}

/**
 * The root element of an XML text, which must have the given local name. Declarations of entities and document types are
 * refused before anything is parsed, so nothing in a file can expand into more than it is.
 */
export const parseXml = Effect.fnUntraced(function*(text: string, rootName: string) {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return yield* ValidationFailed.at("", "Entity declarations are refused")
  const sound = yield* wellFormed(text.trimStart())
  const root = yield* Effect.try({
    try: () => rootOf(nodesOf(parser.parse(sound))),
    catch: (cause) => malformed(cause instanceof Error ? cause.message : "it cannot be read")
  })
  if (root?.name !== rootName) {
    return yield* ValidationFailed.at("", `Expected <${rootName}>, not <${root?.name.slice(0, MAX_MESSAGE) ?? ""}>`)
  }
  return root
})
