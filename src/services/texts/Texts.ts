import type { Language } from "../operations/SettingTypes.ts"
import { accountEnglish, type AccountTexts, routesEnglish, type RoutesTexts } from "./AccountEnglish.ts"
import { accountGerman, routesGerman } from "./AccountGerman.ts"
import { mailsEnglish, type MailTexts, signInEnglish, type SignInTexts } from "./SignInEnglish.ts"
import { mailsGerman, signInGerman } from "./SignInGerman.ts"
import {
  pagesEnglish,
  type PagesTexts,
  sharedEnglish,
  type SharedTexts,
  siteEnglish,
  type SiteTexts
} from "./SiteEnglish.ts"
import { pagesGerman, sharedGerman, siteGerman } from "./SiteGerman.ts"
import { wordingIn } from "./Wording.ts"

/** People read these texts in pages and mails. A language without one of them is a type error. */
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
