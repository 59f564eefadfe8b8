export const MAX_TAG = 65_536

const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27
const EXCLAMATION_MARK = 0x21
const QUESTION_MARK = 0x3f
const GREATER_THAN = 0x3e

const OTHERS = [["<!--", "-->"], ["<![CDATA[", "]]>"], ["<?", "?>"]] as const

const endOfTag = (text: string, start: number): number => {
  const limit = Math.min(text.length, start + MAX_TAG)
  let quote = 0
  for (let index = start + 1; index < limit; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) quote = 0
    else if (quote === 0 && code === GREATER_THAN) return index
    else if (quote === 0 && (code === DOUBLE_QUOTE || code === SINGLE_QUOTE)) quote = code
  }
  return limit === text.length ? limit : -1
}

const endAt = (text: string, start: number): number => {
  const code = text.charCodeAt(start + 1)
  const other = code === EXCLAMATION_MARK || code === QUESTION_MARK
    ? OTHERS.find(([opening]) => text.startsWith(opening, start))
    : undefined
  if (other !== undefined) {
    const end = text.indexOf(other[1], start + other[0].length)
    return end === -1 ? text.length : end
  }
  // A parser rejects `<` within a tag (XML 1.0, 2.3), and the next tag is usually near.
  const next = text.indexOf("<", start + 1)
  const isNear = (next === -1 ? text.length : next) - start <= MAX_TAG
  return isNear ? start + 1 : endOfTag(text, start)
}

/** A parser reads a tag as a whole: 800,000 attributes take a second and 100 MiB before they can be counted. */
export const hasLongTag = (text: string): boolean => {
  for (let start = text.indexOf("<"); start !== -1;) {
    const end = endAt(text, start)
    if (end === -1) return true
    start = text.indexOf("<", end)
  }
  return false
}
