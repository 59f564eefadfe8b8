import type { Dropped } from "../../../schema/Import.ts"
import type { XmlElement } from "./XmlTree.ts"

const MAX_NAME = 64

/** Further names are counted together, as a name that no element can have. */
const MAX_NAMES = 100
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
      const what = counts.has(given) || counts.size < MAX_NAMES ? given : OTHERS
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
  }
  return [...counts].map(([what, count]) => ({ what: `${what} of ${parent}`, why, count }))
}
