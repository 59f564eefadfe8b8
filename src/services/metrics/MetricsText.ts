const SAMPLE = /^([A-Za-z_:][\w:]*)(\{?)/

const withWorker = (line: string, worker: string) =>
  line.replace(SAMPLE, (_match, name: string, brace: string) => `${name}{worker="${worker}"${brace === "" ? "}" : ","}`)

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
      const comments = about.splice(0)
      const name = comments[0]?.split(" ")[2] ?? ""
      const family = families.get(name) ?? { about: comments, samples: [] }
      families.set(name, family)
      current.family = family
    }
    current.family.samples.push(withWorker(line, worker))
  }
}

/** Merges the texts of workers: each metric once, with the label `worker` on its samples. */
export const mergedMetrics = (texts: ReadonlyMap<string, string>): string => {
  const families = new Map<string, Family>()
  for (const [worker, text] of texts) readInto(families, worker, text)
  return `${[...families.values()].flatMap(({ about, samples }) => about.concat(samples)).join("\n")}\n`
}
