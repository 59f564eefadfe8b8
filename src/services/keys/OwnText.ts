/**
 * The same text in memory of its own, for what outlives its request: of a part of a header or a body V8 keeps the whole, which
 * a client may fill with spaces.
 */
export const ownText = (text: string): string => Buffer.from(text).toString()
