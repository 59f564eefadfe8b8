import { Effect, Stream } from "effect"
import type { ShareToken } from "../../schema/Ids.ts"
import { MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import { InvalidInput } from "../DomainErrors.ts"
import type { RunJob } from "./ImportTurns.ts"
import { checkCollections, type CheckJob, checkRoutes, type ListName, LISTS } from "./Lists.ts"
import type { CheckedArchive } from "./Zip.ts"

/** How many bytes are stored of what has this origin. */
export type Contents = ReadonlyMap<ShareToken, number>

const checkList = Effect.fnUntraced(function*(archive: CheckedArchive, file: ListName, job: CheckJob, run: RunJob) {
  const issues: Array<ValidationIssue> = []
  const contents = new Map<ShareToken, number>()
  yield* archive.elements(file).pipe(
    Stream.takeWhile(() => issues.length < MAX_ISSUES),
    Stream.mapEffect((elements) => run(job, elements, elements.bytes.length)),
    Stream.runForEach((checked) =>
      Effect.sync(() => {
        issues.push(...checked.issues)
        for (const { bytes, line, origin } of checked.storable) {
          if (contents.has(origin)) {
            issues.push({ path: `${file}:${line}.origin`, message: "Expected each origin once" })
          }
          contents.set(origin, bytes)
        }
      })
    )
  )
  const expected = archive.counts[LISTS[file]]
  if (issues.length === 0 && contents.size !== expected) {
    issues.push({ path: file, message: `Expected ${expected} elements, as the manifest says` })
  }
  return { contents, issues }
})

/** Decodes everything. `InvalidInput` names what cannot be stored. */
export const checkElements = Effect.fnUntraced(function*(archive: CheckedArchive, run: RunJob) {
  const routes = yield* checkList(archive, "routes.json", checkRoutes, run)
  const collections = yield* checkList(archive, "collections.json", checkCollections, run)
  const issues = [...routes.issues, ...collections.issues]
  if (issues.length > 0) return yield* new InvalidInput({ issues: issues.slice(0, MAX_ISSUES) })
  return { routes: routes.contents, collections: collections.contents }
})
