/** A colour and the one that replaces it on a dark page. */
export interface SiteColor {
  readonly light: string
  readonly dark: string
}

/** The lightest and the darkest ground that text of the colour stands on, as in the style sheet of the pages. */
const GROUNDS = { light: "#eef5fc", dark: "#1d2733" } as const

/** WCAG 2.2, 1.4.3. */
const CONTRAST = 4.5

const partsOf = (color: string) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))

/** WCAG 2.2, "relative luminance". */
const luminanceOf = (color: string) => {
  const [red = 0, green = 0, blue = 0] = partsOf(color).map((part) => {
    const value = part / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const contrastOf = (one: string, other: string) => {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

const mixedWithWhite = (color: string, share: number) =>
  `#${partsOf(color).map((part) => Math.round(part + (255 - part) * share).toString(16).padStart(2, "0")).join("")}`

const SHARES = Array.from({ length: 21 }, (_, index) => index / 20)

/** The least light variant that can be read on a dark page. */
const darkOf = (color: string) =>
  SHARES.map((share) => mixedWithWhite(color, share)).find((mixed) => contrastOf(mixed, GROUNDS.dark) >= CONTRAST)
    ?? "#ffffff"

/** Returns the problem of a colour: undefined for one that can be read on a light page, and white text on it. */
export const colorProblem = (text: string): string | undefined => {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return "Expected a colour as in #0b5cad"
  const contrast = contrastOf(text, GROUNDS.light)
  return contrast >= CONTRAST
    ? undefined
    : `Expected a darker colour: its contrast with a light page is ${(Math.floor(contrast * 10) / 10).toFixed(1)}, `
      + `and ${CONTRAST} or more can be read (WCAG 2.2, 1.4.3)`
}

export const colorFrom = (light: string): SiteColor => ({ light: light.toLowerCase(), dark: darkOf(light) })
