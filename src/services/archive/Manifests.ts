import { type ArchivedFile, Manifest } from "../../schema/Archive.ts"
import { MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { ARCHIVES, fileDecoder, type Outcome, PROFILE } from "./DecodedFiles.ts"
import { LISTS } from "./Lists.ts"

export const MANIFEST = "manifest.json"

const EXPECTED_FILES = [PROFILE, ...Object.keys(LISTS)]

export const READ_FILES = [MANIFEST, ...EXPECTED_FILES]

interface GivenManifest {
  readonly bytes: ArrayBuffer
  readonly names: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
}

export interface FittingManifest {
  readonly counts: Manifest["counts"]
  readonly digests: ReadonlyMap<string, string>
}

const problemOf = (sizes: ReadonlyMap<string, number>, { name, size }: ArchivedFile) => {
  const actual = sizes.get(name)
  if (actual === undefined) return "Expected the file, which the manifest names"
  return actual === size ? undefined : `Expected ${size} bytes, as the manifest says`
}

const issuesWith = (sizes: ReadonlyMap<string, number>, manifest: Manifest): ReadonlyArray<ValidationIssue> => {
  const named = new Set([MANIFEST, ...manifest.files.map(({ name }) => name)])
  if (named.size !== manifest.files.length + 1) {
    return [{ path: `${MANIFEST}.files`, message: "Expected each file once" }]
  }
  const issues = [
    ...EXPECTED_FILES.filter((name) => !named.has(name)).map((name) => ({
      path: name,
      message: "Expected the manifest to name it"
    })),
    ...[...sizes.keys()].filter((name) => !named.has(name)).map((name) => ({
      path: name,
      message: "Expected only files that the manifest names"
    }))
  ]
  for (const file of manifest.files) {
    const message = problemOf(sizes, file)
    if (message !== undefined) issues.push({ path: file.name, message })
  }
  return issues.slice(0, MAX_ISSUES)
}

const decodeManifest = fileDecoder(MANIFEST, Manifest)

/** Compares the manifest with the archive's files: missing, unexpected, or of another size. */
export const readManifest = new HeavyJob<GivenManifest, Outcome<FittingManifest>>(import.meta.url, {
  name: "read manifest",
  share: ARCHIVES,
  run: ({ bytes, names, sizes }) => {
    const decoded = decodeManifest(bytes)
    if ("issues" in decoded) return decoded
    const { counts, files } = decoded.value
    const issues = issuesWith(new Map(names.map((name, index) => [name, sizes[index] ?? 0])), decoded.value)
    if (issues.length > 0) return { issues }
    const read = files.filter(({ name }) => READ_FILES.includes(name))
    return { value: { counts, digests: new Map(read.map(({ name, sha256 }) => [name, sha256])) } }
  }
})
