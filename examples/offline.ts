import type { ChangePage } from "../src/schema/Change.ts"
import type { BatchResults } from "../src/schema/RouteBatch.ts"

type Members = Readonly<Record<string, unknown>>
type Results = typeof BatchResults.Type["results"]
/** Calls the service with a token, and fails where there is no network, and on other statuses than these say. */
export interface Service {
  /** Sends `POST /routes/batch` with an `Idempotency-Key` and a confirmation; gives the results of a 200. */
  readonly push: (operations: ReadonlyArray<object>, key: string) => Promise<Results>
  /** Reads `GET /sync` of routes without their lines; gives undefined for a cursor that is expired (410). */
  readonly pull: (cursor: string) => Promise<ChangePage | undefined>
}
/** An edit says what to change of the state that `etag` names, or deletes it by null. */
interface Edit extends Readonly<{ changes: Members | null; etag: string | undefined }> {}
type Edits = ReadonlyArray<readonly [key: string, edit: Edit]>
interface Copied extends Readonly<{ id: number; etag: string | undefined; route: Members }> {}

/** A request may have 8 MiB; less is sent again after a broken connection. An edit that is larger is sent alone. */
const MAX_BYTES = 4 * 1024 * 1024

/** Keeps a copy of an account's routes for use without a network. Keys are ids, or UUIDs of routes made here. */
export const offlineRoutes = (service: Service) => {
  let copy = new Map<string, Copied>()
  const keys = new Map<number, string>()
  const edits = new Map<string, Edit>()
  // These edits were refused by the last sync, and the next one sends them again.
  const refused = new Map<string, NonNullable<Results[number]["error"]>>()
  let sent: { readonly key: string; readonly edits: Edits; readonly operations: ReadonlyArray<object> } | undefined
  let cursor = ""
  const edit = (key: string, changes: Members | null, etag = edits.get(key)?.etag ?? copy.get(key)?.etag) =>
    edits.set(key, { changes: changes && { ...edits.get(key)?.changes, ...changes }, etag })
  const operationOf = ([key, { changes, etag: ifMatch }]: Edits[number]) => {
    const id = copy.get(key)?.id
    if (id === undefined) return { op: "create", route: { ...changes, clientId: key } }
    return changes === null ? { op: "delete", id, ifMatch } : { op: "update", id, ifMatch, changes }
  }
  const unsent = () => [...edits].filter(([key]) => !refused.has(key))
  const nextBatch = () => {
    let bytes = 0
    const hasRoom = (one: Edits[number]) => (bytes += new Blob([JSON.stringify(operationOf(one))]).size) <= MAX_BYTES
    const some = unsent().slice(0, 100).filter((one, index) => hasRoom(one) || index === 0)
    for (const [key] of some) edits.delete(key)
    return { key: crypto.randomUUID(), edits: some, operations: some.map(operationOf) }
  }
  const settle = ([key, { changes, etag: ifMatch }]: Edits[number], { error, etag, route }: Results[number]) => {
    const later = edits.get(key)
    const isStale = error?.details?.reason === "stale"
    if (route !== undefined) {
      keys.set(route.id, key)
      copy.set(key, { id: route.id, etag, route })
      if (later !== undefined) edits.set(key, { ...later, etag })
    } else if (error === undefined || error.statusCode === 404 || (later?.changes === null && !copy.has(key))) {
      for (const map of [copy, edits]) map.delete(key)
    } else if (!isStale || changes !== null) {
      // Both sides keep what only they have changed; a deletion gives way.
      edits.set(key, { changes, etag: isStale ? error.details?.etag : ifMatch })
      if (later !== undefined) edit(key, later.changes)
      if (!isStale) refused.set(key, error)
    }
  }
  const push = async () => {
    refused.clear()
    while (sent !== undefined || unsent().length > 0) {
      // A batch keeps its key until it is answered: it is done once, whatever is lost.
      sent ??= nextBatch()
      const results = await service.push(sent.operations, sent.key)
      for (const [index, one] of sent.edits.entries()) settle(one, results[index] ?? { op: "", status: 0 })
      sent = undefined
    }
  }
  const pull = async () => {
    let whole: typeof copy | undefined
    for (let [next, hasMore] = [cursor, true]; hasMore;) {
      const page = await service.pull(next)
      // The old copy is there until the new one is whole.
      if (page === undefined) whole = new Map()
      for (const { etag, id, route } of page?.changes ?? []) {
        const key = keys.get(id) ?? String(id)
        if (route === undefined) { for (const map of [whole ?? copy, edits]) map.delete(key) }
        else (whole ?? copy).set(key, { id, etag, route })
      }
      ;({ cursor: next, hasMore } = page ?? { cursor: "", hasMore })
      if (whole === undefined || !hasMore) cursor = next
    }
    for (const key of copy.keys()) if (whole?.has(key) === false) edits.delete(key)
    copy = whole ?? copy
  }
  const routes = () => {
    const shown = new Map([...copy].map(([key, { route }]): [string, Members] => [key, route]))
    for (const [key, { changes }] of [...sent?.edits ?? [], ...edits]) {
      if (changes === null) shown.delete(key)
      else shown.set(key, { ...shown.get(key), ...changes })
    }
    return shown
  }
  const create = (route: Members) => edit(crypto.randomUUID(), route)
  const isSent = (key: string) => copy.has(key) || sent?.edits.some(([one]) => one === key)
  const discard = (key: string) => {
    for (const map of [edits, refused]) map.delete(key)
  }
  const remove = (key: string) => isSent(key) ? edit(key, null) : discard(key)
  let last = Promise.resolve()
  const sync = () => last = last.catch(() => {}).then(push).then(pull)
  return { routes, refused: () => new Map(refused), create, change: edit, remove, discard, sync }
}
