import { GRACE_PERIOD, INVITATION_LIFETIME, LINK_LIFETIME } from "../../schema/Limits.ts"
import { PASSWORD_LENGTH } from "../../schema/User.ts"
import { html } from "../operations/Html.ts"
import type { MailTexts, SignInTexts } from "./SignInEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { counted, date, duration, number, time } = wordingIn("de")

const PASSWORD_RULE = `${PASSWORD_LENGTH.minimum} bis ${number(PASSWORD_LENGTH.maximum)} Zeichen`

const NAME_HINT =
  "Alle können ihn sehen: bei dem, was Sie teilen, und auf Ihrer öffentlichen Seite. Bleibt er leer, ist er der Teil Ihrer "
  + "Adresse vor dem @."

export const signInGerman: SignInTexts = {
  signIn: {
    title: "Anmelden",
    button: "Anmelden",
    byProvider: (name) => `Über ${name} anmelden`,
    withoutPassword: "Oder ohne Passwort:",
    forgot: "Passwort vergessen?",
    signUp: (page) => html`Noch kein Konto? <a href="${page}">Registrieren</a>.`,
    byInvitation: "Noch kein Konto? Konten gibt es hier auf Einladung: Fragen Sie die Verwaltung.",
    late:
      "Sie wurden inzwischen abgemeldet. Melden Sie sich wieder an: Was Sie eingegeben haben, bleibt und lässt sich dann senden.",
    latePassword: "Sie wurden inzwischen abgemeldet. Melden Sie sich an und geben Sie es dann noch einmal ein.",
    lateFiles:
      "Sie wurden inzwischen abgemeldet, und keine Datei wurde angenommen. Melden Sie sich an und wählen Sie die Dateien noch einmal.",
    lateHere:
      "Sie wurden inzwischen abgemeldet. Melden Sie sich in einem anderen Tab wieder an und drücken Sie dann noch einmal auf den Knopf: Alles, was auf dieser Seite steht, bleibt.",
    keptTitle: "Senden, was Sie eingegeben haben",
    kept: (email) => html`Sie sind als ${email} angemeldet. Was Sie eingegeben haben, ist noch nicht gesendet.`,
    send: "Jetzt senden",
    away: "Nicht senden",
    providerFailed: "Sie sind nicht angemeldet",
    beginAgain: (start) =>
      html`Gehen Sie zurück zu der App oder Seite, von der Sie kamen, und <a href="${start}">beginnen Sie noch einmal</a>.`
  },
  signOut: { title: "Abmelden", button: "Abmelden" },
  signUp: {
    title: "Registrieren",
    lead: "Mit einem Konto bewahren Sie Ihre Routen auf, teilen sie und nehmen sie als Dateien mit.",
    nameHint: NAME_HINT,
    button: "Registrieren",
    signIn: (page) => html`Sie haben ein Konto? <a href="${page}">Anmelden</a>.`,
    closed: "Konten gibt es hier auf Einladung: Bitten Sie die Verwaltung darum.",
    mailedTitle: "Sehen Sie in Ihre E-Mails",
    mailed: (email) => html`Eine E-Mail an ${email} ist unterwegs.`,
    mailedNext: `Öffnen Sie ihren Link innerhalb von ${
      duration(LINK_LIFETIME["verify-email"])
    }, um die Adresse zu bestätigen: Dann ist Ihr Konto da, und Sie sind angemeldet.`,
    noMail: (page) =>
      html`Keine E-Mail? Sehen Sie bei den unerwünschten nach, oder <a href="${page}">melden Sie sich an</a>: Dann kommt noch
eine.`
  },
  forgot: {
    title: "Passwort vergessen?",
    lead: "Sie bekommen eine E-Mail mit einem Link, über den Sie ein neues wählen.",
    button: "Link senden",
    back: "Zurück zur Anmeldung",
    mailed: (email) => html`Wenn es zu ${email} ein Konto gibt, ist ein Link dorthin unterwegs.`,
    mailedNext: `Öffnen Sie ihn innerhalb von ${duration(LINK_LIFETIME["reset-password"])}.`
  },
  link: {
    unknown: "Dieser Link ist unvollständig, abgelaufen oder schon benutzt.",
    used: "Dieser Link wurde schon benutzt.",
    expired: "Dieser Link ist abgelaufen.",
    copied: "Aus der E-Mail kopiert? Prüfen Sie, ob Sie den ganzen Link kopiert haben.",
    yourAddress: "Ihrer E-Mail-Adresse",
    newPassword: "Neues Passwort",
    newPasswordHint: `${PASSWORD_RULE}. Einige Wörter, die nicht zusammengehören, sind lang und leicht zu merken.`,
    another: "Wählen Sie ein anderes Passwort.",
    next: "Wie es weitergeht"
  },
  verify: {
    title: "E-Mail-Adresse bestätigen",
    used: (page) =>
      html`Ihre Adresse ist schon bestätigt: <a href="${page}">Melden Sie sich mit Ihrem Passwort an</a>.`,
    expired: (page) =>
      html`Ein Link gilt ${
        duration(LINK_LIFETIME["verify-email"])
      }. <a href="${page}">Melden Sie sich mit dem Passwort an</a>, das Sie bei der Registrierung gewählt haben: Dann bekommen
Sie per E-Mail einen neuen.`,
    unknown: (page) =>
      html`<a href="${page}">Melden Sie sich mit dem Passwort an</a>, das Sie gewählt haben. Wird das abgelehnt, registrieren
Sie sich noch einmal.`,
    what: (address) => html`Damit entsteht das Konto zu ${address}, und Sie werden auf diesem Gerät angemeldet.`,
    password: "Passwort, das Sie bei der Registrierung gewählt haben",
    noPassword: "Geben Sie das Passwort ein, das Sie bei der Registrierung gewählt haben, oder wählen Sie ein neues",
    button: "Bestätigen und anmelden",
    orNew: "Oder ein neues wählen",
    orNewWords:
      "Sie kennen dieses Passwort nicht, oder jemand anderes hat sich mit Ihrer Adresse registriert? Mit einem neuen Passwort "
      + "gilt das andere nicht mehr.",
    newButton: "Passwort setzen und anmelden",
    unwanted: "Sie möchten kein Konto? Schließen Sie diese Seite: Ohne einen Klick auf einen Knopf geschieht nichts.",
    doneTitle: "Ihre Adresse ist bestätigt",
    done: (email) => html`Sie sind auf diesem Gerät als ${email} angemeldet.`,
    routes: "Zu meinen Routen",
    app:
      "Sie haben sich in einer App registriert? Gehen Sie dorthin zurück und melden Sie sich mit E-Mail-Adresse und Passwort an."
  },
  reset: {
    title: "Neues Passwort wählen",
    again: (page) =>
      html`Ein Link gilt einmal: ${
        duration(LINK_LIFETIME["reset-password"])
      } lang, wenn Sie Ihr Passwort zurücksetzen, und ${
        duration(INVITATION_LIFETIME)
      } lang nach einer Einladung. Ihr Passwort ist unverändert. <a href="${page}">Fordern Sie einen neuen Link an</a>.`,
    used: (page) => html`Damit wurde ein Passwort gesetzt: <a href="${page}">Melden Sie sich an</a>.`,
    what: (address) => html`Damit setzen Sie das Passwort von ${address}.`,
    button: "Passwort setzen",
    signsOut:
      "Sie werden dann auf allen Geräten abgemeldet. Sie haben nicht darum gebeten? Schließen Sie diese Seite: Ihr Passwort "
      + "bleibt, wie es ist.",
    doneTitle: "Ihr Passwort ist gesetzt",
    done: "Ab jetzt gilt das neue Passwort, und Sie wurden auf allen Geräten abgemeldet.",
    signIn: "Anmelden",
    apps: "Melden Sie sich auch in den Apps, die Sie nutzen, noch einmal an.",
    noTokens: "Ihr Konto hat kein Zugriffstoken, also läuft ohne das neue Passwort nichts weiter.",
    tokens: (count, page) =>
      html`${
        counted(count, "Zugriffstoken Ihres Kontos gilt weiter", "Zugriffstokens Ihres Kontos gelten weiter")
      }, für Skripte und Apps. Wenn Sie nicht wissen, wofür, oder jemand anderes Ihr Passwort kannte,
<a href="${page}">widerrufen Sie alle Zugriffstokens</a>.`,
    keep: (page) =>
      html`Wenn Sie die Löschung Ihres Kontos beantragt hatten, können Sie es <a href="${page}">noch behalten</a>.`
  },
  invitation: {
    title: "Willkommen",
    unusableTitle: "Ihre Einladung",
    used: (page) => html`Ihr Konto ist da: <a href="${page}">Melden Sie sich an</a>.`,
    expired: `Eine Einladung gilt ${
      duration(INVITATION_LIFETIME)
    } lang: Bitten Sie die Person, die Sie eingeladen hat, um eine neue.`,
    unknown: (page) =>
      html`Wurde er schon benutzt? Dann ist Ihr Konto da: <a href="${page}">Melden Sie sich an</a>. Eine Einladung gilt ${
        duration(INVITATION_LIFETIME)
      } lang: Bitten Sie die Person, die Sie eingeladen hat, um eine neue.`,
    what: (address) =>
      html`Sie sind eingeladen, hier Ihre Routen zu planen, aufzubewahren und zu teilen. Wählen Sie einen Namen und ein
Passwort: Damit entsteht das Konto zu ${address}, und Sie werden auf diesem Gerät angemeldet.`,
    nameHint: NAME_HINT,
    password: "Passwort",
    button: "Konto anlegen",
    unwanted: "Sie möchten kein Konto? Schließen Sie diese Seite: Ohne einen Klick auf den Knopf geschieht nichts."
  },
  keep: {
    title: "Konto behalten",
    lead: `Ein Konto, dessen Löschung beantragt wurde, können Sie ${
      duration(GRACE_PERIOD)
    } lang behalten. Melden Sie sich an, um zu sehen, ob das für Ihres gilt.`,
    tooLate: `Die Frist von ${duration(GRACE_PERIOD)}n ist vorbei: Dieses Konto kann nicht mehr behalten werden.`,
    pending: (email, date) =>
      html`Das Konto ${email} wird mit allen Routen und Sammlungen am ${date} endgültig gelöscht.`,
    button: "Konto behalten",
    close: "Soll es gelöscht werden? Dann ist nichts zu tun: Schließen Sie diese Seite.",
    nothing: (email) => html`Das Konto ${email} wird nicht gelöscht. Es ist nichts zu tun.`,
    doneTitle: "Ihr Konto bleibt",
    done:
      "Die Löschung ist zurückgenommen. Ihre Routen und Sammlungen sind wieder da, und dieses Gerät ist angemeldet.",
    routes: "Zu meinen Routen",
    apps:
      "Melden Sie sich in Ihren Apps noch einmal an. Sie haben die Löschung nicht beantragt? Dann ändern Sie Ihr Passwort "
      + "und widerrufen Sie die Zugriffstokens, die Sie nicht kennen."
  },
  revoke: {
    title: "Zugriffstokens widerrufen",
    lead:
      "Skripte und Apps, denen Sie ein Zugriffstoken gegeben haben, laufen nach einem neuen Passwort weiter. Melden Sie "
      + "sich an, um Ihre Tokens zu sehen und zu widerrufen.",
    none: (email) => html`Das Konto ${email} hat kein Zugriffstoken. Es ist nichts zu tun.`,
    list: (email) => html`Gültige Zugriffstokens des Kontos ${email}:`,
    button: "Alle widerrufen",
    effect: "Was eines davon nutzt, wird von da an abgewiesen und braucht ein neues.",
    doneTitle: "Ihre Tokens sind widerrufen",
    done: "Kein Zugriffstoken Ihres Kontos gilt mehr. Dieses Gerät ist angemeldet.",
    next: "Legen Sie neue Tokens für die Skripte und Apps an, die Sie nutzen."
  }
}

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
  deletion: {
    subject: "Ihr Konto wird gelöscht",
    byOwner: "Die Löschung Ihres Kontos wurde beantragt.",
    byAdministrator: "Die Verwaltung hat die Löschung Ihres Kontos beantragt.",
    text: (at) =>
      `Es wird mit allen Routen und Sammlungen am ${
        time(at)
      } endgültig gelöscht. Wenn Sie es behalten möchten, melden Sie sich `
      + "vorher an und nehmen Sie die Löschung zurück.",
    linkText: "Konto behalten",
    ifNotYou:
      "Wenn Sie das nicht waren, war jemand anderes in Ihrem Konto angemeldet: Nehmen Sie die Löschung zurück, ändern Sie Ihr "
      + "Passwort und widerrufen Sie Ihre Zugriffstokens."
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
    subject: (count) => count === 1 ? "Ihr Zugriffstoken läuft in Kürze ab" : "Ihre Zugriffstokens laufen in Kürze ab",
    text: (tokens) =>
      [
        ...tokens.map(({ expiresAt, hint, name }) =>
          `Das Zugriffstoken „${name}“ (${hint}) läuft am ${date(expiresAt)} (UTC) ab.`
        ),
        "Was ein abgelaufenes Token nutzt, wird abgewiesen: Legen Sie ein neues an und ersetzen Sie es dort."
      ].join(" "),
    ifNotYou: "Wenn Sie ein Token nicht mehr nutzen, tun Sie nichts, oder widerrufen Sie es."
  }
}
