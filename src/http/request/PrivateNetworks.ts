import { Config, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork } from "effect/net"
import { networks } from "../../services/settings/SettingTypes.ts"
import { clientAddress, unmapped } from "./ClientAddress.ts"

/** Loopback and private networks (RFC 1918, RFC 4193). */
const DEFAULT = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
  .map(IpNetwork.fromStringUnsafe)

export const insideNetworks = networks("METRICS_ALLOWED_CIDRS").pipe(Config.withDefault(DEFAULT))

/** Headers that proxies and content delivery networks add. */
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

/** Requests forwarded by a proxy that is not in `TRUSTED_PROXIES` count as external. */
export const isInside = (
  request: HttpServerRequest.HttpServerRequest,
  networks: ReadonlyArray<IpNetwork.IpNetwork>
): boolean => {
  const isForwarded = FORWARDING.some((name) => request.headers[name] !== undefined)
  // They differ only if a trusted proxy named the client.
  if (isForwarded && addressOf(request) === Option.getOrNull(request.peerAddress)) return false
  return Option.exists(
    clientAddress(request),
    (address) => networks.some((network) => IpNetwork.contains(network, unmapped(address)))
  )
}
