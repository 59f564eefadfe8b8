/** Names and messages of others must not control the terminal. */
export const harmless = (text: string): string => text.replaceAll(/\p{Cc}/gu, "?")

/** `--json` applies to all output, also before the words of the command are read. */
export const isJson = process.argv.some((word) => /^--json(=(true|yes|on|1|y))?$/.test(word))

/** Returns a line of a result: the value with `--json`, else the text. */
export const lineOf = (value: unknown, text: string): string => isJson ? JSON.stringify(value) : harmless(text)

const CLEAR = "\r\u001b[K"

/** Clears the progress for other lines; it is drawn again below them. */
export const clearProgress = (): void => {
  if (process.stderr.isTTY) process.stderr.write(CLEAR)
}

/** Writes to the person, or to the log of a script, beside the result. */
export const note = (text: string): void => {
  clearProgress()
  process.stderr.write(`${lineOf({ note: text }, text)}\n`)
}

const WIDTH = 24

/** Draws the progress of a command on the terminal, and nothing into a file or a pipe. */
export const showProgress = (done: number, total: number, what: string): void => {
  const { stderr } = process
  if (!stderr.isTTY) return
  const filled = total === 0 ? WIDTH : Math.round(Math.min(1, done / total) * WIDTH)
  const line = `[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}] ${done} of ${total} ${harmless(what)}`
  // A line that wraps could not be drawn again.
  stderr.write(`${CLEAR}${line.slice(0, stderr.columns - 1)}${done >= total ? "\n" : ""}`)
}
