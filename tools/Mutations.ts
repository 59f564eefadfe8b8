/** `after` replaces `before` at `offset` of a source. */
export interface Mutation {
  readonly offset: number
  readonly before: string
  readonly after: string
}

/** The function replaces each match. Operators are between blanks, so that neither types nor arrows match. */
const REPLACEMENTS: ReadonlyArray<readonly [before: RegExp, after: (before: string) => string]> = [
  [/(?<= )(?:===|!==|<=|>=|<|>|&&|\|\||\+|-|\*|\/|%)(?= )/g, (operator) => OPPOSITES[operator] ?? operator],
  [/(?<![\w."'`$-])\d[\d_]*(?![\w."'`-])/g, (number) => String(Number(number.replaceAll("_", "")) + 1)],
  [/\b(?:true|false)\b/g, (value) => value === "true" ? "false" : "true"],
  [
    /\b(?:AND|OR|ASC|DESC|IS NULL|IS NOT NULL|NOT EXISTS|min|max|LEAST|GREATEST|LEFT JOIN|FOR UPDATE)\b/g,
    (word) => OPPOSITES[word] ?? word
  ]
]

const OPPOSITES: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<=": "<",
  ">=": ">",
  "<": "<=",
  ">": ">=",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  AND: "OR",
  OR: "AND",
  ASC: "DESC",
  DESC: "ASC",
  "IS NULL": "IS NOT NULL",
  "IS NOT NULL": "IS NULL",
  "NOT EXISTS": "EXISTS",
  min: "max",
  max: "min",
  LEAST: "GREATEST",
  GREATEST: "LEAST",
  "LEFT JOIN": "JOIN",
  "FOR UPDATE": ""
}

/** Comments, imports, types and texts for readers have no behaviour. */
const SKIPPED = [
  /\/\*[\s\S]*?\*\//g,
  /(?<=^|\s)\/\/.*/gm,
  /^(?:import|export) [\s\S]*? from ".*"$/gm,
  /^(?:export )?(?:interface|type) [\s\S]*?^(?:\}|$)/gm,
  /\b(?:description|summary|title|message|identifier): ?(?:"[^"\n]*"|`[^`]*`)/g
]

const blanked = (source: string) =>
  SKIPPED.reduce((text, skipped) => text.replace(skipped, (found) => found.replace(/\S/g, " ")), source)

export const mutationsOf = (source: string): ReadonlyArray<Mutation> => {
  const text = blanked(source)
  return REPLACEMENTS.flatMap(([pattern, opposite]) =>
    [...text.matchAll(pattern)].map(({ 0: before, index }) => ({ offset: index, before, after: opposite(before) }))
  ).toSorted((a, b) => a.offset - b.offset)
}

export const mutated = (source: string, { after, before, offset }: Mutation): string =>
  source.slice(0, offset) + after + source.slice(offset + before.length)
