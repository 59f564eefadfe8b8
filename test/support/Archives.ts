import { ZipArchive } from "archiver"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { fstatSync, readdirSync, readlinkSync } from "node:fs"
import { buffer } from "node:stream/consumers"
import { fromBufferPromise } from "yauzl"
import { Manifest } from "../../src/schema/Archive.ts"
import type { Rider } from "./Actors.ts"
import { TestServer } from "./TestServer.ts"
import { until } from "./Waiting.ts"

export type Files = Readonly<Record<string, string>>

/** Returns the files of a ZIP archive, read the way other programs do. */
export const unzipped = (archive: Uint8Array): Effect.Effect<Files> =>
  Effect.promise(async () => {
    const zip = await fromBufferPromise(Buffer.from(archive), { strictFileNames: true })
    const files: Record<string, string> = {}
    for await (const entry of zip.eachEntry()) {
      files[entry.fileName] = (await buffer(await zip.openReadStreamPromise(entry))).toString()
    }
    return files
  })

/** Returns a ZIP archive of these files in this order; a name may come twice. */
export const zipped = (files: Iterable<readonly [name: string, text: string | Buffer]>): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const archive = new ZipArchive()
    for (const [name, text] of files) archive.append(text, { name })
    const [bytes] = await Promise.all([buffer(archive), archive.finalize()])
    return bytes
  })

export const manifestOf = (files: Files) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Manifest))(files["manifest.json"])

/** Returns an archive of the files with a manifest that fits them, except for the members of `said`. */
export const sealed = (files: Files, said: Partial<Manifest> = {}): Effect.Effect<Uint8Array> => {
  const others = Object.entries(files).filter(([name]) => name !== "manifest.json")
  const manifest: Manifest = {
    ...manifestOf(files),
    files: others.map(([name, text]) => ({
      name,
      size: Buffer.byteLength(text),
      sha256: createHash("sha256").update(text).digest("hex")
    })),
    ...said
  }
  return zipped([...others, ["manifest.json", JSON.stringify(manifest)]])
}

export const exported = Effect.fnUntraced(function*(rider: Pick<Rider, "cookie">) {
  const { origin } = yield* TestServer
  return yield* Effect.promise(async () => {
    const response = await fetch(`${origin}/api/v1/users/me/export`, { headers: { cookie: rider.cookie } })
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  })
})

export const imported = (rider: Rider, bytes: Uint8Array, type = "application/zip") =>
  rider.post("/users/me/import", undefined, { raw: Uint8Array.from(bytes), headers: { "content-type": type } })

/** Uploads an archive to the page of an account. */
export const importedByPage = Effect.fnUntraced(function*(
  rider: Pick<Rider, "cookie">,
  bytes: Uint8Array,
  fields: Files = {}
) {
  const { origin } = yield* TestServer
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  body.set("archive", new Blob([Uint8Array.from(bytes)]), "export.zip")
  return yield* Effect.promise(async () => {
    const response = await fetch(`${origin}/me/data`, {
      method: "POST",
      headers: { cookie: rider.cookie, "sec-fetch-site": "same-origin" },
      body
    })
    return { status: response.status, text: await response.text() }
  })
})

/** Returns how many bytes of uploads this process has on the disk, in files that have no name any more. */
const keptBytes = Effect.sync(() =>
  readdirSync("/proc/self/fd").reduce((sum, descriptor) => {
    try {
      const isUpload = readlinkSync(`/proc/self/fd/${descriptor}`).includes("route-planning-service-")
      return isUpload ? sum + fstatSync(Number(descriptor)).size : sum
    } catch {
      // The file was closed meanwhile.
      return sum
    }
  }, 0)
)

/** Sends the first bytes of an archive, and the rest after `between`, which begins when the server has the first. */
export const importedAfter = Effect.fnUntraced(function*(
  rider: Pick<Rider, "cookie">,
  bytes: Uint8Array,
  between: Effect.Effect<unknown>,
  first = 10
) {
  const { origin } = yield* TestServer
  const run = Effect.runPromiseWith(yield* Effect.context<TestServer>())
  const before = yield* keptBytes
  const parts = async function*() {
    yield bytes.slice(0, first)
    await run(Effect.andThen(until(Effect.map(keptBytes, (kept) => kept >= before + first)), between))
    yield bytes.slice(first)
  }
  return yield* Effect.promise(async (signal) => {
    const response = await fetch(`${origin}/api/v1/users/me/import`, {
      method: "POST",
      signal,
      headers: { cookie: rider.cookie, "content-type": "application/zip" },
      body: ReadableStream.from(parts()),
      duplex: "half"
    })
    return { status: response.status, text: await response.text() }
  })
})

const Refusal = Schema.Struct({
  code: Schema.Literal("VALIDATION_FAILED"),
  details: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
})

export const issuesOf = (body: unknown) => Schema.decodeUnknownSync(Refusal)(body).details.issues

export const archiveOf = (rider: Pick<Rider, "cookie">) => Effect.map(exported(rider), ({ bytes }) => bytes)

export const filesOf = (rider: Pick<Rider, "cookie">) => Effect.flatMap(archiveOf(rider), unzipped)
