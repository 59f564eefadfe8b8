import type { Language } from "../settings/SettingTypes.ts"
import { accountEnglish, type AccountTexts } from "./AccountEnglish.ts"
import { accountGerman } from "./AccountGerman.ts"
import { mailsEnglish, type MailTexts } from "./MailsEnglish.ts"
import { mailsGerman } from "./MailsGerman.ts"
import { pagesEnglish, type PagesTexts } from "./PagesEnglish.ts"
import { pagesGerman } from "./PagesGerman.ts"
import { routesEnglish, type RoutesTexts } from "./RoutesEnglish.ts"
import { routesGerman } from "./RoutesGerman.ts"
import { sharedEnglish, type SharedTexts } from "./SharedEnglish.ts"
import { sharedGerman } from "./SharedGerman.ts"
import { signInEnglish, type SignInTexts } from "./SignInEnglish.ts"
import { signInGerman } from "./SignInGerman.ts"
import { siteEnglish, type SiteTexts } from "./SiteEnglish.ts"
import { siteGerman } from "./SiteGerman.ts"
import { wordingIn } from "./Wording.ts"

/** All texts that people read in pages and mails. A language without one of them is a type error. */
export interface Texts extends AccountTexts, RoutesTexts, SignInTexts, SiteTexts {
  readonly language: Language
  readonly wording: ReturnType<typeof wordingIn>
  readonly mails: MailTexts
  readonly shared: SharedTexts
  readonly pages: PagesTexts
}

const TEXTS: Readonly<Record<Language, Texts>> = {
  en: {
    language: "en",
    wording: wordingIn("en"),
    ...accountEnglish,
    ...routesEnglish,
    ...signInEnglish,
    ...siteEnglish,
    mails: mailsEnglish,
    shared: sharedEnglish,
    pages: pagesEnglish
  },
  de: {
    language: "de",
    wording: wordingIn("de"),
    ...accountGerman,
    ...routesGerman,
    ...signInGerman,
    ...siteGerman,
    mails: mailsGerman,
    shared: sharedGerman,
    pages: pagesGerman
  }
}

export const textsIn = (language: Language): Texts => TEXTS[language]
