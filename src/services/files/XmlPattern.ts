import { RegExp } from "effect"
import type { Xml } from "effect/encoding"

type Events = ReadonlyArray<Xml.Event>

/** Elements that differ from one that was parsed only in the values of attributes and in texts. */
export interface XmlPattern {
  readonly source: string
  /** Returns what a parser makes of the element at `at`, without blank texts, and where the next begins. */
  readonly read: (text: string, at: number) => { readonly events: Events; readonly end: number } | undefined
}

const LONGEST = 2048

/** Comments, sections and other quotes have text that is no value. */
const OTHER_MARKUP = /[!?']/

const VALUES = /="([^"<&>]*)"|>([^"<&>]*)(?=<)/g

const OPENED = /<[^/<>](?:[^<>]*[^/<>])?>$/

/** A parser replaces references and line ends. */
const VALUE = String.raw`([^"<&>\t\r\n]*)`

const isBlank = (text: string) => text.trim() === ""

const partsOf = (sample: string) => {
  const values: Array<string> = []
  let source = ""
  let from = 0
  for (const { 0: { length: all }, 1: attribute, 2: text = "", index } of sample.matchAll(VALUES)) {
    const value = attribute ?? text
    const start = index + (attribute === undefined ? all - text.length : all - 1 - attribute.length)
    const isLeaf = OPENED.test(sample.slice(0, start)) && sample.startsWith("</", start + value.length)
    const isGap = attribute === undefined && !isLeaf && isBlank(value)
    source += RegExp.escape(sample.slice(from, start))
    if (isGap) source += String.raw`\s*`
    else if (attribute !== undefined || value !== "") {
      source += VALUE
      values.push(value)
    }
    from = start + value.length
  }
  return { values, source: String.raw`\s*${source}${RegExp.escape(sample.slice(from))}\s*` }
}

type Step = (match: RegExpExecArray) => Xml.Event

const stepsOf = (events: Events) => {
  const values: Array<string> = []
  const steps: Array<Step> = []
  for (const event of events) {
    const at = values.length + 1
    if (event._tag === "Text") {
      if (isBlank(event.text)) continue
      values.push(event.text)
      steps.push((match) => ({ _tag: "Text", text: match[at] ?? "" }))
      continue
    }
    const names = event._tag === "StartElement" ? Object.keys(event.attributes) : []
    if (event._tag !== "StartElement" || names.length === 0) {
      steps.push(() => event)
      continue
    }
    values.push(...Object.values(event.attributes))
    const { name } = event
    steps.push((match) => {
      const attributes: Record<string, string> = {}
      for (const [index, attribute] of names.entries()) attributes[attribute] = match[at + index] ?? ""
      return { _tag: "StartElement", name, attributes }
    })
  }
  return { steps, values }
}

/** Every element ends that begins, and no other. */
const areBalanced = (events: Events) => {
  let depth = 0
  for (const { _tag } of events) {
    if (_tag === "StartElement") depth++
    if (_tag === "EndElement" && --depth < 0) return false
  }
  return depth === 0
}

/** Returns the pattern of an element if the parser made these events of exactly this text. */
export const patternOf = (sample: string, events: Events): XmlPattern | undefined => {
  if (sample.length > LONGEST || OTHER_MARKUP.test(sample)) return undefined
  const { source, values } = partsOf(sample)
  const { steps, values: parsed } = stepsOf(events)
  const isWhole = areBalanced(events) && values.length > 0 && values.length === parsed.length
    && values.every((value, index) => value === parsed[index])
  if (!isWhole) return undefined
  const text = new globalThis.RegExp(source, "y")
  return {
    source,
    read: (given, at) => {
      text.lastIndex = at
      const match = text.exec(given)
      return match === null ? undefined : { events: steps.map((step) => step(match)), end: text.lastIndex }
    }
  }
}
