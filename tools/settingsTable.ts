import { registry } from "../src/services/operations/SettingsRegistry.ts"

const BEGIN = "<!-- The registry of settings has these rows: `npm run docs` writes them. -->\n"

const END = "<!-- End of the settings. -->\n"

const table = [
  "| setting | default | meaning |",
  "|---|---|---|",
  ...registry.map(({ meaning, name, otherwise }) => `| \`${name}\` | ${otherwise} | ${meaning} |`)
].join("\n")

/** Returns docs/operations.md with the rows of the registry between its two marks. */
export const withSettingsTable = (operations: string): string => {
  const [before = "", rest = ""] = operations.split(BEGIN)
  const [, after = ""] = rest.split(END)
  return `${before}${BEGIN}\n${table}\n\n${END}${after}`
}
