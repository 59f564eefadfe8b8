import { REASONS } from "../../schema/ErrorDetails.ts"
import {
  BadGateway,
  GatewayTimeout,
  NotFound,
  type ServiceError,
  Unavailable,
  ValidationFailed
} from "../../schema/Errors.ts"
import type { BeyondEngine, NoRoad, UpstreamError } from "../../services/DomainErrors.ts"
import { internalError } from "./ErrorResponse.ts"

export const TOO_MANY_SIGN_INS = "Too many sign-ins are in progress: try again"

const noRoad = ({ near }: NoRoad) => {
  if (near === undefined) {
    return new NotFound({ message: "There is no road near a location", details: { reason: REASONS.noRoad } })
  }
  const { locations, metres } = near
  const names = locations.length === 0 ? "a location" : locations.map((index) => `locations.${index}`).join(", ")
  return new NotFound({
    message: `There is no road within ${metres} m of ${names}`,
    details: { reason: REASONS.noRoad, ...(locations.length === 0 ? {} : { locations }) }
  })
}

const PATHLESS = {
  locations: "There is no path between the locations",
  trace: "The trace does not follow any roads"
} as const

const BEYOND = {
  locations: { reason: REASONS.tooManyLocations, message: "There are too many locations" },
  points: { reason: REASONS.tooManyPoints, message: "The trace has too many points" },
  distance: { reason: REASONS.tooFar, message: "The locations are too far apart" },
  bounds: { reason: REASONS.tooFar, message: "The trace is out of the engine's bounds" },
  gaps: { reason: REASONS.tooFar, message: "The points of the trace are too far apart" }
} as const

const beyondEngine = ({ limit }: BeyondEngine) => {
  const { message, reason } = BEYOND[limit]
  return new ValidationFailed({ message, details: { reason, issues: [{ path: "", message }] } })
}

/** Messages for failures of upstream services, and for limits of the routing engine. */
export const PUBLIC_UPSTREAM = {
  UpstreamUnusable: ({ name }) => new BadGateway({ message: `${name} sent an unusable response` }),
  UpstreamAway: ({ name }) => new Unavailable({ message: `${name} is not reachable` }),
  UpstreamSlow: ({ name }) => new GatewayTimeout({ message: `${name} did not respond in time` }),
  EngineBusy: () => new Unavailable({ message: "The routing engine is busy: try again" }),
  EngineMisused: internalError,
  BeyondEngine: beyondEngine,
  TraceTooLong: ({ member, metres }) =>
    new ValidationFailed({
      message: "The trace is too long",
      details: {
        reason: REASONS.tooFar,
        issues: [{ path: member, message: `Expected a trace of at most ${metres / 1000} km` }]
      }
    }),
  ProviderBusy: () => new Unavailable({ message: TOO_MANY_SIGN_INS }),
  ProviderNotConfigured: () => new Unavailable({ message: "Sign-in by an identity provider is not configured" }),
  NoRoad: noRoad,
  NoPath: ({ of }) => new NotFound({ message: PATHLESS[of], details: { reason: REASONS.noPath } })
} satisfies { readonly [Error in UpstreamError as Error["_tag"]]: (error: Error) => ServiceError }
