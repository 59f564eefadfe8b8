import type { ChangePage } from "../src/schema/Change.ts"
import type { BatchResults } from "../src/schema/RouteBatch.ts"

type Members = Readonly<Record<string, unknown>>
type Results = typeof BatchResults.Type["results"]
/** Calls the service with a token, and fails where there is no network. */
export interface Service {
  /** Sends `POST /routes/batch` with an `Idempotency-Key` and a confirmation. */
  readonly push: (operations: ReadonlyArray<object>, key: string) => Promise<Results>
  /** Reads `GET /sync` of routes without their lines; gives undefined for a cursor that is expired (410). */
  readonly pull: (cursor: string) => Promise<ChangePage | undefined>
}
/** An edit says what to change of the state that `etag` names, or deletes it by null. */
interface Edit extends Readonly<{ changes: Members | null; etag: string | undefined }> {}
type Edits = ReadonlyArray<readonly [key: string, edit: Edit]>

/** Keeps a copy of an account's routes for use without a network. Keys are ids, or UUIDs of routes made here. */
export const offlineRoutes = (service: Service) => {
  const copy = new Map<string, { readonly id: number; readonly etag: string | undefined; readonly route: Members }>()
  const keys = new Map<number, string>()
  const edits = new Map<string, Edit>()
  let sent: { readonly key: string; readonly edits: Edits; readonly operations: ReadonlyArray<object> } | undefined
  let cursor = ""
  const edit = (key: string, changes: Members | null, etag = edits.get(key)?.etag ?? copy.get(key)?.etag) =>
    edits.set(key, { changes: changes && { ...edits.get(key)?.changes, ...changes }, etag })
  const operationOf = ([key, { changes, etag: ifMatch }]: Edits[number]) => {
    const id = copy.get(key)?.id
    if (id === undefined) return { op: "create", route: { ...changes, clientId: key } }
    return changes === null ? { op: "delete", id, ifMatch } : { op: "update", id, ifMatch, changes }
  }
  const nextBatch = () => {
    const some = [...edits].slice(0, 100)
    for (const [key] of some) edits.delete(key)
    return { key: crypto.randomUUID(), edits: some, operations: some.map(operationOf) }
  }
  const settle = ([key, { changes }]: Edits[number], { error, etag, route }: Results[number]) => {
    const later = edits.get(key)
    if (route !== undefined) {
      keys.set(route.id, key)
      copy.set(key, { id: route.id, etag, route })
      if (later !== undefined) edits.set(key, { ...later, etag })
    } else if (error?.details?.reason === "stale") {
      // Both sides keep what only they have changed; a deletion gives way.
      if (changes !== null) edits.set(key, { changes, etag: error.details.etag })
      if (changes !== null && later !== undefined) edit(key, later.changes)
    } else if (error === undefined || error.statusCode === 404) { for (const map of [copy, edits]) map.delete(key) }
  }
  const push = async () => {
    while (sent !== undefined || edits.size > 0) {
      // A batch keeps its key until it is answered: it is done once, whatever is lost.
      sent ??= nextBatch()
      const results = await service.push(sent.operations, sent.key)
      for (const [index, one] of sent.edits.entries()) settle(one, results[index] ?? { op: "", status: 0 })
      sent = undefined
    }
  }
  const pull = async () => {
    for (let hasMore = true; hasMore;) {
      const page: ChangePage = await service.pull(cursor) ?? { changes: [], cursor: "", hasMore }
      if (page.cursor === "") copy.clear()
      for (const { etag, id, route } of page.changes) {
        const key = keys.get(id) ?? String(id)
        if (route === undefined) copy.delete(key)
        else copy.set(key, { id, etag, route })
      }
      ;({ cursor, hasMore } = page)
    }
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
  const remove = (key: string) => copy.has(key) || sent !== undefined ? edit(key, null) : edits.delete(key)
  return { routes, create, change: edit, remove, sync: () => push().then(pull) }
}
