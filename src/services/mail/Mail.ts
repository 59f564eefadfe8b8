import type { Redacted } from "effect"

/** The link is a secret: anyone who has it acts as the recipient. `ifNotYou` is for an unexpected mail. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly link: Redacted.Redacted | undefined
  readonly ifNotYou?: string | undefined
}
