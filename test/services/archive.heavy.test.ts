import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { fromFdPromise } from "yauzl"
import { databaseLive } from "../../src/layers/Database.ts"
import { randomnessLive } from "../../src/layers/Live.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { PrivacyZones } from "../../src/services/accounts/Zones.ts"
import type { HeavyJob } from "../../src/services/admission/HeavyJob.ts"
import { HeavyWork, INLINE_BYTES } from "../../src/services/admission/HeavyWork.ts"
import { ImportTurns } from "../../src/services/admission/ImportTurns.ts"
import { Lanes } from "../../src/services/admission/Lanes.ts"
import { Quotas } from "../../src/services/admission/Quotas.ts"
import { AccountImport } from "../../src/services/archive/Import.ts"
import { readRoutes } from "../../src/services/archive/Lists.ts"
import { directoryOf } from "../../src/services/archive/Zip.ts"
import { Overloaded } from "../../src/services/DomainErrors.ts"
import { ImportDisk, namelessFile } from "../../src/services/files/Spool.ts"
import { Audit } from "../../src/services/identity/Audit.ts"
import { RouteViews } from "../../src/services/routes/RouteViews.ts"
import { sealed } from "../support/Archives.ts"
import { archiveOfPacked, deflated } from "../support/Bombs.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { nowhere, SECRETS } from "../support/TestServer.ts"
import { crash } from "../support/WildJobs.ts"

const onOwnDatabase = Layer.unwrap(
  Effect.map(
    clonedDatabase,
    (url) =>
      databaseLive.pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
      )
  )
)

const ROUTES = 40

const geometry = JSON.stringify(Array.from({ length: 3000 }, (_, index) => [9 + index / 100_000, 47.123456]))

const lineOf = (index: number) =>
  `{"id":${index + 1},"origin":"${index.toString(16).padStart(32, "0")}","name":"x","waypoints":[{"coord":[9,47]}],`
  + `"visibility":"private","provenance":"routing-engine","createdAt":"1970-01-01T00:00:00.000Z",`
  + `"updatedAt":"1970-01-01T00:00:00.000Z","geometry":${geometry}}`

const manifest = JSON.stringify({
  format: "route-planning-service/account",
  version: 1,
  createdAt: "1970-01-01T00:00:00.000Z",
  counts: { routes: ROUTES, collections: 0, tokens: 0, sessions: 0 },
  changedMeanwhile: [],
  files: []
})

const BATCHES = 3

/** The import reads the routes of this archive in so many batches. */
const archive = sealed({
  "manifest.json": manifest,
  "profile.json": "{\"preferences\":null}",
  "routes.json": `[\n${Array.from({ length: ROUTES }, (_, index) => lineOf(index)).join(",\n")}\n]\n`,
  "collections.json": "[\n]\n"
})

const newUser = Effect.fnUntraced(function*(name: string) {
  const sql = yield* SqlClient.SqlClient
  const address = `${name}@example.com`
  const rows = yield* sql<{ id: number }>`
    INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
    VALUES (${address}, ${address}, 'epoch', ${name}, ${name}, 'epoch', 'epoch') RETURNING id::float8 AS id`
  return Schema.decodeUnknownSync(UserId)(rows[0]?.id)
})

const routesOf = (owner: UserId) =>
  SqlClient.SqlClient.use((sql) => sql`SELECT id FROM routes WHERE user_id = ${owner}`)

/** Imports the archive where heavy work is done in this way. */
const importedBy = Effect.fnUntraced(function*(heavy: Layer.Layer<HeavyWork>, owner: UserId) {
  const bytes = yield* archive
  const importLayer = AccountImport.layer.pipe(
    Layer.provide([ImportDisk.layer, ImportTurns.layer]),
    Layer.provide(PrivacyZones.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(SECRETS))),
    Layer.provide([Audit.layer, RouteViews.layer]),
    Layer.provide([Quotas.layer, Lanes.layer, heavy, nowhere, randomnessLive])
  )
  return yield* AccountImport.use((imports) =>
    Effect.scoped(Effect.flatMap(imports.receive(owner, Stream.make(bytes)), ({ restore }) => restore))
  ).pipe(
    Effect.provide(importLayer, { local: true })
  )
})

/** Does each job in this thread, and records its name; those with the numbers of `refused`, from 1, find no thread. */
const inThisThread = (refused: ReadonlyArray<number> = []) => {
  const names: Array<string> = []
  const run = <I, O>(job: HeavyJob<I, O>, input: I) =>
    Effect.suspend(() =>
      refused.includes(names.push(job.name))
        ? Effect.fail(new Overloaded({ reason: "jobs", retryAfterSeconds: 5 }))
        : Effect.promise(async () => job.run(input))
    )
  return { names, layer: Layer.succeed(HeavyWork, HeavyWork.of({ run })) }
}

/** A thread ends with each job. */
const dying = Layer.effect(
  HeavyWork,
  Effect.map(HeavyWork, (heavy) => HeavyWork.of({ run: () => heavy.run(crash, null, INLINE_BYTES + 1) }))
).pipe(Layer.provide(HeavyWork.layer))

layer(onOwnDatabase)("an import", (it) => {
  it.effect("of which a batch is refused is 503 with seconds to wait, not tried again, and imports nothing", () =>
    Effect.gen(function*() {
      const owner = yield* newUser("refused")
      // The manifest, the profile and a batch come before.
      const { layer, names } = inThisThread([4])
      const error = yield* Effect.flip(importedBy(layer, owner))
      assert.deepInclude(error, { reason: "jobs", retryAfterSeconds: 5 })
      assert.deepStrictEqual(names.slice(2), [readRoutes.job.name, readRoutes.job.name])
      assert.isEmpty(yield* routesOf(owner))
      yield* importedBy(inThisThread().layer, owner)
      assert.strictEqual((yield* routesOf(owner)).length, ROUTES)
    }))

  it.effect("decodes each batch of an archive once", () =>
    Effect.gen(function*() {
      const owner = yield* newUser("once")
      const { layer, names } = inThisThread()
      const { routes } = yield* importedBy(layer, owner)
      assert.deepStrictEqual(routes, { created: ROUTES, restored: 0, unchanged: 0, duplicates: 0 })
      assert.deepStrictEqual(names.slice(2), Array.from({ length: BATCHES }, () => readRoutes.job.name))
      assert.strictEqual((yield* routesOf(owner)).length, ROUTES)
    }))

  it.effect("whose thread exits is 503 with seconds to wait, and imports nothing", () =>
    Effect.gen(function*() {
      const owner = yield* newUser("died")
      const error = yield* Effect.flip(importedBy(dying, owner))
      assert.deepInclude(error, { reason: "job_ended", retryAfterSeconds: 5 })
      assert.isEmpty(yield* routesOf(owner))
    }))

  it.effect("refuses a file whose name has a backslash, which is no separator in a ZIP", () =>
    Effect.gen(function*() {
      const file = yield* namelessFile("upload")
      yield* file.append(archiveOfPacked([deflated("routes\\1.gpx", "")]))
      const zip = yield* Effect.promise(() => fromFdPromise(file.descriptor, { autoClose: false }))
      const refused = yield* Effect.flip(Effect.tryPromise(() => directoryOf(file, zip)))
      assert.include(String(refused.cause), "invalid characters in fileName")
    }))

  it.effect("refuses a directory of more than 16 MiB", () =>
    Effect.gen(function*() {
      const files = Array.from({ length: 300 }, (_, index) => deflated(`${index}${"x".repeat(60_000)}`, ""))
      const file = yield* namelessFile("upload")
      yield* file.append(archiveOfPacked(files))
      const zip = yield* Effect.promise(() => fromFdPromise(file.descriptor, { autoClose: false }))
      const refused = yield* Effect.flip(Effect.tryPromise(() => directoryOf(file, zip)))
      assert.include(String(refused.cause), "its directory has more than 16777216 bytes")
    }))
})
