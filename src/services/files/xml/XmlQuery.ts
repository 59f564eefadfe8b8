import type { Dropped } from "../Document.ts"
import type { XmlElement } from "./Xml.ts"

/** A name that is told to people is cut there. */
const MAX_NAME = 64

/** The children of an element, or of several, by name and in the order of the file. */
export const childrenOf = (
  parents: XmlElement | undefined | ReadonlyArray<XmlElement>,
  name: string
): ReadonlyArray<XmlElement> =>
  [parents ?? []].flat().flatMap(({ children }) => children.filter((child) => child.name === name))

/** The first child of that name. */
export const childOf = (parent: XmlElement | undefined, name: string): XmlElement | undefined =>
  parent?.children.find((child) => child.name === name)

/** The text of the first child of that name. */
export const textOf = (parent: XmlElement | undefined, name: string): string | undefined => childOf(parent, name)?.text

/** The value of an attribute. */
export const attributeOf = (element: XmlElement, name: string): string | undefined => {
  const value = element.attributes[name]
  return typeof value === "string" ? value : undefined
}

/** The elements at or below these, at any depth, by name and in the order of the file. */
export const descendantsOf = (parents: ReadonlyArray<XmlElement>, name: string): ReadonlyArray<XmlElement> =>
  parents.flatMap((parent) => parent.name === name ? [parent] : descendantsOf(parent.children, name))

/** Counts, by name, the children that are not among those a reader knows. */
export const unknownChildren = (
  parents: ReadonlyArray<XmlElement>,
  known: ReadonlySet<string>,
  why: string
): ReadonlyArray<Dropped> => {
  const counts = new Map<string, number>()
  for (const { children, name: parent } of parents) {
    for (const { name } of children) {
      if (known.has(name)) continue
      const what = `${name.slice(0, MAX_NAME)} of ${parent}`
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
  }
  return [...counts].map(([what, count]) => ({ what, why, count }))
}
