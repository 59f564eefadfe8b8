import type { Dropped } from "../../../schema/Import.ts"
import type { XmlElement } from "./XmlTree.ts"

/** A name that is told to people is cut there. */
const MAX_NAME = 64

/** Elements of more names than these are counted together. No element has the name of the rest. */
const MAX_NAMES = 100
const OTHERS = "other elements"

/** The children of an element, or of several, by name and in the order of the file. */
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

/** The first child of that name. */
export const childOf = (parent: XmlElement | undefined, name: string): XmlElement | undefined => {
  if (parent === undefined) return undefined
  for (const child of parent.children) {
    if (child.name === name) return child
  }
  return undefined
}

/** The text of the first child of that name. */
export const textOf = (parent: XmlElement | undefined, name: string): string | undefined => childOf(parent, name)?.text

/** The value of an attribute. */
export const attributeOf = (element: XmlElement, name: string): string | undefined => element.attributes[name]

/** The elements at or below these, at any depth, by name and in the order of the file. */
export const descendantsOf = (parents: ReadonlyArray<XmlElement>, name: string): ReadonlyArray<XmlElement> =>
  parents.flatMap((parent) => parent.name === name ? [parent] : descendantsOf(parent.children, name))

/** Counts, by name, the children that are not among those a reader knows. The parents are of one name. */
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
      const what = counts.has(given) || counts.size < MAX_NAMES ? given : OTHERS
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
  }
  return [...counts].map(([what, count]) => ({ what: `${what} of ${parent}`, why, count }))
}
