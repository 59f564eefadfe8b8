import { carried } from "./Xml.ts"
import { OWN_URI } from "./XmlTree.ts"

/** Text, elements by name (`@name` is an attribute), or several elements of one name. */
type XmlContent = string | undefined | XmlParts | ReadonlyArray<XmlContent>
export interface XmlParts {
  readonly [name: string]: XmlContent
}

export const XML_DECLARATION = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

export const OWN_NAMESPACE = `xmlns:rps="${OWN_URI}"`

const REFERENCES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&apos;",
  // An unescaped carriage return would be read as a line feed.
  "\r": "&#13;"
}

const escaped = (text: string) => carried(text).replace(/[&<>"'\r]/g, (character) => REFERENCES[character] ?? character)

const ATTRIBUTE = "@"

const elementOf = (name: string, content: XmlContent): string => {
  if (content === undefined) return ""
  if (typeof content === "string") return `<${name}>${escaped(content)}</${name}>`
  if (isList(content)) return content.map((item) => elementOf(name, item)).join("")
  const attributes = Object.entries(content).map(([key, value]) =>
    key.startsWith(ATTRIBUTE) && typeof value === "string" ? ` ${key.slice(ATTRIBUTE.length)}="${escaped(value)}"` : ""
  )
  return `<${name}${attributes.join("")}>${xmlOf(content)}</${name}>`
}

const isList = (content: XmlContent): content is ReadonlyArray<XmlContent> => Array.isArray(content)

export const xmlOf = (parts: XmlParts): string =>
  Object.entries(parts).map(([name, content]) => name.startsWith(ATTRIBUTE) ? "" : elementOf(name, content)).join("")
