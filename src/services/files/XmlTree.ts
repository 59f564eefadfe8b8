import type { Xml } from "effect/encoding"
import type { Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"

/** Elements have their local name; one of another namespace than the root's keeps its prefix. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<XmlElement>
  readonly text: string
  readonly position: Position | undefined
  readonly time: string | undefined
}

export interface PointReader {
  readonly names: ReadonlySet<string>
  readonly read: (point: XmlElement) => XmlElement
}

export const MAX_MESSAGE = 200

export const malformed = (problem: string): string => `Malformed XML: ${problem.slice(0, MAX_MESSAGE)}`

/** A day with sensors has 14 elements for each of 86,400 points in TCX. */
const MAX_ELEMENTS = 1_250_000

/** Memory has at most this many elements; a point that was read leaves hardly any. */
const MAX_KEPT_ELEMENTS = 500_000

const TOO_LONG = `Expected at most ${MAX_KEPT_ELEMENTS} positions and other elements that are read`

const MAX_ATTRIBUTES = 128

/** Unknown elements of at most this many names share one each. */
const MAX_NAMES = 1000

/** These names are rejected, since other code indexes objects by names. */
const TRAP = "__proto__"

export const NOTHING: Readonly<Record<string, string>> = Object.freeze({})

const NO_CHILDREN: Array<XmlElement> = []

const NO_NAMES: ReadonlyArray<string> = []

/** Most elements have no attributes: they need no array. */
const namesOf = (attributes: Readonly<Record<string, string>>): ReadonlyArray<string> => {
  for (const _ in attributes) return Object.keys(attributes)
  return NO_NAMES
}

/** An element is mutable until its end tag: a file has hundreds of thousands. */
interface OpenElement {
  readonly name: string
  readonly isKnown: boolean
  readonly attributes: Readonly<Record<string, string>>
  children: Array<XmlElement>
  text: string
  readonly position: undefined
  readonly time: undefined
}

export const OWN_URI = "urn:route-planning-service:1"

/** The namespaces that are read are known by these prefixes, whatever a file calls them. */
const PREFIXES: ReadonlyMap<string | undefined, string> = new Map([
  ["http://www.garmin.com/xmlschemas/GpxExtensions/v3", "gpxx:"],
  ["http://www.google.com/kml/ext/2.2", "gx:"],
  [OWN_URI, "rps:"]
])

const DEFAULT = "xmlns"
const DECLARES = "xmlns:"

/** An element at `depth` gives a prefix another meaning than it had before. */
interface Rebinding {
  readonly depth: number
  readonly prefix: string
  readonly before: string | undefined
}

const countBelow = ({ children }: XmlElement): number => {
  let count = children.length
  for (const child of children) count += countBelow(child)
  return count
}

const newElement = (name: string, isKnown: boolean, attributes: OpenElement["attributes"]): OpenElement => ({
  name,
  isKnown,
  attributes,
  children: NO_CHILDREN,
  text: "",
  position: undefined,
  time: undefined
})

export const leafOf = (name: string): XmlElement => newElement(name, false, NOTHING)

/** Unknown elements of a name share one, so that a million of them take no more memory than their text. */
export class XmlTree {
  root: XmlElement | undefined
  readonly #known: ReadonlySet<string>
  readonly #points: PointReader | undefined
  readonly #open: Array<OpenElement> = []
  readonly #shared = new Map<string, OpenElement>()
  /** A declared prefix has one of `PREFIXES` here, or none in the root's namespace. The default prefix is empty. */
  readonly #meanings = new Map<string, string>()
  readonly #rebindings: Array<Rebinding> = []
  #namespace: string | undefined
  #count = 0
  #kept = 0

  constructor(known: ReadonlySet<string>, points?: PointReader) {
    this.#known = known
    this.#points = points
  }

  take(events: ReadonlyArray<Xml.Event>): string | undefined {
    for (const event of events) {
      const problem = this.#takeOne(event)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #takeOne(event: Xml.Event): string | undefined {
    switch (event._tag) {
      case "StartElement":
        return this.#start(event)
      case "EndElement":
        return this.#end()
      case "Text":
        return this.#addText(event.text)
      // The parser skips declarations of entities, and refuses what refers to one.
      case "Doctype":
        return malformed("document types and entity declarations are not accepted")
      default:
        return undefined
    }
  }

  #start({ attributes, name }: Xml.StartElement): string | undefined {
    this.#count++
    if (this.#count > MAX_ELEMENTS) return `Expected at most ${MAX_ELEMENTS} elements in all`
    if (name === TRAP) return malformed(`no element has the name ${TRAP}`)
    const names = namesOf(attributes)
    if (names.length > MAX_ATTRIBUTES) return malformed(`an element has more than ${MAX_ATTRIBUTES} attributes`)
    if (this.#count === 1) this.#beginRoot(name, attributes)
    for (const attribute of names) {
      if (attribute === DEFAULT) this.#declare("", attributes[attribute])
      if (attribute.startsWith(DECLARES)) this.#declare(attribute.slice(DECLARES.length), attributes[attribute])
    }
    const shared = this.#sharedOf(name)
    this.#open.push(shared.isKnown ? newElement(shared.name, true, this.#keptOf(attributes, names)) : shared)
    return undefined
  }

  #beginRoot(name: string, attributes: Readonly<Record<string, string>>): void {
    const prefix = name.slice(0, Math.max(0, name.indexOf(":")))
    this.#namespace = attributes[prefix === "" ? DEFAULT : `${DECLARES}${prefix}`]
    if (prefix !== "") this.#meanings.set(prefix, "")
  }

  #declare(prefix: string, namespace: string | undefined): void {
    const meaning = prefix !== "" && namespace === this.#namespace ? "" : PREFIXES.get(namespace)
    const before = this.#meanings.get(prefix)
    if (meaning === before) return
    this.#rebindings.push({ depth: this.#open.length, prefix, before })
    this.#bind(prefix, meaning)
  }

  #bind(prefix: string, meaning: string | undefined): void {
    if (meaning === undefined) this.#meanings.delete(prefix)
    else this.#meanings.set(prefix, meaning)
    this.#shared.clear()
  }

  #sharedOf(name: string): OpenElement {
    const shared = this.#shared.get(name)
    if (shared !== undefined) return shared
    const colon = name.indexOf(":")
    const meaning = this.#meanings.get(name.slice(0, Math.max(0, colon)))
    const local = meaning === undefined ? name : `${meaning}${name.slice(colon + 1)}`
    const made = newElement(local, this.#known.has(local), NOTHING)
    if (this.#shared.size < MAX_NAMES) this.#shared.set(name, made)
    return made
  }

  #keptOf(attributes: Readonly<Record<string, string>>, names: ReadonlyArray<string>): OpenElement["attributes"] {
    if (names.length === 0) return NOTHING
    if (names.every((name) => this.#known.has(name))) return attributes
    const known = names.filter((name) => this.#known.has(name))
    return Object.fromEntries(known.map((name) => [name, attributes[name] ?? ""]))
  }

  #end(): string | undefined {
    const element = this.#open.pop()
    if (element === undefined) return undefined
    this.#unbind()
    const parent = this.#open.at(-1)
    const closed = element.isKnown ? this.#closed(element) : element
    if (parent === undefined) this.root = closed
    else if (parent.isKnown || element.isKnown || closed.children.length > 0) this.#adopt(parent, closed)
    return this.#kept > MAX_KEPT_ELEMENTS ? TOO_LONG : undefined
  }

  #unbind(): void {
    for (let last = this.#rebindings.at(-1); last?.depth === this.#open.length; last = this.#rebindings.at(-1)) {
      this.#rebindings.pop()
      this.#bind(last.prefix, last.before)
    }
  }

  #adopt(parent: OpenElement, child: XmlElement): void {
    this.#kept++
    if (parent.children !== NO_CHILDREN) parent.children.push(child)
    else if (parent.isKnown) parent.children = [child]
    else this.#open[this.#open.length - 1] = { ...parent, children: [child] }
  }

  #closed(element: OpenElement): XmlElement {
    if (element.text !== "" && element.children.length > 0 && element.text.trim() === "") element.text = ""
    return this.#points?.names.has(element.name) === true ? this.#read(this.#points, element) : element
  }

  #read(points: PointReader, element: XmlElement): XmlElement {
    const read = points.read(element)
    this.#kept -= countBelow(element) - countBelow(read)
    return read
  }

  #addText(text: string): undefined {
    const element = this.#open.at(-1)
    if (element?.isKnown === true) element.text += text
    return undefined
  }
}

const MAX_NAME = 64

/** Further names are counted together, as a name that no element can have. */
const MAX_LISTED_NAMES = 100
const OTHERS = "other elements"

export const childrenOf = (
  parents: XmlElement | undefined | ReadonlyArray<XmlElement>,
  name: string
): ReadonlyArray<XmlElement> => {
  const found: Array<XmlElement> = []
  for (const { children } of [parents ?? []].flat()) {
    for (const child of children) {
      if (child.name === name) found.push(child)
    }
  }
  return found
}

export const childOf = (parent: XmlElement | undefined, name: string): XmlElement | undefined => {
  if (parent === undefined) return undefined
  for (const child of parent.children) {
    if (child.name === name) return child
  }
  return undefined
}

export const textOf = (parent: XmlElement | undefined, name: string): string | undefined => childOf(parent, name)?.text

export const attributeOf = (element: XmlElement, name: string): string | undefined => element.attributes[name]

export const descendantsOf = (parents: ReadonlyArray<XmlElement>, name: string): ReadonlyArray<XmlElement> =>
  parents.flatMap((parent) => parent.name === name ? [parent] : descendantsOf(parent.children, name))

export const unknownChildren = (
  parents: ReadonlyArray<XmlElement>,
  known: ReadonlySet<string>,
  why: string
): ReadonlyArray<Dropped> => {
  const counts = new Map<string, number>()
  const parent = parents[0]?.name ?? ""
  for (const { children } of parents) {
    for (const { name } of children) {
      if (known.has(name)) continue
      const given = name.slice(0, MAX_NAME)
      const what = counts.has(given) || counts.size < MAX_LISTED_NAMES ? given : OTHERS
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
  }
  return [...counts].map(([what, count]) => ({ what: `${what} of ${parent}`, why, count }))
}
