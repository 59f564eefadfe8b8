interface Heading {
  readonly level: number
  readonly text: string
  /** A link to the heading has this after `#`, as GitHub makes it. */
  readonly anchor: string
}

/** Blocks of code have brackets that are no links, and `#` that are no headings. */
export const withoutCode = (document: string): string => document.replaceAll(/^```[^]*?^```$/gm, "")

const slugOf = (text: string) =>
  text.replaceAll(/\]\([^)]*\)/g, "").toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-")

export const headingsOf = (document: string): ReadonlyArray<Heading> => {
  const seen = new Map<string, number>()
  return [...withoutCode(document).matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks = "", text = ""]) => {
    const slug = slugOf(text)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return { level: marks.length, text, anchor: count === 0 ? slug : `${slug}-${count}` }
  })
}
