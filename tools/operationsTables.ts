import { Duration } from "effect"
import type { LaneNumbers } from "../src/services/admission/Lane.ts"
import { AT_ONCE, LANES, numbersOn, SHARES, WRITES } from "../src/services/admission/Lanes.ts"
import { registry } from "../src/services/operations/SettingsRegistry.ts"

/** `DATABASE_POOL_SIZE` has this default. */
const CONNECTIONS = 10

const queueOf = ({ longestCrowdedQueue, longestQueue }: LaneNumbers) => {
  if (!Number.isFinite(longestQueue)) return "any number"
  return longestCrowdedQueue === undefined
    ? String(longestQueue)
    : `${longestQueue}, ${longestCrowdedQueue} in a busy process`
}

const shares: Readonly<Record<string, { readonly share: number }>> = { ...SHARES, writes: WRITES }

const shareOf = (name: string) => shares[name] === undefined ? "" : `${Math.round(shares[name].share * 100)} %`

const rowOf = (name: string, numbers: LaneNumbers, atOnce = String(numbers.atOnce)) =>
  `| ${name} | ${shareOf(name)} | ${atOnce} | ${queueOf(numbers)} | ${Duration.toSeconds(numbers.longestWait)} s |`

const { passwords, ...lanes } = LANES

const lanesTable = [
  "| class | of the connections | at once | in the queue | longest wait |",
  "|---|---|---|---|---|",
  ...Object.entries(numbersOn(CONNECTIONS)).map(([name, numbers]) => rowOf(name, numbers)),
  rowOf("passwords", passwords, "one for each core"),
  ...Object.entries(lanes).map(([name, numbers]) => rowOf(name, numbers)),
  `| archives, and pieces of them | | ${AT_ONCE.archives}, ${AT_ONCE.archivePieces} | any number | 2 s for an archive |`,
  `| calls of the routing engine | | ${AT_ONCE.engine.running} | ${AT_ONCE.engine.queued} | the timeout of the request |`,
  `| codes of the identity provider | | ${AT_ONCE.exchanges} | none | |`,
  `| mails that are composed | | ${AT_ONCE.mails} | any number | |`
].join("\n")

const settingsTable = [
  "| setting | default | meaning |",
  "|---|---|---|",
  ...registry.map(({ meaning, name, otherwise }) => `| \`${name}\` | ${otherwise} | ${meaning} |`)
].join("\n")

/** Each table is between two marks. */
const TABLES = [
  [
    "<!-- The registry of settings has these rows: `npm run docs` writes them. -->\n",
    settingsTable,
    "<!-- End of the settings. -->\n"
  ],
  ["<!-- `Lanes.ts` has these rows: `npm run docs` writes them. -->\n", lanesTable, "<!-- End of the lanes. -->\n"]
] as const

/** Returns docs/operations.md with the settings of the registry and the lanes. */
export const withTables = (operations: string): string =>
  TABLES.reduce((text, [begin, table, end]) => {
    const [before = "", rest = ""] = text.split(begin)
    return `${before}${begin}\n${table}\n\n${end}${rest.split(end)[1]}`
  }, operations)
