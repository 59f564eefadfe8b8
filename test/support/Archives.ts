import { ZipArchive } from "archiver"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { buffer } from "node:stream/consumers"
import { fromBufferPromise } from "yauzl"
import { Manifest } from "../../src/schema/Archive.ts"
import type { Rider } from "./Actors.ts"
import { TestServer } from "./TestServer.ts"
import { until } from "./Waiting.ts"

/** The files of an archive by name. */
export type Files = Readonly<Record<string, string>>

/** The files of a ZIP archive, read the way other programs do. */
export const unzipped = (archive: Uint8Array): Effect.Effect<Files> =>
  Effect.promise(async () => {
    const zip = await fromBufferPromise(Buffer.from(archive), { strictFileNames: true })
    const files: Record<string, string> = {}
    for await (const entry of zip.eachEntry()) {
      files[entry.fileName] = (await buffer(await zip.openReadStreamPromise(entry))).toString()
    }
    return files
  })

/** A ZIP archive of these files in this order; a name may come twice. */
export const zipped = (files: ReadonlyArray<readonly [name: string, text: string]>): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const archive = new ZipArchive()
    for (const [name, text] of files) archive.append(text, { name })
    const [bytes] = await Promise.all([buffer(archive), archive.finalize()])
    return bytes
  })

export const manifestOf = (files: Files) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Manifest))(files["manifest.json"])

/** The same files with a manifest that fits them, but for what is said of it. */
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

/** A rider's archive as it was downloaded. */
export const exported = Effect.fnUntraced(function*(rider: Pick<Rider, "cookie">) {
  const { origin } = yield* TestServer
  return yield* Effect.promise(async () => {
    const response = await fetch(`${origin}/api/v1/users/me/export`, { headers: { cookie: rider.cookie } })
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  })
})

/** Sends an archive for a rider's account. */
export const imported = (rider: Rider, bytes: Uint8Array, type = "application/zip") =>
  rider.post("/users/me/import", undefined, { raw: Uint8Array.from(bytes), headers: { "content-type": type } })

/** How many requests the server is responding to, this one included. */
const activeRequests = Effect.map(
  TestServer.use((server) => server.call("GET", "//metrics")),
  ({ text }) => Number(/^http_server_active_requests (\d+)$/m.exec(text)?.[1])
)

/** Sends the first bytes of an archive, and the others after something else, which begins when the server has the first. */
export const importedAfter = Effect.fnUntraced(function*(
  rider: Pick<Rider, "cookie">,
  bytes: Uint8Array,
  between: Effect.Effect<unknown>
) {
  const { origin } = yield* TestServer
  const run = Effect.runPromiseWith(yield* Effect.context<TestServer>())
  const before = yield* activeRequests
  const parts = async function*() {
    yield bytes.slice(0, 10)
    await run(Effect.andThen(until(Effect.map(activeRequests, (active) => active > before)), between))
    yield bytes.slice(10)
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

/** What was wrong with an archive that was refused. */
export const issuesOf = (body: unknown) => Schema.decodeUnknownSync(Refusal)(body).details.issues
