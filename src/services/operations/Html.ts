import { withoutFormat } from "../../schema/Text.ts"

export interface Html {
  readonly html: string
}

type Part = Html | ReadonlyArray<Html> | string | number | undefined

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;"
}

const escape = (text: string) => withoutFormat(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "")

const isList = (part: object): part is ReadonlyArray<Html> => Array.isArray(part)

const render = (part: Part): string => {
  if (part === undefined) return ""
  if (typeof part !== "object") return escape(String(part))
  return isList(part) ? part.map(({ html }) => html).join("") : part.html
}

/** Escapes values for elements and quoted attributes, except `Html`, and removes format characters. */
export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html => ({
  html: strings.map((text, index) => `${text}${render(parts[index])}`).join("")
})
