/** It cannot be run on this machine, or not in this form. */
export class Skipped {
  readonly _tag = "Skipped"
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}
