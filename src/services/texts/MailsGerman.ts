import { INVITATION_LIFETIME, LINK_LIFETIME, TOKEN_EXPIRY_MAILED } from "../../schema/Limits.ts"
import type { MailTexts } from "./MailsEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { date, duration, time } = wordingIn("de")

const MAY = { read: "lesen", write: "lesen und ändern" } as const

export const mailsGerman: MailTexts = {
  asked: (at, network) =>
    `Diese E-Mail wurde am ${time(at)} ${
      network === undefined ? "aus einem unbekannten Netz" : `aus dem Netz ${network}`
    } angefordert.`,
  verification: {
    subject: "Bestätigen Sie Ihre E-Mail-Adresse",
    text: `Öffnen Sie diesen Link innerhalb von ${
      duration(LINK_LIFETIME["verify-email"])
    }, um Ihre E-Mail-Adresse zu bestätigen und sich anzumelden:`,
    linkText: "Adresse bestätigen",
    ifNotYou:
      "Wenn Sie sich nicht registriert haben, beachten Sie diese E-Mail nicht: Es gibt kein Konto, solange der Link nicht "
      + "benutzt wird."
  },
  invitation: {
    subject: "Sie sind eingeladen",
    text: (name, host) =>
      `Willkommen! Die Verwaltung von ${name} (${host}) lädt Sie ein, dort Ihre Routen zu planen, aufzubewahren und zu teilen. `
      + `Dieser Link gilt ${
        duration(INVITATION_LIFETIME)
      } lang: Öffnen Sie ihn und wählen Sie einen Namen und ein Passwort, dann ist Ihr Konto bereit.`,
    linkText: "Einladung annehmen",
    ifNotYou:
      "Wenn Sie kein Konto möchten, beachten Sie diese E-Mail nicht: Es gibt keines, solange der Link nicht benutzt wird."
  },
  reset: {
    subject: "Setzen Sie Ihr Passwort zurück",
    text: `Öffnen Sie diesen Link innerhalb von ${
      duration(LINK_LIFETIME["reset-password"])
    }, um ein neues Passwort zu wählen:`,
    linkText: "Neues Passwort wählen",
    ifNotYou: "Wenn Sie nicht darum gebeten haben, beachten Sie diese E-Mail nicht: Ihr Passwort bleibt, wie es ist."
  },
  known: {
    subject: "Sie haben schon ein Konto",
    text:
      "Jemand, wahrscheinlich Sie, wollte sich mit dieser Adresse registrieren. Zu ihr gibt es schon ein Konto: Melden Sie "
      + "sich an, oder setzen Sie Ihr Passwort zurück.",
    ifNotYou: "Wenn Sie das nicht waren, beachten Sie diese E-Mail nicht: Es hat sich nichts geändert."
  },
  passwordChanged: {
    subject: "Ihr Passwort wurde geändert",
    byLink: "Ihr Passwort wurde über einen Link aus einer E-Mail zurückgesetzt, und alle Sitzungen wurden beendet. "
      + "Zugriffstokens gelten weiter.",
    byOwner: "Ihr Passwort wurde geändert, und Ihre anderen Sitzungen wurden beendet.",
    ifNotYou:
      "Wenn Sie das nicht waren, kennt jemand anderes Ihr Passwort oder liest Ihre E-Mails: Sichern Sie Ihr Postfach, "
      + "setzen Sie Ihr Passwort zurück und widerrufen Sie Ihre Zugriffstokens."
  },
  minted: {
    subject: "Ein neues Zugriffstoken wurde angelegt",
    text: ({ createdAt, expiresAt, hint, name, scope }) =>
      `Das Zugriffstoken „${name}“ (${hint}) wurde am ${time(createdAt)} angelegt. Wer es hat, kann Ihre Routen und `
      + `Sammlungen ${MAY[scope]}. ${expiresAt === null ? "Es läuft nie ab." : `Es läuft am ${time(expiresAt)} ab.`}`,
    ifNotYou:
      "Wenn Sie das nicht waren, ist jemand anderes in Ihrem Konto angemeldet: Widerrufen Sie das Token und setzen Sie "
      + "Ihr Passwort zurück, was alle Sitzungen beendet."
  },
  expiring: {
    subject: `Ihr Zugriffstoken läuft in Kürze ab: ${duration(TOKEN_EXPIRY_MAILED)}`,
    text: (name, hint, expiresAt) =>
      `Das Zugriffstoken „${name}“ (${hint}) läuft am ${
        date(expiresAt)
      } (UTC) ab. Was es nutzt, wird von da an abgewiesen: `
      + "Legen Sie ein neues Token an und ersetzen Sie es dort.",
    ifNotYou: "Wenn Sie dieses Token nicht mehr nutzen, tun Sie nichts, oder widerrufen Sie es."
  }
}
