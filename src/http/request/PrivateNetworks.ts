import { Config, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork } from "effect/net"
import { networks } from "../../services/settings/SettingTypes.ts"
import { clientAddress, unmapped } from "./ClientAddress.ts"

/** Loopback, and what is private (RFC 1918, RFC 4193). */
const DEFAULT = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
  .map(IpNetwork.fromStringUnsafe)

/** The networks that may read metrics (`METRICS_ALLOWED_CIDRS`, comma separated). */
export const insideNetworks = networks("METRICS_ALLOWED_CIDRS").pipe(Config.withDefault(DEFAULT))

/** What proxies and content delivery networks add to a request: `Via` (RFC 9110, 7.6.3), and their own ways to name a client. */
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
