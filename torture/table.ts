import type { Outcome, Run } from "./fault.ts"

/** A line of the table: the outcome of a fault, or why it was not run. */
export interface Line {
  readonly key: string
  readonly title: string
  readonly outcome: Outcome | { readonly skipped: string }
}

const HEAD = ["fault", "rounds", "requests", "lost", "twice", "wrong", "late", "longest outage", "time to recovery"]

const timeOf = (milliseconds: number | undefined) => {
  if (milliseconds === undefined) return "-"
  if (milliseconds === Infinity) return "never"
  return `${(milliseconds / 1000).toFixed(2)} s`
}

const sumOf = (problems: ReadonlyMap<string, number>) => [...problems.values()].reduce((sum, count) => sum + count, 0)

/** Returns true if nothing wrong was seen. The short form does not judge times, which depend on other work. */
export const isHeld = ({ outcome }: Line, form: Run["form"]) =>
  "skipped" in outcome ||
  outcome.lost + outcome.twice + sumOf(outcome.wrong) + (form === "short" ? 0 : sumOf(outcome.late)) === 0

const cellsOf = ({ outcome, title }: Line) => {
  if ("skipped" in outcome) return [title, "skipped", ...HEAD.slice(2).map(() => "")]
  const { late, longestOutage, lost, recovery, requests, rounds, twice, wrong } = outcome
  return [title, rounds, requests, lost, twice, sumOf(wrong), sumOf(late), timeOf(longestOutage), timeOf(recovery)].map(
    String
  )
}

export const tableOf = (lines: ReadonlyArray<Line>) => {
  const rows = [HEAD, ...lines.map(cellsOf)]
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const [head = "", ...body] = rows.map((row) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  )
  return [head, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...body].join("\n")
}

/** Returns the notes below the table: why a fault was not run, what was wrong, and further figures. */
export const notesOf = ({ key, outcome }: Line): ReadonlyArray<string> => {
  if ("skipped" in outcome) return [`${key}: skipped: ${outcome.skipped}`]
  const named = (what: string, problems: ReadonlyMap<string, number>) =>
    [...problems].map(([text, count]) => `${key}: ${what}: ${text}${count === 1 ? "" : ` (${count} times)`}`)
  return [
    ...named("wrong", outcome.wrong),
    ...named("late", outcome.late),
    ...(outcome.figures ?? []).map((text) => `${key}: ${text}`)
  ]
}
