import { Config, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { networks } from "../services/SettingTypes.ts"
import { clientAddress } from "./ClientAddress.ts"

/** Loopback, and what is private (RFC 1918, RFC 4193). */
const DEFAULT = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
  .map(IpNetwork.fromStringUnsafe)

/** The networks that may read metrics (`METRICS_ALLOWED_CIDRS`, comma separated). */
export const insideNetworks = networks("METRICS_ALLOWED_CIDRS").pipe(Config.withDefault(DEFAULT))

const FORWARDING = ["forwarded", "x-forwarded-for", "x-real-ip"]

/** An IPv4 address that came over an IPv6 socket is an IPv4 address. */
const unmapped = (address: NetAddress.IpAddress): NetAddress.IpAddress =>
  NetAddress.isIpv4Address(address) ? address : Option.getOrElse(NetAddress.fromIpv4Mapped(address), () => address)

const addressOf = (request: HttpServerRequest.HttpServerRequest) => Option.getOrNull(request.remoteAddress)

/**
 * Whether a request came from one of the networks. A proxy has an address inside as well: what it passes on counts by
 * the client that it names, if the proxy is one of `TRUSTED_PROXIES`, and is from outside if it is not.
 */
export const isInside = (
  request: HttpServerRequest.HttpServerRequest,
  networks: ReadonlyArray<IpNetwork.IpNetwork>
): boolean => {
  const isForwarded = FORWARDING.some((name) => request.headers[name] !== undefined)
  // The two differ only where a trusted proxy named the client.
  if (isForwarded && addressOf(request) === Option.getOrNull(request.peerAddress)) return false
  return Option.exists(
    clientAddress(request),
    (address) => networks.some((network) => IpNetwork.contains(network, unmapped(address)))
  )
}
