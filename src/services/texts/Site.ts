import { Config, Option, Struct } from "effect"
import { settings } from "../operations/SettingsRegistry.ts"
import { isLogoUrl, LOGO_TYPES, type SiteColor } from "../operations/SettingTypes.ts"
import { type Texts, textsIn } from "./Texts.ts"

export interface Logo {
  /** The address is absolute, for mails. */
  readonly address: string
  /** The service serves the file; there is none if another server has the logo. */
  readonly file: string | undefined
}

export interface Site {
  readonly name: string
  readonly texts: Texts
  readonly color: SiteColor
  readonly logo: Logo | undefined
  readonly address: string
  readonly notice: string | undefined
}

export const logoType = (file: string): string =>
  LOGO_TYPES[Struct.keys(LOGO_TYPES).find((type) => file.endsWith(type)) ?? "svg"]

export const logoPath = (file: string): string => `assets/logo.${file.split(".").at(-1)}`

const logoOf = (given: string, base: URL): Logo =>
  isLogoUrl(given)
    ? { address: given, file: undefined }
    : { address: `${base.href.replace(/\/?$/, "/")}${logoPath(given)}`, file: given }

export const configuredSite: Config.Config<Site> = Config.map(
  Config.all({
    base: settings.BASE_URL,
    color: settings.SITE_COLOR,
    language: settings.SITE_LANGUAGE,
    logo: settings.SITE_LOGO_URL,
    name: settings.SITE_NAME,
    notice: settings.SITE_NOTICE_URL
  }),
  ({ base, color, language, logo, name, notice }) => ({
    name,
    texts: textsIn(language),
    color,
    logo: Option.getOrUndefined(Option.map(logo, (given) => logoOf(given, base))),
    address: base.href,
    notice: Option.getOrUndefined(notice)?.href
  })
)
