import { Effect, Stream } from "effect"
import type { ArchivedCollection } from "../../schema/Archive.ts"
import { InvalidInput } from "../../schema/DomainErrors.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import { MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import type { CountBytes } from "../spool/ImportDisk.ts"
import type { RunJob } from "./ImportTurns.ts"
import {
  type ImportedRoute,
  type ListJob,
  type ListName,
  LISTS,
  packed,
  readCollections,
  readRoutes
} from "./ListJobs.ts"
import { recordSpool } from "./RecordSpool.ts"
import type { CheckedArchive } from "./ZipReader.ts"

export type Contents = ReadonlyMap<ShareToken, number>

const readList = Effect.fnUntraced(function*<A>(
  archive: CheckedArchive,
  file: ListName,
  job: ListJob,
  run: RunJob,
  count: CountBytes
) {
  const spool = yield* recordSpool<A>(count)
  const issues: Array<ValidationIssue> = []
  const contents = new Map<ShareToken, number>()
  yield* archive.elements(file).pipe(
    Stream.takeWhile(() => issues.length < MAX_ISSUES),
    Stream.runForEach(Effect.fnUntraced(function*(elements) {
      const batch = packed(elements)
      const decoded = yield* run(job, batch, batch.ends.at(-1) ?? 0, [batch.bytes])
      issues.push(...decoded.issues)
      for (const { bytes, line, origin } of decoded.storable) {
        if (contents.has(origin)) issues.push({ path: `${file}:${line}.origin`, message: "Expected each origin once" })
        contents.set(origin, bytes)
      }
      if (issues.length === 0) yield* spool.append(decoded)
    }))
  )
  const expected = archive.counts[LISTS[file]]
  if (issues.length === 0 && contents.size !== expected) {
    issues.push({ path: file, message: `Expected ${expected} elements, as the manifest says` })
  }
  return { contents, issues, forEach: spool.forEach }
})

/** Decodes everything once. `InvalidInput` names what cannot be stored; `Overloaded` without disk or thread. */
export const checkElements = Effect.fnUntraced(function*(archive: CheckedArchive, run: RunJob, count: CountBytes) {
  const routes = yield* readList<ImportedRoute>(archive, "routes.json", readRoutes, run, count)
  const collections = yield* readList<ArchivedCollection>(archive, "collections.json", readCollections, run, count)
  const issues = [...routes.issues, ...collections.issues]
  if (issues.length > 0) return yield* new InvalidInput({ issues: issues.slice(0, MAX_ISSUES) })
  return { routes, collections }
})
