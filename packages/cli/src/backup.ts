import { Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readdir, rename } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type ChangePage, type Client, ServiceError, sync } from "../../client/src/index.ts"
import { attempt, Failure } from "./Failure.ts"
import { makeDirectory, readText, replaceFile, replaceJson, unless } from "./Files.ts"
import { account, given, print } from "./Root.ts"
import { showProgress } from "./Terminal.ts"

const STATE = "backup.json"

const EVERYTHING = "everything"

const State = Schema.Struct({
  origin: Schema.String,
  userId: Schema.Int,
  cursor: Schema.optionalKey(Schema.String),
  /** A backup from before links and settings were in the feed lacks this: its cursor leads to none of them. */
  include: Schema.optionalKey(Schema.Literal(EVERYTHING)),
  /** Routes lack their GPX: the cursor leads to none of it. */
  isWithoutGpx: Schema.optionalKey(Schema.Boolean),
  /** The whole account is being read again: files may be there of what was deleted at some time. */
  isUnsure: Schema.optionalKey(Schema.Boolean)
})

const decodeState = Schema.decodeUnknownSync(Schema.fromJsonString(State))

export const readState = async (directory: string) => {
  const text = await readText(join(directory, STATE))
  return text === undefined ? undefined : decodeState(text)
}

/** Type and id become the names of files, so they are checked: the service may be malicious. */
const decodeName = Schema.decodeUnknownSync(Schema.Struct({
  type: Schema.Literals(["route", "collection", "link", "account"]),
  id: Schema.Int.check(Schema.isGreaterThan(0))
}))

const FOLDERS = { route: "routes", collection: "collections", link: "links" } as const

/** Moves a deleted item out of the way, but keeps it in the backup. */
const setAside = async (directory: string, file: string) => {
  const target = join(directory, "deleted", file)
  await makeDirectory(dirname(target))
  await rename(join(directory, file), target).catch(unless("ENOENT", undefined))
}

const save = async (
  directory: string,
  client: Client,
  change: ChangePage["changes"][number],
  isWithoutGpx: boolean
) => {
  const { account, collection, link, route } = change
  const { id, type } = decodeName(change)
  if (type === "account") {
    await replaceJson(join(directory, "account.json"), account)
    return
  }
  const file = (extension: string) => join(FOLDERS[type], `${id}.${extension}`)
  const item = route ?? collection ?? link
  if (item === undefined) {
    for (const extension of ["json", "gpx"]) await setAside(directory, file(extension))
    return
  }
  if (route !== undefined) {
    const gpx = isWithoutGpx ? undefined : await client.files.gpx({ params: { ref: id } }).catch(unlessGone)
    await (gpx === undefined ? setAside(directory, file("gpx")) : replaceFile(join(directory, file("gpx")), gpx))
  }
  await replaceJson(join(directory, file("json")), item)
}

/** Returns undefined for an item that was deleted meanwhile: a later change says so. */
const unlessGone = (error: unknown) => {
  if (!(error instanceof ServiceError && error.statusCode === 404)) throw error
  return undefined
}

/** Sets aside all files that the whole account no longer has: they were deleted at some time. */
const setAsideRest = async (directory: string, kept: ReadonlySet<string>) => {
  for (const folder of Object.values(FOLDERS)) {
    const files = await readdir(join(directory, folder)).catch(() => [])
    for (const file of files.filter((file) => !kept.has(join(folder, file.replace(/\.\w+$/, ""))))) {
      await setAside(directory, join(folder, file))
    }
  }
}

export const backup = Command.make(
  "backup",
  {
    directory: given(Argument.Directory("directory")).pipe(Argument.withDescription("Where to; it is made if need be")),
    isWithoutGpx: Flag.Boolean("no-gpx").pipe(
      Flag.withDescription(
        "Without the GPX of each route, which takes a request each and which rps restore does not need"
      ),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function*({ directory, isWithoutGpx }) {
    const { client, origin } = yield* account
    const counts = { saved: 0, deleted: 0 }
    yield* attempt(async (options) => {
      const { id: userId } = (await client.credential.describe({}, options)).user
      const state = await readState(directory)
      if (state !== undefined && (state.origin !== origin || state.userId !== userId)) {
        throw Failure.because(`${directory} has the backup of another account: user ${state.userId} of ${state.origin}`)
      }
      const lacksGpx = state?.isWithoutGpx === true && !isWithoutGpx
      let cursor = state?.include === EVERYTHING && state.isUnsure !== true && !lacksGpx ? state.cursor : undefined
      let isUnsure = state !== undefined && cursor === undefined
      const keepState = () =>
        replaceJson(join(directory, STATE), {
          origin,
          userId,
          cursor,
          include: EVERYTHING,
          ...isWithoutGpx ? { isWithoutGpx } : {},
          ...isUnsure ? { isUnsure } : {}
        })
      let kept = cursor === undefined ? new Set<string>() : undefined
      await sync(
        client,
        {
          cursor: () => cursor,
          apply: async (page) => {
            for (const [index, change] of page.changes.entries()) {
              showProgress(index + 1, page.changes.length, "changes of a page")
              await save(directory, client, change, isWithoutGpx)
              counts[change.change === "deleted" ? "deleted" : "saved"]++
              if (change.type !== "account") kept?.add(join(FOLDERS[change.type], String(change.id)))
            }
            cursor = page.cursor
            await keepState()
          },
          reset: () => {
            cursor = undefined
            kept = new Set()
            isUnsure = true
          }
        },
        { geometry: "full", include: EVERYTHING },
        options
      )
      if (kept !== undefined) await setAsideRest(directory, kept)
      isUnsure = false
      await keepState()
    })
    yield* print(counts, `${counts.saved} saved, ${counts.deleted} deleted since the last time`)
  })
).pipe(Command.withDescription(
  "Keep a backup: routes as JSON and GPX, collections, links, profile, preferences and privacy zones. The next run fetches what "
    + "changed since"
))
