import { inWords, SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { SESSION_COOKIE } from "../api/Access.ts"
import type { Declared } from "./Declared.ts"

/** Programs that try requests use the first one that they find. */
export const SECURITY_SCHEMES = {
  personalAccessToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "service_pat_...",
    description: "A script's token, with scope `read` or `write` (which includes `read`)."
  },
  sessionToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A session by its JWT, `accessToken` of a sign-in; each response has a fresh one in "
      + "`X-Access-Token`."
  },
  sessionCookie: {
    type: "apiKey",
    in: "cookie",
    name: SESSION_COOKIE,
    description: `The same session of a browser: signing in sets the cookie, each response renews it for ${
      inWords(SESSION_TOKEN_LIFETIME)
    }.`
  }
}

const sessions = [{ sessionToken: [] }, { sessionCookie: [] }]

/** The entries are alternatives: an empty list means no authentication, `{}` an anonymous caller. */
export const securityOf = ({ callers }: Declared): ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>> => {
  switch (callers.kind) {
    case "anyone":
    case "signed-out":
      return []
    case "session":
      return sessions
    case "visitor":
      return [{ personalAccessToken: ["read"] }, ...sessions, {}]
    case "caller":
      return [{ personalAccessToken: [callers.scope] }, ...sessions]
  }
}

const KIB = 1024

const bytes = (limit: number) => limit >= KIB * KIB ? `${limit / KIB / KIB} MiB` : `${limit / KIB} KiB`

const whoOf = ({ callers }: Declared): string => {
  switch (callers.kind) {
    case "anyone":
      return "Anyone; credentials are ignored."
    case "signed-out":
      return "Anyone, except with a personal access token."
    case "visitor":
      return "Anyone, a session, or any personal access token. An invalid `Authorization` is refused; an invalid session "
        + "cookie is cleared, and the caller is anonymous."
    case "session":
      return "A session; personal access tokens are refused."
    case "caller":
      return `A session, or a personal access token with scope \`${callers.scope}\`.`
  }
}

const pendingOf = ({ callers, isOpenWhilePending }: Declared): string => {
  if (callers.kind === "anyone" || callers.kind === "signed-out") return ""
  if (callers.kind === "visitor") return " An account that is pending deletion sees what an anonymous caller sees."
  return isOpenWhilePending ? " Open to an account that is pending deletion." : ""
}

const subjectOf = ({ callers, rateLimit }: Declared): string => {
  if (rateLimit?.tier === "auth") {
    return "client's address, and for the email address where the body has one (of a sign-up or a reset: for each network that "
      + "asks)"
  }
  if (rateLimit?.isByAddress === true) return "client's address"
  return callers.kind === "session" ? "user or the client's address" : "token, the user or the client's address"
}

const limitOf = (declared: Declared): string => {
  if (declared.rateLimit === undefined) return "No rate limit."
  const { limit, tier } = declared.rateLimit
  return `At most ${limit} requests a minute (tier \`${tier}\`), counted for the ${subjectOf(declared)}.`
}

const bodyOf = ({ bodyLimit }: Declared): string =>
  bodyLimit === undefined ? "" : ` A body of at most ${bytes(bodyLimit)}.`

export const conditionsOf = (declared: Declared): string =>
  `${whoOf(declared)}${pendingOf(declared)} ${limitOf(declared)}${bodyOf(declared)}`
