import { Context } from "effect"

/** Facts about a request for its log line and its span, written by those who learn them. */
export interface RequestNotes {
  /** The trace id, which is `X-Request-Id` of the response. */
  readonly id: string
  caller?: {
    /** The pseudonym of the account. */
    readonly idHash: string
    readonly session?: string
    readonly token?: number
  }
  /** `code` and `details.reason` of the error that was rendered last. */
  error?: { readonly code: string; readonly reason?: string }
  /** Facts that the response hides. */
  fault?: {
    /** The lane, rate, quota or other limit that refused the work. */
    readonly limit?: string
    /** PostgreSQL's code. */
    readonly sqlState?: string
    /** The kind of failure, such as `UpstreamAway`. */
    readonly cause?: string
  }
}

/** One object for each request. Work outside of requests shares one that nobody reads. */
export const RequestNotes = Context.Reference<RequestNotes>("route-planning-service/RequestNotes", {
  defaultValue: () => ({ id: "" })
})
