import type { Xml } from "effect/encoding"

/** An element by its local name; one out of another namespace than the root keeps its prefix. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<XmlElement>
  readonly text: string
}

/** A file of 8 MiB has as many where each takes 16 characters, its end included: one with text takes more. */
const MAX_ELEMENTS = 500_000

const MAX_ATTRIBUTES = 128

/** Elements of no use are one object for each name, as long as the names are few. */
const MAX_LEAVES = 1000

/** Refused by name, before a program that indexes objects by names meets it. */
const TRAP = "__proto__"

const NOTHING: Readonly<Record<string, string>> = Object.freeze({})

const NOBODY: ReadonlyArray<never> = Object.freeze([])

/** An element whose end was not read yet. */
interface OpenElement {
  readonly name: string
  readonly isKnown: boolean
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Array<XmlElement>
  text: string
}

/** Takes off each prefix that the root binds to the root's own namespace. */
const localNames = (rootName: string, declared: Readonly<Record<string, string>>) => {
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

/**
 * The elements of a file as they are read. Of an element that is not known only its name is kept, and what is known in it,
 * so that a file of a million elements of no use takes no more memory than its text.
 */
export class XmlTree {
  root: XmlElement | undefined
  readonly #known: ReadonlySet<string>
  readonly #open: Array<OpenElement> = []
  readonly #leaves = new Map<string, XmlElement>()
  #localName = (name: string) => name
  #count = 0

  constructor(known: ReadonlySet<string>) {
    this.#known = known
  }

  /** Adds what was read. Returns what is wrong with it, if it goes beyond the bounds. */
  take(events: ReadonlyArray<Xml.Event>): string | undefined {
    for (const event of events) {
      const complaint = this.#takeOne(event)
      if (complaint !== undefined) return complaint
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
      default:
        return undefined
    }
  }

  #start({ attributes, name }: Xml.StartElement): string | undefined {
    this.#count++
    if (this.#count > MAX_ELEMENTS) return `there are more than ${MAX_ELEMENTS} elements`
    if (name === TRAP) return `no element has the name ${TRAP}`
    if (this.#count === 1) this.#localName = localNames(name, attributes)
    const local = this.#localName(name)
    const isKnown = this.#known.has(local)
    const kept = this.#keptOf(attributes)
    if (kept === undefined) return `an element has more than ${MAX_ATTRIBUTES} attributes`
    this.#open.push({ name: local, isKnown, attributes: isKnown ? kept : NOTHING, children: [], text: "" })
    return undefined
  }

  #keptOf(attributes: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
    const kept: Record<string, string> = {}
    let count = 0
    let isEmpty = true
    for (const name in attributes) {
      count++
      if (count > MAX_ATTRIBUTES) return undefined
      const value = attributes[name]
      if (value === undefined || !this.#known.has(name)) continue
      kept[name] = value
      isEmpty = false
    }
    return isEmpty ? NOTHING : kept
  }

  #end(): undefined {
    const element = this.#open.pop()
    if (element === undefined) return undefined
    const parent = this.#open.at(-1)
    const closed = this.#closed(element, parent === undefined)
    if (parent === undefined) this.root = closed
    else if (parent.isKnown || closed.children.length > 0 || element.isKnown) parent.children.push(closed)
    return undefined
  }

  #closed({ attributes, children, isKnown, name, text }: OpenElement, isRoot: boolean): XmlElement {
    if (!isKnown && !isRoot && children.length === 0) return this.#leaf(name)
    return {
      name,
      attributes,
      children: children.length === 0 ? NOBODY : children,
      // Between elements there is nothing but white space.
      text: children.length > 0 && text.trim() === "" ? "" : text
    }
  }

  #leaf(name: string): XmlElement {
    const known = this.#leaves.get(name)
    if (known !== undefined) return known
    const leaf = { name, attributes: NOTHING, children: NOBODY, text: "" }
    if (this.#leaves.size < MAX_LEAVES) this.#leaves.set(name, leaf)
    return leaf
  }

  #addText(text: string): undefined {
    const element = this.#open.at(-1)
    if (element?.isKnown === true) element.text += text
    return undefined
  }
}
