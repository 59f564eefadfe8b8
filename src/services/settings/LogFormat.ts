import { Context } from "effect"

export const LOG_FORMATS = ["json", "pretty"] as const

export const LogFormat = Context.Reference<typeof LOG_FORMATS[number]>("route-planning-service/LogFormat", {
  defaultValue: () => "json"
})
