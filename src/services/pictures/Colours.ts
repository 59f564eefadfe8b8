import type { PictureOptions } from "../../schema/Picture.ts"

/** The colours of the pages (`pages.css`); `line` has a contrast of 3:1 or more with `ground` (WCAG 2.2, 1.4.11). */
export const COLOURS = {
  light: {
    ground: "#f3f5f1",
    edge: "#ffffff",
    line: "#0b5cad",
    start: "#1a7f37",
    end: "#b3261e",
    text: "#3a4048",
    shade: "#0b5cad",
    rule: "#c3c9c2"
  },
  dark: {
    ground: "#1d2125",
    edge: "#0b0d0f",
    line: "#8ec5ff",
    start: "#5fd47f",
    end: "#ffb4ab",
    text: "#c4cad2",
    shade: "#8ec5ff",
    rule: "#454c54"
  }
} as const satisfies Record<PictureOptions["theme"], Readonly<Record<string, string>>>

export type Colours = (typeof COLOURS)[keyof typeof COLOURS]
