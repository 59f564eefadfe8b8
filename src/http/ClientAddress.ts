import { Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"

/** The part of an IPv6 address that is a customer's; the rest a customer may choose at will (RFC 6177). */
const NETWORK_SEGMENTS = 4

const networkOf = (address: NetAddress.IpAddress): string => {
  if (NetAddress.isIpv4Address(address)) return NetAddress.formatIp(address)
  const mapped = NetAddress.fromIpv4Mapped(address)
  return Option.isSome(mapped)
    ? NetAddress.formatIp(mapped.value)
    : NetAddress.ipv6ToSegments(address).slice(0, NETWORK_SEGMENTS).map((segment) => segment.toString(16)).join(":")
}

/** The client's address, without the zone that a link-local one may have. */
export const clientAddress = (request: HttpServerRequest.HttpServerRequest): Option.Option<NetAddress.IpAddress> =>
  Option.flatMap(
    request.remoteAddress,
    (text) => Result.getSuccess(NetAddress.ipFromString(text.replace(/%.*$/, "")))
  )

/** Whom a request without a credential is counted for: its IPv4 address, or the /64 of its IPv6 address. */
export const addressSubject = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.match(clientAddress(request), {
    onNone: () => "address:unknown",
    onSome: (address) => `address:${networkOf(address)}`
  })
