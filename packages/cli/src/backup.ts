import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { mkdir, rename } from "node:fs/promises"
import { dirname, join } from "node:path"
import {
  type ChangePage,
  type Client,
  type Collection,
  pages,
  type Route,
  type ShareLink,
  sync
} from "../../client/src/index.ts"
import { attempt, Failure } from "./Failure.ts"
import { readText, replaceFile, replaceJson } from "./Files.ts"
import { account, print, showProgress } from "./Root.ts"

const STATE = "backup.json"

const State = Schema.Struct({
  origin: Schema.String,
  userId: Schema.Int,
  cursor: Schema.optionalKey(Schema.String)
})

const decodeState = Schema.decodeUnknownSync(Schema.fromJsonString(State))

export const readState = async (directory: string) => {
  const text = await readText(join(directory, STATE))
  return text === undefined ? undefined : decodeState(text)
}

const PLURAL = { route: "routes", collection: "collections" } as const

/** What was deleted stays in the backup, apart from the rest. */
const setAside = async (directory: string, file: string) => {
  const target = join(directory, "deleted", file)
  await mkdir(dirname(target), { recursive: true })
  await rename(join(directory, file), target).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error
  })
}

type Linked = Pick<Route | Collection, "id" | "visibility">

/** No link opens what is private. */
const linksOf = async ({ links }: Client, kind: "route" | "collection", { id, visibility }: Linked) => {
  const all: Array<ShareLink> = []
  if (visibility === "private") return all
  const list = kind === "route" ? links.listOfRoute : links.listOfCollection
  for await (const link of pages((page) => list.response({ params: { id }, query: { ...page } }))) all.push(link)
  return all
}

const save = async (directory: string, client: Client, change: ChangePage["changes"][number]) => {
  const { collection, id, route, type } = change
  const file = (extension: string) => join(PLURAL[type], `${id}.${extension}`)
  const item = route ?? collection
  if (item === undefined) {
    for (const extension of ["json", "gpx"]) await setAside(directory, file(extension))
    return
  }
  const links = await linksOf(client, type, item)
  if (route !== undefined) {
    await replaceFile(join(directory, file("gpx")), await client.files.gpx({ params: { ref: id } }))
  }
  await replaceJson(join(directory, file("json")), { ...item, links })
}

export const backup = Command.make(
  "backup",
  {
    directory: Argument.Directory("directory").pipe(Argument.withDescription("Where to; it is made if need be"))
  },
  Effect.fnUntraced(function*({ directory }) {
    const { client, origin } = yield* account
    const counts = { saved: 0, deleted: 0 }
    yield* attempt(async (options) => {
      const { id: userId } = (await client.credential.describe({}, options)).user
      const state = await readState(directory)
      if (state !== undefined && (state.origin !== origin || state.userId !== userId)) {
        throw Failure.because(`${directory} has the backup of another account: user ${state.userId} of ${state.origin}`)
      }
      let cursor = state?.cursor
      await sync(
        client,
        {
          cursor: () => cursor,
          apply: async (page) => {
            for (const [index, change] of page.changes.entries()) {
              showProgress(index + 1, page.changes.length, "changes of a page")
              await save(directory, client, change)
              counts[change.change === "deleted" ? "deleted" : "saved"]++
            }
            cursor = page.cursor
            await replaceJson(join(directory, STATE), { origin, userId, cursor })
          },
          reset: () => {
            cursor = undefined
          }
        },
        { geometry: "full" },
        options
      )
      const { handle, name, preferences } = await client.users.me({}, options)
      const { zones } = await client.users.privacyZones({}, options)
      await replaceJson(join(directory, "account.json"), { handle, name, preferences, zones })
    })
    yield* print(counts, `${counts.saved} saved, ${counts.deleted} deleted since the last time`)
  })
).pipe(Command.withDescription(
  "Keep a backup: routes as JSON and GPX, collections, links, settings and zones. The next run fetches what changed since"
))
