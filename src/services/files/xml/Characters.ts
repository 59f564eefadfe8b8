const COMMON_MISTAKE = /[^\t\n\r\u0020-\uFFFD]/

const NO_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

/** Removes what XML 1.0 cannot carry, not even as a reference (XML 1.0, 2.2). */
export const carried = (text: string): string =>
  // The second expression decides; it takes four times as long.
  text.isWellFormed() && !COMMON_MISTAKE.test(text) ? text : text.replace(NO_CHARACTER, "")
