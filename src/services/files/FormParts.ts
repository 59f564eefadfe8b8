import { Effect } from "effect"
import { MultipartParser } from "effect/http"
import { MAX_FILES } from "../../schema/Import.ts"
import { InvalidInput } from "../DomainErrors.ts"
import type { PackedFile } from "./PackedFile.ts"

const MAX_FIELD_BYTES = 64 * 1024

const problemOf = (error: MultipartParser.MultipartError): string => {
  switch (error._tag) {
    case "ReachedLimit":
      return `it has more than ${MAX_FILES} parts, or a field of more than ${MAX_FIELD_BYTES} bytes`
    case "InvalidBoundary":
      return "the content type has no boundary"
    case "EndNotReached":
      return "its last boundary is missing"
    default:
      return "the headers of a part are malformed"
  }
}

/** The parts of a form with files; of several fields with the same name the last one. */
export interface FormParts {
  readonly fields: Readonly<Record<string, string | undefined>>
  readonly files: ReadonlyArray<PackedFile>
}

/** Reads the parts of a form (RFC 7578). */
export const partsOfForm = Effect.fnUntraced(function*(bytes: Uint8Array, contentType: string) {
  const fields = new Map<string, string>()
  const files: Array<PackedFile> = []
  const problems: Array<string> = []
  const parser = MultipartParser.make({
    headers: { "content-type": contentType },
    isFile: ({ filename }) => filename !== undefined,
    maxParts: MAX_FILES,
    maxFieldSize: MAX_FIELD_BYTES,
    onField: ({ name }, value) => fields.set(name, new TextDecoder().decode(value)),
    // Browsers guess the content type of a part from the name of the file.
    onFile: ({ filename }) => {
      const chunks: Array<Uint8Array> = []
      return (chunk) => {
        if (chunk === null) files.push({ name: filename, contentType: undefined, bytes: Buffer.concat(chunks) })
        else chunks.push(chunk)
      }
    },
    onError: (error) => problems.push(problemOf(error)),
    onDone: () => {}
  })
  parser.write(bytes)
  parser.end()
  const [problem] = problems
  if (problem !== undefined) return yield* InvalidInput.at("", `Malformed multipart/form-data: ${problem}`)
  const parts: FormParts = { fields: Object.fromEntries(fields), files }
  return parts
})
