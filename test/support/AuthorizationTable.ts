import { readFileSync } from "node:fs"

export const shapeOf = (path: string) => path.replace(/\{\w+\}/g, "{}")

/** Returns the measured table of who may do what: its rows by method and path, its cells by caller. */
export const authorization = () => {
  const rows = readFileSync(new URL("../../docs/authorization.md", import.meta.url), "utf8").split("\n").filter((
    line
  ) => line.startsWith("|")).map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
  const [callers = [], , ...body] = rows
  return new Map(body.map(([endpoint = "", ...cells]) => [
    shapeOf(endpoint.replaceAll("`", "")),
    Object.fromEntries(cells.map((cell, index) => [callers[index + 1] ?? "", cell]))
  ]))
}

/** Returns the scope of tokens that the row of an endpoint demands. */
export const scopeIn = (callers: Readonly<Record<string, string>>) => {
  if (callers["token `read`"] === "yes") return "read"
  return callers["token `write`"] === "yes" ? "write" : "none"
}
