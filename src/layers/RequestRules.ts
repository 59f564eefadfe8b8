import type { IncomingMessage } from "node:http"
import { ExpectationFailed, NotImplemented, type ServiceError, ValidationFailed } from "../schema/Errors.ts"

type Rule = (request: IncomingMessage) => ServiceError | undefined

/** The parser accepts 0.9 and 2.0 as well, which do not have this syntax. */
const versionRule: Rule = ({ httpVersion }) =>
  httpVersion === "1.1" || httpVersion === "1.0"
    ? undefined
    : ValidationFailed.at("", `Expected HTTP/1.1 or HTTP/1.0, not HTTP/${httpVersion}`)

/** A name, an IPv4 or an IPv6 address with an optional port (RFC 9110, 7.2): no user, path or list. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%-]+)(?::\d{0,5})?$/i

const parses = (text: string) => HOST.test(text) && URL.canParse(`http://${text}`)

/** Parses a host once where all requests name the same. */
const makeIsHost = () => {
  const last = { text: "", isHost: false }
  return (text: string) => {
    if (text !== last.text) Object.assign(last, { text, isHost: parses(text) })
    return last.isHost
  }
}

const isHost = makeIsHost()

const isHostName = (name: string) => name.length === 4 && name.toLowerCase() === "host"

/** Node keeps the first of several and drops the others. */
const hostsOf = ({ rawHeaders }: IncomingMessage) =>
  rawHeaders.filter((_, index) => index % 2 === 1 && isHostName(rawHeaders[index - 1] ?? ""))

/** RFC 9112, 3.2. */
const hostRule: Rule = (request) => {
  const [host, ...others] = hostsOf(request)
  if (others.length > 0) return ValidationFailed.at("Host", `Expected once, not ${others.length + 1} times`)
  if (host === undefined) {
    return request.httpVersion === "1.0" ? undefined : ValidationFailed.at("Host", "Expected in HTTP/1.1, but missing")
  }
  return isHost(host)
    ? undefined
    : ValidationFailed.at("Host", "Expected a host name or an IP address, with an optional port")
}

/** RFC 9112, 6.1. */
const codingRule: Rule = ({ headers }) =>
  (headers["transfer-encoding"] ?? "chunked").toLowerCase() === "chunked"
    ? undefined
    : new NotImplemented({ message: "Transfer-Encoding: only \"chunked\" is implemented" })

/** RFC 9110, 10.1.1: HTTP/1.0 has no expectations. */
const expectationRule: Rule = ({ headers, httpVersion }) =>
  httpVersion === "1.0" || (headers.expect ?? "100-continue").toLowerCase() === "100-continue"
    ? undefined
    : new ExpectationFailed({ message: "Expect: only \"100-continue\" is implemented" })

const RULES: ReadonlyArray<Rule> = [versionRule, hostRule, codingRule, expectationRule]

export const requestFault = (request: IncomingMessage): ServiceError | undefined => {
  for (const rule of RULES) {
    const fault = rule(request)
    if (fault !== undefined) return fault
  }
  return undefined
}
