import type { RateTier } from "../../../schema/RateTier.ts"
import type { Declared } from "./Declared.ts"

const KIB = 1024

const bytes = (limit: number) => limit >= KIB * KIB ? `${limit / KIB / KIB} MiB` : `${limit / KIB} KiB`

const whoOf = ({ callers }: Declared): string => {
  switch (callers.kind) {
    case "anybody":
      return "Anybody; no credential is looked at."
    case "signed-out":
      return "Anybody but a personal access token."
    case "visitor":
      return "Anybody, a session, or any personal access token."
    case "session":
      return "A session; personal access tokens are refused."
    case "caller":
      return `A session, or a personal access token with scope \`${callers.scope}\`.`
  }
}

const pendingOf = ({ callers, isOpenWhilePending }: Declared): string => {
  if (callers.kind === "anybody" || callers.kind === "signed-out") return ""
  return isOpenWhilePending ? " Open to an account that is pending deletion." : ""
}

const subjectOf = (tier: RateTier, isByAddress: boolean): string => {
  if (tier === "auth") return "client's address, and for the email address where the body has one"
  return isByAddress ? "client's address" : "token, the user or the client's address"
}

const limitOf = ({ rateLimit }: Declared): string => {
  if (rateLimit === undefined) return "No rate limit."
  const { isByAddress, limit, tier } = rateLimit
  return `At most ${limit} requests a minute (tier \`${tier}\`), counted for the ${subjectOf(tier, isByAddress)}.`
}

const bodyOf = ({ bodyLimit }: Declared): string =>
  bodyLimit === undefined ? "" : ` A body of at most ${bytes(bodyLimit)}.`

/** Who may call an endpoint, how often and with how much, in words. */
export const conditionsOf = (declared: Declared): string =>
  `${whoOf(declared)}${pendingOf(declared)} ${limitOf(declared)}${bodyOf(declared)}`
