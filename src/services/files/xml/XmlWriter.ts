import { XMLBuilder } from "fast-xml-parser"

/** What an element holds: text, elements by name (`@name` is an attribute), or several of one name. */
type XmlContent = string | undefined | XmlParts | ReadonlyArray<XmlContent>
export interface XmlParts {
  readonly [name: string]: XmlContent
}

export const XML_DECLARATION = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

/** The namespace of what only this service reads, and the declaration of its prefix. */
export const OWN_NAMESPACE = "xmlns:rps=\"urn:route-planning-service:1\""

/** The text without what XML 1.0 cannot carry, not even as a reference (XML 1.0, 2.2). */
export const carried = (text: string): string =>
  text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "")

const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  suppressBooleanAttributes: false,
  tagValueProcessor: (_name, value) => carried(String(value))
})

/** The elements as XML text. A carriage return is written as a reference: as itself it would be read as a line feed. */
export const xmlOf = (parts: XmlParts): string => builder.build(parts).replaceAll("\r", "&#13;")
