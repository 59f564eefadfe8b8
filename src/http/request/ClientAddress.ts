import { Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { ownText } from "../../services/operations/Keys.ts"

/** Segments have 16 bits: a host has a /64, a site usually a /48 (RFC 6177, 2). */
const HOST_SEGMENTS = 4
const SITE_SEGMENTS = 3

/** Multiplies the limit of a /64 for its /48. */
export const SITE_FACTOR = 10

/** An IPv6 socket reports IPv4 clients as `::ffff:0:0/96`. */
const unmapped = (address: NetAddress.IpAddress): NetAddress.IpAddress =>
  NetAddress.isIpv4Address(address) ? address : Option.getOrElse(NetAddress.fromIpv4Mapped(address), () => address)

const prefixOf = (address: NetAddress.Ipv6Address, segments: number) =>
  NetAddress.ipv6ToSegments(address).slice(0, segments).map((segment) => segment.toString(16)).join(":")

const parseAddress = (text: string) => Result.getSuccess(NetAddress.ipFromString(text.replace(/%.*$/, "")))

const clientAddress = (request: HttpServerRequest.HttpServerRequest): Option.Option<NetAddress.IpAddress> =>
  Option.flatMap(request.remoteAddress, parseAddress)

/** Checks the connection, not the client in forwarding headers. */
export const isFromPeerIn = (
  request: HttpServerRequest.HttpServerRequest,
  networks: ReadonlyArray<IpNetwork.IpNetwork>
): boolean =>
  Option.exists(
    Option.flatMap(request.peerAddress, parseAddress),
    (address) => networks.some((network) => IpNetwork.contains(network, unmapped(address)))
  )

const NETWORK_BITS = { ipv4: 24, ipv6: 16 * SITE_SEGMENTS } as const

const cidrOf = (address: NetAddress.IpAddress) => {
  const bits = NetAddress.isIpv4Address(address) ? NETWORK_BITS.ipv4 : NETWORK_BITS.ipv6
  return IpNetwork.format(IpNetwork.fromAddressUnsafe(address, bits))
}

/** Returns the /24 of an IPv4 client, the /48 of an IPv6 client, and undefined for an unknown address. */
export const clientNetwork = (request: HttpServerRequest.HttpServerRequest): string | undefined =>
  Option.getOrUndefined(Option.map(clientAddress(request), (client) => cidrOf(unmapped(client))))

interface AddressSubjects {
  /** A host is an IPv4 address, or the /64 of an IPv6 address. */
  readonly host: string
  /** A site is the /48 of an IPv6 address; IPv4 has none. */
  readonly site: string | undefined
  /** A network is the /24 of an IPv4 address, or the /48 of an IPv6 address. */
  readonly network: string
  /** People read the network as this text, such as `203.0.113.0/24`. */
  readonly cidr: string
}

const UNKNOWN: AddressSubjects = {
  host: "address:unknown",
  site: undefined,
  network: "network:unknown",
  cidr: "unknown"
}

const subjectsOf = (text: string): AddressSubjects => {
  const address = Option.getOrUndefined(Option.map(parseAddress(text), unmapped))
  if (address === undefined) return UNKNOWN
  if (NetAddress.isIpv4Address(address)) {
    const text = NetAddress.formatIp(address)
    const network = `network:${text.slice(0, text.lastIndexOf("."))}`
    return { host: `address:${text}`, site: undefined, network, cidr: cidrOf(address) }
  }
  const site = prefixOf(address, SITE_SEGMENTS)
  const host = `address:${prefixOf(address, HOST_SEGMENTS)}`
  return { host, site: `address:${site}`, network: `network:${site}`, cidr: cidrOf(address) }
}

/** A full map is cleared: requests of one client follow each other, and an address takes 3 us to parse. */
const MAX_KEPT = 1_000

/** No address is longer; a proxy may forward any text as one. */
const MAX_LENGTH = 45

const kept = new Map<string, AddressSubjects>()

export const addressSubjects = (
  { remoteAddress }: Pick<HttpServerRequest.HttpServerRequest, "remoteAddress">
): AddressSubjects => {
  if (Option.isNone(remoteAddress)) return UNKNOWN
  const known = kept.get(remoteAddress.value)
  if (known !== undefined) return known
  if (remoteAddress.value.length > MAX_LENGTH) return subjectsOf(remoteAddress.value)
  const address = ownText(remoteAddress.value)
  const subjects = subjectsOf(address)
  if (kept.size >= MAX_KEPT) kept.clear()
  kept.set(address, subjects)
  return subjects
}

const FORWARDING = [
  "cdn-loop",
  "cf-connecting-ip",
  "cf-connecting-ipv6",
  "client-ip",
  "fastly-client-ip",
  "forwarded",
  "true-client-ip",
  "via",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-envoy-external-address",
  "x-forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-original-forwarded-for",
  "x-real-ip"
]

/** The addresses differ only if a trusted proxy named the client. */
export const isNamedByProxy = ({ peerAddress, remoteAddress }: HttpServerRequest.HttpServerRequest): boolean =>
  Option.getOrNull(remoteAddress) !== Option.getOrNull(peerAddress)

/** Requests forwarded by a proxy that is not in `TRUSTED_PROXIES` count as external. */
export const isInside = (
  request: HttpServerRequest.HttpServerRequest,
  networks: ReadonlyArray<IpNetwork.IpNetwork>
): boolean => {
  const isForwarded = FORWARDING.some((name) => request.headers[name] !== undefined)
  if (isForwarded && !isNamedByProxy(request)) return false
  return Option.exists(
    clientAddress(request),
    (address) => networks.some((network) => IpNetwork.contains(network, unmapped(address)))
  )
}
