import { getIssues } from "@placemarkio/check-geojson"
import { Effect } from "effect"
import { readFitMessages } from "fit-file-parser/raw"
import { existsSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { validateXML } from "xmllint-wasm"
import { FILE_FORMATS, type FileFormat } from "../../src/schema/Import.ts"
import { draftsOf, type RouteDocument } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { coordinatesOf, lineMetres } from "../../src/services/geometry/Geodesy.ts"

/** An export must be valid by the first schema. The others are its imports, by the names that it uses. */
const SCHEMAS: Readonly<Partial<Record<FileFormat, ReadonlyArray<string>>>> = {
  gpx: ["gpx-1.1.xsd"],
  tcx: ["TrainingCenterDatabasev2.xsd"],
  kml: ["ogckml22.xsd", "atom-author-link.xsd", "xAL.xsd", "kml22gx.xsd"]
}

/** The schema of GPX may be passed on; the schemas of TCX and KML are read from the folder `SCHEMAS`. */
const OWN_SCHEMAS = import.meta.dirname

const MEMORY_PAGES = 16_384

interface Exported {
  readonly format: FileFormat
  readonly bytes: number
  /** The text is `valid`, `no schema`, or the fault. */
  readonly validity: string
  readonly isSameAgain: boolean
}

interface Round {
  readonly tracks: number
  readonly positions: number
  readonly metres: number
  readonly warnings: number
  readonly exports: ReadonlyArray<Exported>
}

const bytesOf = (route: RouteDocument, format: FileFormat): Uint8Array =>
  format === "fit" ? writeFit(route) : Buffer.from([...writeRouteFile(route, format)].join(""))

const schemaFiles = (format: FileFormat, folder: string | undefined) =>
  (SCHEMAS[format] ?? []).map((name) =>
    [OWN_SCHEMAS, ...(folder === undefined ? [] : [folder])].map((place) => join(place, name)).find((path) =>
      existsSync(path)
    )
  )

const fileOf = (path: string) => ({ fileName: basename(path), contents: readFileSync(path, "utf8") })

const xmlValidity = async (bytes: Uint8Array, format: FileFormat, folder: string | undefined): Promise<string> => {
  const [schema, ...imported] = schemaFiles(format, folder)
  if (schema === undefined) return "no schema"
  const { errors, valid } = await validateXML({
    xml: { fileName: "export.xml", contents: bytes },
    schema: fileOf(schema),
    preload: imported.filter((path) => path !== undefined).map(fileOf),
    maxMemoryPages: MEMORY_PAGES
  })
  return valid ? "valid" : errors[0]?.message ?? "invalid"
}

const validityOf = async (bytes: Uint8Array, format: FileFormat, folder: string | undefined): Promise<string> => {
  if (format === "geojson") return getIssues(Buffer.from(bytes).toString())[0]?.message ?? "valid"
  if (format !== "fit") return xmlValidity(bytes, format, folder)
  // The reader is strict: it checks structure, definitions and both CRCs.
  return readFitMessages(bytes, { messageNumbers: [] }).issues[0]?.code ?? "valid"
}

const joined = Effect.fnUntraced(function*(bytes: Uint8Array, name: string) {
  const { draft } = yield* readPacked({ name, contentType: undefined, bytes }, undefined)
  const drafts = yield* draftsOf(draft, { split: false, join: true, track: undefined })
  const [route] = yield* Effect.forEach(drafts, finish)
  return { draft, route }
})

/** FIT has steps of a centimetre. */
const TOLERANCE: Readonly<Partial<Record<FileFormat, number>>> = { fit: 1e-7 }

const isSame = (a: RouteDocument, b: RouteDocument | undefined, format: FileFormat): boolean =>
  b !== undefined && a.name.slice(0, 60) === b.name.slice(0, 60) && a.geometry.length === b.geometry.length
  && JSON.stringify(a.segments) === JSON.stringify(b.segments)
  && a.geometry.every((position, index) =>
    [0, 1].every((axis) =>
      Math.abs((position[axis] ?? 0) - (b.geometry[index]?.[axis] ?? Infinity)) <= (TOLERANCE[format] ?? 0)
    )
  )

/** Imports a file, exports it in every format, validates the exports, and imports each again. */
export const roundOf = Effect.fnUntraced(function*(bytes: Uint8Array, name: string, folder: string | undefined) {
  const { draft, route } = yield* joined(bytes, name)
  if (route === undefined) return yield* Effect.die("a joined file is one route")
  const { document, measures, warnings } = route
  const exports = yield* Effect.forEach(FILE_FORMATS, (format) =>
    Effect.gen(function*() {
      const file = bytesOf(document, format)
      const validity = yield* Effect.promise(() => validityOf(file, format, folder))
      const again = yield* Effect.option(joined(file, `again.${format}`))
      const read = again._tag === "Some" ? again.value.route?.document : undefined
      const exported: Exported = { format, bytes: file.length, validity, isSameAgain: isSame(document, read, format) }
      return exported
    }))
  const round: Round = {
    tracks: draft.tracks.length,
    positions: document.geometry.length,
    metres: Math.round(measures.distance ?? lineMetres(coordinatesOf(document.geometry), document.segments)),
    warnings: warnings.length,
    exports
  }
  return round
})
