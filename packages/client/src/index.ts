import {
  type BatchOperation,
  type BatchResult,
  type CallOptions,
  type ChangePage,
  type Endpoints,
  groupsOf,
  MAX_OPERATIONS
} from "./contract.ts"
import { type ClientOptions, makeSend, type Request, ServiceError } from "./send.ts"

export type * from "./contract.ts"
export { type ClientOptions, ConnectionError, ServiceError } from "./send.ts"

/**
 * Makes a client of the whole contract: `client.routes.list(...)` returns the body of the response,
 * `client.routes.list.response(...)` the response as well. Calls fail with `ServiceError`. A session renews itself with
 * each response; signing in sets it, signing out removes it.
 */
export const makeClient = (options: ClientOptions) => {
  const { send, token } = makeSend(options)
  const groups = groupsOf((_, method, path) => {
    const response = (input: Request = {}, options: CallOptions = {}) => send(method, path, input, options)
    const body = async (input?: Request, options?: CallOptions) => (await response(input, options)).data
    return Object.assign(body, { response })
  })
  /** `token` is the present one, with which a later client can continue. */
  return { ...groups, token }
}
export type Client = ReturnType<typeof makeClient>

/** This part of a list's query is empty for the first page. */
export interface PageStart {
  readonly cursor?: string
}

interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly response: Response
}

const nextPage = (response: Response): PageStart | undefined => {
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1]
  if (next === undefined) return undefined
  const cursor = new URLSearchParams(next.split("?")[1]).get("cursor")
  if (cursor === null) throw new Error("offset: a list that is read page after page by cursors takes none")
  return { cursor }
}

/**
 * Returns all items of a list, page after page by their cursors. An item that exists throughout comes once, whatever is
 * added or deleted meanwhile.
 *
 * ```ts
 * for await (const route of pages((page) => client.routes.list.response({ query: { q: "alp", ...page } }))) …
 * ```
 */
export async function* pages<A>(list: (page: PageStart) => Promise<Page<A>>): AsyncGenerator<A, void> {
  for (let page: PageStart | undefined = {}; page !== undefined;) {
    const { data, response }: Page<A> = await list(page)
    page = nextPage(response)
    yield* data
  }
}

/** Keeps a copy of an account. */
export interface SyncStore {
  /** The cursor belongs to the last applied page; it is undefined before the first. */
  cursor(): Promise<string | undefined> | string | undefined
  /** Applies the changes of a page and keeps its cursor, both or neither. A change may come again. */
  apply(page: ChangePage): Promise<void> | void
  /** Removes the copy and its cursor: the service no longer knows what changed since, so the whole account follows. */
  reset(): Promise<void> | void
}

type SyncQuery = Omit<NonNullable<Endpoints["sync.list"]["input"]["query"]>, "cursor">

/** Brings a copy up to date, page by page. With `wait` and nothing to do, it ends after the next change or the wait. */
export const sync = async (
  { sync: { list } }: Pick<Client, "sync">,
  store: SyncStore,
  query: SyncQuery = {},
  options: CallOptions = {}
): Promise<void> => {
  const read = async () => {
    const cursor = await store.cursor()
    return list({ query: cursor === undefined ? query : { ...query, cursor } }, options)
  }
  const readAgain = async (error: unknown) => {
    if (!(error instanceof ServiceError && error.statusCode === 410)) throw error
    await store.reset()
    return read()
  }
  for (let hasMore = true; hasMore;) {
    const page: ChangePage = await read().catch(readAgain)
    await store.apply(page)
    hasMore = page.hasMore
  }
}

export interface BatchOptions extends CallOptions {
  /** True confirms operations that a personal access token must confirm. */
  readonly confirm?: boolean
  /** Another call with the same key and operations does none of them twice. */
  readonly idempotencyKey?: string
}

/** A request may have 8 MiB; less is sent again after a broken connection. */
const MAX_BYTES = 4 * 1024 * 1024

/** Returns the operations of one request, from the first on. An operation that is larger is alone in its request. */
const fitting = (operations: ReadonlyArray<BatchOperation>): ReadonlyArray<BatchOperation> => {
  let bytes = 0
  const end = operations.slice(0, MAX_OPERATIONS).findIndex((operation, index) => {
    bytes += new TextEncoder().encode(JSON.stringify(operation)).length
    return index > 0 && bytes > MAX_BYTES
  })
  return operations.slice(0, end === -1 ? MAX_OPERATIONS : end)
}

/** An operation that is larger than a request may be is refused alone, as any other. */
const refusedAlone = (some: ReadonlyArray<BatchOperation>) => (error: unknown) => {
  if (some.length > 1 || !(error instanceof ServiceError) || error.statusCode !== 413) throw error
  const { code, details, message, statusCode } = error
  return { results: some.map(({ op }) => ({ op, status: 413, error: { statusCode, code, message, details } })) }
}

/** No operation is behind the last one of a request, so the service refuses this: nothing before has made it. */
const NOTHING_MADE = `$${MAX_OPERATIONS - 1}`

/** The service counts `$n` within a request, so what an earlier request has made is named by its id. */
const referring = (operation: BatchOperation, done: ReadonlyArray<BatchResult>): BatchOperation => {
  if (!/Collection|Link/.test(operation.op)) return operation
  const idOf = (kind: "route" | "collection") => (reference: unknown) => {
    if (typeof reference !== "string") return reference
    const index = Number(reference.slice(1))
    return index < done.length ? done[index]?.[kind]?.id ?? NOTHING_MADE : `$${index - done.length}`
  }
  return JSON.parse(JSON.stringify(operation), (name, value) => {
    if (name === "routeIds") return value?.map(idOf("route"))
    if (name === "routeId") return idOf("route")(value)
    return name === "collectionId" ? idOf("collection")(value) : value
  })
}

/**
 * Runs any number of operations, and returns their results in order. `$n` is what the operation n of all has made.
 * `client.routes.batch` has atomic operations.
 */
export const batch = async (
  { routes }: Pick<Client, "routes">,
  operations: ReadonlyArray<BatchOperation>,
  { confirm = false, idempotencyKey, ...options }: BatchOptions = {}
): Promise<ReadonlyArray<BatchResult>> => {
  const all: Array<BatchResult> = []
  for (let request = 0, rest = operations; rest.length > 0; request++) {
    const some = fitting(rest)
    rest = rest.slice(some.length)
    const { results } = await routes.batch({
      headers: {
        ...(confirm ? { "X-Service-Confirm": "true" } : {}),
        ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": `${idempotencyKey}-${request}` })
      },
      payload: { operations: some.map((operation) => referring(operation, all)) }
    }, options).catch(refusedAlone(some))
    all.push(...results)
  }
  return all
}
