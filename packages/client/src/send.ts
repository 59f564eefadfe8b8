import type { CallOptions, ErrorBody, FileBody } from "./contract.ts"

export interface ClientOptions {
  /** The service is at this address, such as `https://routes.example.com`. */
  readonly baseUrl: string | URL
  /** It is a personal access token or a session's JWT. Without it the client is anonymous until it signs in. */
  readonly token?: string
  /** A call is repeated at most this often after a broken connection or 502 to 504; 3 times if absent. */
  readonly retries?: number
  /** All waits of a call together, also for a rate limit, take at most this many milliseconds; 2 minutes if absent. */
  readonly retryTimeout?: number
  /** The client calls this before each wait for a retry, with the reason in words. */
  readonly onWait?: (milliseconds: number, reason: string) => void
  readonly fetch?: typeof fetch
}

export interface Request {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly payload?: unknown
}

/** The service refused a call. `details` has facts for a program, such as `reason`. */
export class ServiceError extends Error implements ErrorBody {
  override readonly name = "ServiceError"
  readonly statusCode: number
  readonly code: ErrorBody["code"]
  readonly details: NonNullable<ErrorBody["details"]>
  readonly response: Response

  constructor(response: Response, { code, details, message, statusCode }: ErrorBody) {
    super(message)
    this.statusCode = statusCode
    this.code = code
    this.details = details ?? {}
    this.response = response
  }
}

/** The service could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError"
}

const isFile = (payload: unknown): payload is FileBody =>
  typeof payload === "string" || payload instanceof Blob || payload instanceof FormData
  || payload instanceof ArrayBuffer || payload instanceof Uint8Array

const urlOf = (baseUrl: string | URL, path: string, { params = {}, query = {} }: Request): URL => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const base = new URL(baseUrl)
  const url = new URL(`${base.pathname.replace(/\/$/, "")}${filled}`, base)
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) url.searchParams.append(name, String(one))
    }
  }
  return url
}

/** A form is encoded once: each encoding has another boundary, so a repeat with its key would be another request. */
const bodyOf = async (payload: unknown) => {
  if (payload === undefined) return {}
  if (payload instanceof FormData) {
    const once = new Response(payload)
    return { body: await once.blob(), type: once.headers.get("Content-Type") ?? "" }
  }
  if (isFile(payload)) return { body: payload, type: "application/octet-stream" }
  return { body: JSON.stringify(payload), type: "application/json" }
}

const headersOf = ({ headers = {} }: Request, token: string | undefined, type: string | undefined): Headers => {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all.set(name, value)
  }
  if (token !== undefined) all.set("Authorization", `Bearer ${token}`)
  if (type !== undefined && !all.has("Content-Type")) all.set("Content-Type", type)
  return all
}

/** A repeat of what was done already must have the same response: a deletion would be 404, and an `If-Match` stale. */
const isRepeatable = (method: string, headers: Headers): boolean =>
  (["GET", "PUT"].includes(method) && !headers.has("If-Match")) || headers.has("Idempotency-Key")

const TEMPORARY = new Set([502, 503, 504])

/** The first call with the same key still runs: a repeat of it has its response. */
const isStillRunning = ({ content, response }: Received): boolean =>
  response.status === 409 && parsed(String(content))?.details?.reason === "key_in_use"

/** Returns the wait of `Retry-After` in milliseconds (RFC 9110, 10.2.3). */
const retryAfter = (response: Response | undefined): number | undefined => {
  const header = response?.headers.get("Retry-After") ?? ""
  if (/^\d+$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : date - Date.now()
}

const MAX_BACKOFF = 8000

/** A service that names no time to wait, or one that is over, would have a call again without end. */
const MIN_WAIT = 250

const backoff = (attempt: number): number => Math.min(2 ** attempt * 250, MAX_BACKOFF) * (1 + Math.random())

const sleep = (wait: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, wait)
    signal?.addEventListener("abort", stop, { once: true })
  })

const typeOf = (response: Response): string => (response.headers.get("Content-Type") ?? "").split(";")[0] ?? ""

type Content = string | Uint8Array<ArrayBuffer> | Response["body"]

/** Lines of JSON are left to the caller to read. */
const contentOf = async (response: Response): Promise<Content> => {
  const type = typeOf(response)
  if (/[/-]ndjson$/.test(type)) return response.body
  return /^text\/|[/+](?:json|xml)$/.test(type) ? response.text() : new Uint8Array(await response.arrayBuffer())
}

interface Received {
  readonly response: Response
  readonly content: Content
}

/** The declarations describe the responses of the service; nothing checks them again. */
const dataOf = ({ content, response }: Received) =>
  typeof content === "string" && /[/+]json$/.test(typeOf(response)) ? JSON.parse(content) : content

const parsed = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A front may respond in place of the service, in another shape. */
const errorOf = ({ content, response }: Received): ServiceError => {
  const message = `${response.status} ${response.statusText}`.trim()
  const body = parsed(String(content))
  return new ServiceError(response, { code: "INTERNAL", message, ...body, statusCode: response.status })
}

/** No operation responds with a page, as portals and proxies do. A redirect to another origin loses the token. */
const checkOrigin = ({ origin }: URL, response: Response): void => {
  if (response.ok && typeOf(response) === "text/html") {
    throw new ConnectionError(`${origin} responded with a page: is this the address of the service?`)
  }
  const other = response.redirected ? new URL(response.url).origin : origin
  if (other !== origin) throw new ConnectionError(`${origin} leads to ${other}: use that`)
}

/** Sends calls with the token of the client. A response renews only the token that its call was sent with. */
export const makeSend = (options: ClientOptions) => {
  const { baseUrl, retries = 3, retryTimeout = 120_000 } = options
  const request = options.fetch ?? fetch
  let token = options.token

  const attempt = async (url: URL, init: RequestInit): Promise<Received | ConnectionError> => {
    let response: Response | undefined
    try {
      response = await request(url, init)
      return { response, content: await contentOf(response) }
    } catch (cause) {
      init.signal?.throwIfAborted()
      const what = response === undefined ? "is not reachable" : "did not send the whole response"
      return new ConnectionError(`${url.origin} ${what}`, { cause })
    }
  }

  const respond = async (url: URL, init: RequestInit & { headers: Headers; method: string }): Promise<Received> => {
    for (let left = retryTimeout, tries = 0;;) {
      const result = await attempt(url, init)
      const response = result instanceof ConnectionError ? undefined : result.response
      const isTemporary = result instanceof ConnectionError || TEMPORARY.has(result.response.status)
        || isStillRunning(result)
      const isLimited = response?.status === 429
      const isRetried = isLimited || (isTemporary && tries < retries && isRepeatable(init.method, init.headers))
      const wait = Math.max(retryAfter(response) ?? backoff(tries), MIN_WAIT)
      if (!isRetried || wait > left) {
        if (result instanceof ConnectionError) throw result
        return result
      }
      if (!isLimited) tries++
      left -= wait
      const reason = result instanceof ConnectionError ? result.message : `${url.origin} responded ${response?.status}`
      options.onWait?.(wait, reason)
      await sleep(wait, init.signal ?? undefined)
    }
  }

  const send = async (method: string, path: string, input: Request, { signal }: CallOptions) => {
    const { body, type } = await bodyOf(input.payload)
    const url = urlOf(baseUrl, path, input)
    const sentWith = token
    const received = await respond(url, {
      method,
      headers: headersOf(input, sentWith, type),
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal })
    })
    const { response } = received
    checkOrigin(url, response)
    if (token === sentWith) token = response.headers.get("X-Access-Token") ?? token
    if (!response.ok) throw errorOf(received)
    const data = dataOf(received)
    if (path.startsWith("/api/v1/auth/")) token = path.endsWith("/logout") ? undefined : data.accessToken ?? token
    return { data, response }
  }

  return { send, token: () => token }
}
