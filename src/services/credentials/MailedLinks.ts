import { Redacted } from "effect"

export const mailedLink = (app: URL, page: string, token: Redacted.Redacted): Redacted.Redacted => {
  const url = new URL(page, app.href.endsWith("/") ? app : `${app.href}/`)
  url.searchParams.set("token", Redacted.value(token))
  return Redacted.make(url.href)
}
