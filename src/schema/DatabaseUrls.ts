import { isPercentEncoded } from "./Text.ts"

const FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#@]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?$/i

const PARAMETERS = {
  sslmode: ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
  /** Writes need a primary with each of them; the values of libpq that ask for a standby are refused. */
  target_session_attrs: ["any", "read-write", "primary"]
}

const parametersOf = (url: string) => new URLSearchParams(FORM.exec(url)?.[4])

/**
 * Returns a URL for each host of a libpq URI with several (PostgreSQL, 32.1.1.3), which the driver does not know:
 * `postgres://a:5432,b:5432/name` or `postgres:///name?host=a,b&port=5432`. One port counts for all.
 */
export const hostsOf = (url: string): ReadonlyArray<string> => {
  const [, before = "", authority = "", path = ""] = FORM.exec(url) ?? []
  const parameters = parametersOf(url)
  const hosts = (parameters.get("host") ?? authority).split(",")
  if (hosts.length === 1) return [url]
  if (!parameters.has("host")) return hosts.map((host) => `${before}${host}${path}?${parameters}`)
  const ports = (parameters.get("port") ?? "5432").split(",")
  return hosts.map((host, n) => {
    const own = new URLSearchParams(parameters)
    own.set("host", host)
    own.set("port", ports[ports.length === 1 ? 0 : n] ?? "")
    return `${before}${path}?${own}`
  })
}

/** The driver decodes what is before the parameters. */
const isDatabaseUrl = (text: string) =>
  FORM.test(text) && isPercentEncoded(text.replace(/\?.*/s, ""))
  && hostsOf(text).every((url) => URL.canParse(url))

export const hasOneHost = (text: string): boolean => isDatabaseUrl(text) && hostsOf(text).length === 1

/** Returns what is expected instead of a wrong value. */
export const checkDatabaseUrl = (text: string): string | undefined => {
  if (!isDatabaseUrl(text)) return "Expected a postgres or postgresql URL, percent-encoded"
  const given = parametersOf(text)
  const wrong = Object.entries(PARAMETERS).find(([name, values]) =>
    given.getAll(name).some((value) => !values.includes(value))
  )
  return wrong && `Expected ${wrong[0]} to be one of ${wrong[1].join(", ")}`
}
