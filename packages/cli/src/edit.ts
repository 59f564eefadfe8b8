import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import { MAX_OPERATIONS } from "../../client/src/contract.ts"
import { batch, type BatchOperation, type Client, type Route } from "../../client/src/index.ts"
import { attempt, EXIT_CODES, Failure } from "./Failure.ts"
import { account, ask, print } from "./Root.ts"
import { all, filters, ids, lineOf, selected } from "./Routes.ts"
import { harmless } from "./Terminal.ts"

export const ls = Command.make("ls", filters, (given) =>
  Effect.gen(function*() {
    const { client } = yield* account
    const found: ReadonlyArray<Route> = yield* attempt(() => selected(client, { ...given, all: true, ids: [] }))
    yield* Effect.forEach(found, (route) => print(route, lineOf(route)), { discard: true })
  })).pipe(Command.withDescription("List routes, newest first: id, length, who may open it, name and tags"))

/** Lists have no entity tags: a route has one once the service has said what it is now. */
type Known = Route & { readonly etag?: string | undefined }

/**
 * Changes as many routes as a request takes, and prints what became of each, before the next: a failure hides no change.
 * A route that was changed meanwhile is next, as it is now.
 */
const changeEach = Effect.fnUntraced(function*(
  client: Client,
  routes: ReadonlyArray<Route>,
  operationOf: (route: Known) => BatchOperation,
  confirm: boolean
) {
  const counts = { done: 0, refused: 0 }
  const rest: Array<Known> = [...routes]
  while (rest.length > 0) {
    const some = rest.splice(0, MAX_OPERATIONS)
    let stale = 0
    const results = yield* attempt((options) =>
      batch(client, some.map(operationOf), { ...options, confirm, idempotencyKey: crypto.randomUUID() })
    ).pipe(
      Effect.mapError((failure) => counts.done === 0 ? failure : Failure.because(failure.message, EXIT_CODES.partial))
    )
    for (const [index, { error, status }] of results.entries()) {
      const route = some[index]
      if (route !== undefined && error?.details?.reason === "stale") {
        rest.splice(stale++, 0, { ...route, ...error.details.current, etag: error.details.etag })
        continue
      }
      const id = route?.id
      counts[error === undefined ? "done" : "refused"]++
      yield* print({ id, status, error }, `${String(id).padStart(8)}  ${error?.message ?? "done"}`)
    }
  }
  if (counts.refused === 0) return
  const exitCode = counts.done > 0 ? EXIT_CODES.partial : EXIT_CODES.failed
  return yield* Failure.because(`${counts.refused} of ${routes.length} routes were refused`, exitCode)
})

/** No route has this entity tag, so the service refuses the change and says what the route is now. */
const UNKNOWN = "\"\""

/** The service stores tags so. */
const normalised = (tag: string) => tag.trim().toLowerCase().replace(/\s+/gu, "-")

export const tag = Command.make(
  "tag",
  {
    ...filters,
    all,
    ids,
    add: Flag.String("add").pipe(Flag.withDescription("A tag to add; repeat it for several"), Flag.atLeast(0)),
    remove: Flag.String("remove").pipe(Flag.withDescription("A tag to remove; repeat it for several"), Flag.atLeast(0))
  },
  Effect.fnUntraced(function*({ add, remove, ...given }) {
    if (add.length + remove.length === 0) {
      return yield* Failure.because("no tag: --add or --remove names one", EXIT_CODES.usage)
    }
    const { client } = yield* account
    const removed = new Set(remove.map(normalised))
    const tagsOf = ({ tags }: Route) => [
      ...new Set([...tags.filter((tag) => !removed.has(tag)), ...add.map(normalised)])
    ]
    const found = yield* attempt(() => selected(client, given))
    const routes = found.filter((route) => tagsOf(route).join() !== route.tags.join())
    const tagged = ({ etag = UNKNOWN, ...route }: Known): BatchOperation => ({
      op: "update",
      id: route.id,
      ifMatch: etag,
      changes: { tags: tagsOf(route) }
    })
    yield* changeEach(client, routes, tagged, false)
  })
).pipe(
  Command.withDescription("Add tags to routes, and remove tags"),
  Command.withExamples([{ command: "rps tag --bbox=9,46.5,10,47.5 --add alps", description: "Tag what lies in a box" }])
)

export const publish = Command.make(
  "publish",
  {
    ...filters,
    all,
    ids,
    as: Flag.Literals("as", ["public", "unlisted", "private"]).pipe(
      Flag.withDescription("Who may open them afterwards"),
      Flag.withDefault("public")
    ),
    yes: Flag.Boolean("yes").pipe(Flag.withDescription("Do not ask"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function*({ as, yes, ...given }) {
    const { client } = yield* account
    const routes = (yield* attempt(() => selected(client, given))).filter(({ visibility }) => visibility !== as)
    if (routes.length > 0 && !yes) {
      const question = `${routes.map((route) => harmless(lineOf(route))).join("\n")}\nMake these ${as}?`
      if (!(yield* ask(Prompt.Confirm({ message: question }), "not confirmed: add --yes"))) {
        return yield* Failure.because("nothing was changed")
      }
    }
    const shown = ({ id }: Route) => ({ op: "update", id, changes: { visibility: as } } as const)
    yield* changeEach(client, routes, shown, true)
  })
).pipe(Command.withDescription("Make routes public, or with --as unlisted or private again"))

const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 7 * 24 }

const hoursOf = (text: string): number => {
  const [, count, unit = ""] = /^(\d{1,4})([hdw])$/.exec(text) ?? []
  const hours = HOURS[unit]
  if (hours === undefined) {
    throw Failure.because(`expires: "${text}" is not accepted: expected such as 12h, 7d or 2w`, EXIT_CODES.usage)
  }
  return Number(count) * hours
}

export const share = Command.make(
  "share",
  {
    id: Argument.Int("id").pipe(Argument.withDescription("The route")),
    expires: Flag.String("expires").pipe(Flag.withDescription("After 12h, 7d or 2w; never if absent"), Flag.optional),
    label: Flag.String("label").pipe(Flag.withDescription("A name of the link, for yourself"), Flag.optional),
    download: Flag.Boolean("download").pipe(
      Flag.withDescription("Whether the link opens files; --no-download if not"),
      Flag.withDefault(true)
    )
  },
  Effect.fnUntraced(function*({ download, expires, id, label }) {
    const { client, origin } = yield* account
    const now = yield* Clock.currentTimeMillis
    const link = yield* attempt(async () => {
      const hours = Option.map(expires, hoursOf)
      const { visibility } = await client.routes.get({ params: { ref: id }, query: { geometry: "none" } })
      if (visibility === "private") {
        throw Failure.because(`route ${id} is private, so no link opens it: run rps publish ${id} --as unlisted first`)
      }
      return client.links.createForRoute({
        params: { id },
        headers: { "Idempotency-Key": crypto.randomUUID() },
        payload: {
          label: Option.getOrNull(label),
          expiresAt: Option.isSome(hours) ? new Date(now + hours.value * 3_600_000).toISOString() : null,
          allowDownload: download
        }
      })
    })
    yield* print({ ...link, url: `${origin}/r/${link.token}` }, `${origin}/r/${link.token}`)
  })
).pipe(Command.withDescription("Make a link to a route, which may expire"))
