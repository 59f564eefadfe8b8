import { inWords, SESSION_TOKEN_LIFETIME } from "../../../schema/Limits.ts"
import { SESSION_COOKIE } from "../Authentication.ts"
import type { Declared } from "./Declared.ts"

export const SECURITY_SCHEMES = {
  sessionCookie: {
    type: "apiKey",
    in: "cookie",
    name: SESSION_COOKIE,
    description: `A browser's session: signing in sets the cookie, each response renews it for ${
      inWords(SESSION_TOKEN_LIFETIME)
    }.`
  },
  sessionToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The same session by its JWT, `accessToken` of a sign-in; each response has a fresh one in "
      + "`X-Access-Token`."
  },
  personalAccessToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "service_pat_...",
    description: "A script's token, with scope `read` or `write` (which includes `read`)."
  }
}

const sessions = [{ sessionCookie: [] }, { sessionToken: [] }]

/** Alternatives: an empty list means no authentication, `{}` an anonymous caller. */
export const securityOf = ({ callers }: Declared): ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>> => {
  switch (callers.kind) {
    case "anyone":
    case "signed-out":
      return []
    case "session":
      return sessions
    case "visitor":
      return [{}, ...sessions, { personalAccessToken: ["read"] }]
    case "caller":
      return [...sessions, { personalAccessToken: [callers.scope] }]
  }
}
