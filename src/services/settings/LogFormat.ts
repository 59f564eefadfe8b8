import { Context } from "effect"

export const LOG_FORMATS = ["json", "pretty"] as const

/** How lines on standard output are written (`LOG_FORMAT`): one JSON object each, or for a person who looks on. */
export const LogFormat = Context.Reference<typeof LOG_FORMATS[number]>("route-planning-service/LogFormat", {
  defaultValue: () => "json"
})
