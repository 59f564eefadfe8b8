import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork } from "effect/net"
import { clientAddress, unmapped } from "./ClientAddress.ts"

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
