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
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? ""
  const cursor = new URLSearchParams(next.split("?")[1]).get("cursor")
  return cursor === null ? undefined : { cursor }
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
    yield* data
    page = nextPage(response)
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

/** Runs any number of operations, and returns their results in order. `client.routes.batch` has atomic operations. */
export const batch = async (
  { routes }: Pick<Client, "routes">,
  operations: ReadonlyArray<BatchOperation>,
  { confirm = false, idempotencyKey, ...options }: BatchOptions = {}
): Promise<ReadonlyArray<BatchResult>> => {
  const all: Array<BatchResult> = []
  for (let start = 0; start < operations.length; start += MAX_OPERATIONS) {
    const { results } = await routes.batch({
      headers: {
        ...(confirm ? { "X-Service-Confirm": "true" } : {}),
        ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": `${idempotencyKey}-${start / MAX_OPERATIONS}` })
      },
      payload: { operations: operations.slice(start, start + MAX_OPERATIONS) }
    }, options)
    all.push(...results)
  }
  return all
}
