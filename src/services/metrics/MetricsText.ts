/** A sample's name, and whether it has labels already. */
const SAMPLE = /^([A-Za-z_:][\w:]*)(\{?)/

const withWorker = (line: string, worker: string) =>
  line.replace(SAMPLE, (_match, name: string, brace: string) => `${name}{worker="${worker}"${brace === "" ? "}" : ","}`)

/** One metric: what is said of it, and its samples. */
interface Family {
  readonly about: ReadonlyArray<string>
  readonly samples: Array<string>
}

const readInto = (families: Map<string, Family>, worker: string, text: string) => {
  const about: Array<string> = []
  const current: { family: Family | undefined } = { family: undefined }
  for (const line of text.split("\n").filter((line) => line !== "")) {
    if (line.startsWith("#")) {
      current.family = undefined
      about.push(line)
      continue
    }
    if (current.family === undefined) {
      const said = about.splice(0)
      const name = said[0]?.split(" ")[2] ?? ""
      const family = families.get(name) ?? { about: said, samples: [] }
      families.set(name, family)
      current.family = family
    }
    current.family.samples.push(withWorker(line, worker))
  }
}

/** Texts of several workers in Prometheus' format as one: each metric once, its samples with the label `worker`. */
export const mergedMetrics = (texts: ReadonlyMap<string, string>): string => {
  const families = new Map<string, Family>()
  for (const [worker, text] of texts) readInto(families, worker, text)
  return `${[...families.values()].flatMap(({ about, samples }) => about.concat(samples)).join("\n")}\n`
}
