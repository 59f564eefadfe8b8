import { Context, String as Str } from "effect"

const header = <const Name extends string>(name: Name) => ({ name, key: Str.toLowerCase(name) })

/** Documentation uses `name`, messages `key`. */
export const HEADERS = {
  accessToken: header("X-Access-Token"),
  allowCredentials: header("Access-Control-Allow-Credentials"),
  allowHeaders: header("Access-Control-Allow-Headers"),
  allowMethods: header("Access-Control-Allow-Methods"),
  allowOrigin: header("Access-Control-Allow-Origin"),
  cache: header("X-Cache"),
  cacheControl: header("Cache-Control"),
  confirm: header("X-Service-Confirm"),
  contentDisposition: header("Content-Disposition"),
  contentSecurityPolicy: header("Content-Security-Policy"),
  contentTypeOptions: header("X-Content-Type-Options"),
  etag: header("ETag"),
  exposeHeaders: header("Access-Control-Expose-Headers"),
  idempotencyKey: header("Idempotency-Key"),
  ignoredMembers: header("X-Ignored-Members"),
  ifMatch: header("If-Match"),
  ifNoneMatch: header("If-None-Match"),
  link: header("Link"),
  location: header("Location"),
  maxAge: header("Access-Control-Max-Age"),
  rateLimit: header("RateLimit"),
  rateLimitPolicy: header("RateLimit-Policy"),
  referrerPolicy: header("Referrer-Policy"),
  requestId: header("X-Request-Id"),
  retryAfter: header("Retry-After"),
  robots: header("X-Robots-Tag"),
  setCookie: header("Set-Cookie"),
  strictTransportSecurity: header("Strict-Transport-Security"),
  tokenExpiresAt: header("X-Token-Expires-At"),
  totalCount: header("X-Total-Count"),
  vary: header("Vary"),
  wwwAuthenticate: header("WWW-Authenticate")
}

export type HeaderName = (typeof HEADERS)[keyof typeof HEADERS]["name"]

const NAMES: ReadonlyMap<string, string> = new Map(Object.values(HEADERS).map(({ key, name }) => [key, name]))

export const headerName = (key: string): string => NAMES.get(key) ?? key

/** Names the headers that no other declaration implies. */
export const OwnHeaders = Context.Reference<ReadonlyArray<HeaderName>>("route-planning-service/OwnHeaders", {
  defaultValue: () => []
})
