import { type Html, html } from "../html/Html.ts"

/** PNGs are drawn with the first. */
const FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"

export const FONT_SIZE = 11

/** The average of digits and lowercase letters in the widest of the fonts. */
const CHARACTER_WIDTH = 0.63 * FONT_SIZE

export const widthOf = (text: string): number => text.length * CHARACTER_WIDTH

interface Label {
  readonly x: number
  readonly y: number
  readonly anchor: "start" | "middle" | "end"
  readonly colour: string
}

export const label = (text: string, { anchor, colour, x, y }: Label): Html =>
  html`<text x="${round(x)}" y="${
    round(y)
  }" fill="${colour}" font-family="${FONTS}" font-size="${FONT_SIZE}" text-anchor="${anchor}">${text}</text>`

export const round = (value: number): number => Math.round(value * 10) / 10

const grouped = (value: number, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: digits })

export const metres = (value: number): string => `${grouped(Math.round(value))} m`

export const distance = (value: number): string =>
  value < 1000 ? metres(value) : `${grouped(value / 1000, value < 100_000 ? 1 : 0)} km`

/** The largest of 1, 2 and 5 times a power of ten that is at most `limit`. */
export const roundLength = (limit: number): number => {
  const power = 10 ** Math.floor(Math.log10(limit))
  return [5, 2, 1].map((factor) => factor * power).find((length) => length <= limit) ?? power
}
