import { Config } from "effect"
import { settings } from "../settings/Registry.ts"
import { type Texts, textsIn } from "./Texts.ts"

/** What operators call the service, and the texts of its language. */
export interface Site {
  readonly name: string
  readonly texts: Texts
}

export const configuredSite: Config.Config<Site> = Config.map(
  Config.all({ language: settings.SITE_LANGUAGE, name: settings.SITE_NAME }),
  ({ language, name }) => ({ name, texts: textsIn(language) })
)
