import { Schema } from "effect"

/** The service cannot start as it is configured; the message names every setting to mend, and no value. */
export class SettingsRefused extends Schema.TaggedError<SettingsRefused>()("SettingsRefused", {
  message: Schema.String
}) {}
