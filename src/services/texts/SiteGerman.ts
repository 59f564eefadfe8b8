import { MAX_ROUTES } from "../../schema/Collection.ts"
import { GRACE_PERIOD, MAX_TOKENS, PROVIDER_SIGN_IN_LIFETIME } from "../../schema/Limits.ts"
import { MAX_ZONES } from "../../schema/PrivacyZone.ts"
import { MAX_LINKS } from "../../schema/ShareLink.ts"
import { html } from "../operations/Html.ts"
import type { PagesTexts, SharedTexts, SiteTexts } from "./SiteEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { counted, duration, number } = wordingIn("de")

const germanNumber = (english = "") => number(Number(english.replaceAll(",", "")))

/** The schemas of the contract say in these messages what they accept. */
const ACCEPTED: ReadonlyArray<readonly [message: RegExp, german: (...parts: ReadonlyArray<string>) => string]> = [
  [
    /^(?:Expected|Use) ([\d,]+) to ([\d,]+) characters of a-z, 0-9 and "-"(.*)/,
    (least, most) => `${least} bis ${most} Zeichen aus a–z, 0–9 und „-“`
  ],
  [
    /^(?:Expected|Use) ([\d,]+) to ([\d,]+) characters/,
    (least, most) => `${germanNumber(least)} bis ${germanNumber(most)} Zeichen`
  ],
  [/between (-?[\d.]+) and (-?[\d.]+)/, (least, most) => `ein Wert von ${least} bis ${most}`],
  [/Unicode folds/, () => "eine E-Mail-Adresse ohne Zeichen wie ß vor dem @"],
  [/email address/, () => "eine E-Mail-Adresse wie ada@example.com"],
  [/https URL/, () => "eine Adresse, die mit https:// beginnt"],
  [/words of letters/, () => "einige Wörter aus Buchstaben, Ziffern oder Emojis"],
  [/\ban id\b/, () => "eine ganze Zahl"],
  [/number/, () => "eine Zahl wie 12.5"],
  [/current password/, () => "das Passwort, mit dem Sie sich anmelden"],
  [/not reserved/, () => "ein anderer, denn dieser ist reserviert"],
  [/future/, () => "ein Tag, der noch kommt"],
  [/instant/, () => "ein Datum"],
  [/length of at most (\d+)/, (most) => `höchstens ${most}`]
]

const accepted = (message: string): string => {
  for (const [pattern, german] of ACCEPTED) {
    const found = pattern.exec(message)
    if (found !== null) return `Erlaubt ist hier: ${german(...found.slice(1))}.`
  }
  return "Diese Angabe passt nicht."
}

const WEAK_PASSWORD = "Das Passwort ist zu leicht zu erraten oder enthält Ihren Namen oder Ihre Adresse."

const isWeak = (message: string) => message.startsWith("Expected a password")

/** The import of a ZIP and readers of files say these of a file. */
const PROBLEMS: ReadonlyArray<readonly [english: RegExp, german: string]> = [
  [/^it names the activities$/, "Die Datei enthält nur Angaben zu den Aktivitäten."],
  [/^its name is not that of a route file$/, "Der Name der Datei ist nicht der einer Datei mit Routen."],
  [/^its name leads out of the archive$/, "Der Name der Datei führt aus dem Archiv hinaus."],
  [/^the account has as many routes/, "Das Konto hat so viele Routen, wie es haben darf."],
  [
    /^the routes of the account have as many bytes/,
    "Die Routen des Kontos sind zusammen so groß, wie sie sein dürfen."
  ],
  [/^the account has as many collections/, "Das Konto hat so viele Sammlungen, wie es haben darf."],
  [/^it takes too long to read$/, "Das Lesen dauert zu lange."],
  [/^it takes too much memory to read$/, "Das Lesen braucht zu viel Speicher."],
  [/^it could not be read$/, "Die Datei konnte nicht gelesen werden."],
  [/^its format is not read$/, "Das Format der Datei wird nicht gelesen."],
  [/^its encoding .* is not read$/s, "Die Kodierung der Datei wird nicht gelesen."],
  [/^its cues do not fit its line$/, "Die Abbiegehinweise der Datei passen nicht zu ihren Punkten."],
  [
    /^a route in the trash has its source/,
    "Eine Route im Papierkorb hat dieselbe Quelle: Stellen Sie sie wieder her, oder löschen Sie sie endgültig."
  ],
  [/^an archive in a nested archive is not read$/, "Ein Archiv in einem verschachtelten Archiv wird nicht gelesen."],
  [/^it is encrypted$/, "Die Datei ist verschlüsselt."],
  [/^it is a symbolic link$/, "Die Datei ist ein symbolischer Link."],
  [
    /^the files before it unpack to/,
    "Die Dateien vor dieser sind entpackt so groß, wie es die eines Archivs sein dürfen."
  ],
  [/^with it there are more than/, "Mit dieser hätte das Archiv zu viele Dateien."],
  [/is empty/, "Die Datei ist leer."],
  [/has no points/, "Die Datei hat keine Punkte."],
  [/WGS 84/, "Die Koordinaten der Datei sind nicht in WGS 84."],
  [/exported as a link/, "Die Datei enthält nur einen Link zu einer Karte: Exportieren Sie diese mit ihren Daten."],
  [/at most \d+ tracks/, "Die Datei hat mehr Tracks, als hier erlaubt sind."],
  [/POST .users.me.import/, "Importieren Sie dieses Archiv auf der Seite „Export und Import“."],
  [/at most \d+ files/, "Das sind mehr Dateien, als auf einmal erlaubt sind."],
  [/at most|more than/, "Die Datei ist größer, als hier erlaubt ist."],
  [
    /Malformed|cannot be read|Expected valid|Expected <|route file|FIT|entity declarations/,
    "Die Datei ist beschädigt oder keine Datei mit Routen."
  ],
  [/\b(?:Expected|must|is|are|the)\b/, "Eine Angabe passt nicht."]
]

const STATUSES: Readonly<Record<number, string>> = {
  400: "Diese Angaben passen nicht zusammen.",
  403: "Das ist hier nicht erlaubt.",
  404: "Das gibt es nicht oder nicht mehr.",
  408: "Die Anfrage kam nicht rechtzeitig an. Versuchen Sie es noch einmal.",
  413: "Das ist zu groß.",
  415: "Dieses Dateiformat wird nicht gelesen.",
  502: "Ein Dienst, der dafür nötig ist, hat unbrauchbar geantwortet. Versuchen Sie es später noch einmal.",
  // These two are of a sign-in by an identity provider. `busy` has the words for all others.
  503: "Die Anmeldung ist gerade nicht möglich. Versuchen Sie es später noch einmal.",
  504: "Der Anmeldedienst hat nicht rechtzeitig geantwortet. Versuchen Sie es später noch einmal."
}

export const siteGerman: SiteTexts = {
  layout: {
    navigation: "Hauptmenü",
    skip: "Zum Inhalt",
    signIn: "Anmelden",
    routes: "Meine Routen",
    collections: "Sammlungen",
    account: "Konto",
    administration: "Verwaltung",
    notice: "Impressum und Datenschutz",
    errorTitle: (title) => `Fehler: ${title}`
  },
  home: {
    title: "Routen planen, aufbewahren und teilen",
    description: "Routen zum Laufen, Radfahren und Wandern aufbewahren, teilen und herunterladen.",
    what: (name) =>
      html`${name} ist für alle, die laufen, Rad fahren und wandern: Laden Sie Routen aus jedem Programm hoch, halten Sie sie in
Ordnung, teilen Sie sie über einen Link und nehmen Sie sie als GPX, FIT oder in anderen Formaten mit.`,
    signIn: "Anmelden",
    signUp: "Registrieren",
    byInvitation: "Konten gibt es hier auf Einladung: Fragen Sie die Verwaltung.",
    routes: "Meine Routen",
    publicRoutes: "Öffentliche Routen",
    busy: "Die Liste ist gerade nicht verfügbar. Versuchen Sie es gleich noch einmal.",
    programs: "Apps und Skripte",
    docs: (page, document) =>
      html`Programme nutzen dasselbe über eine API unter <code>/api/v1</code>: Die <a href="${page}">interaktive Dokumentation</a>
zeigt jede Operation und sendet Anfragen aus dem Browser, und das <a href="${document}">OpenAPI-Dokument</a> enthält dasselbe
als Daten.`,
    noDocs:
      html`Programme nutzen dasselbe über eine API unter <code>/api/v1</code>. Die Dokumentation der API steht in der Datei
<code>docs/api.md</code> des Programms. Mit <code>API_DOCS_ENABLED=true</code> ist sie auch hier zu finden.`,
    account: "Ihr Konto",
    keep: (page) =>
      html`<a href="${page}">Ein Konto behalten</a>, dessen Löschung beantragt wurde: Das geht ${
        duration(GRACE_PERIOD)
      } lang.`,
    revoke: (page) => html`<a href="${page}">Zugriffstokens widerrufen</a>, die Skripte und Apps nutzen.`
  },
  missing: {
    title: "Diese Seite gibt es nicht",
    words: (start) =>
      html`Die Adresse ist falsch, oder die Seite ist nicht mehr da. Beginnen Sie auf der <a href="${start}">Startseite</a>.`
  },
  errors: {
    title: "Das hat nicht geklappt",
    requestId: (id) => `Die Nummer dieser Anfrage ist ${id}.`,
    tooOften: (wait) => `Das waren zu viele Versuche. ${wait}`,
    busy: (wait) => `Der Dienst ist überlastet oder startet gerade. ${wait}`,
    again: (seconds) =>
      seconds === undefined
        ? "Versuchen Sie es gleich noch einmal."
        : `Versuchen Sie es in ${counted(seconds, "Sekunde", "Sekunden")} noch einmal.`,
    fault: "Der Dienst konnte das nicht erledigen. Versuchen Sie es später noch einmal.",
    other: (message, status) => STATUSES[status] ?? `${message}.`,
    tooLarge: (mebibytes) =>
      `Die Dateien haben zusammen höchstens ${number(mebibytes)} MiB: Senden Sie weniger oder kleinere.`,
    field: (label, message) => `${label}: ${isWeak(message) ? WEAK_PASSWORD : accepted(message)}`,
    // The words of a page are German already.
    password: (message) => {
      if (/characters/.test(message)) return accepted(message)
      return isWeak(message) ? WEAK_PASSWORD : `${message}.`
    },
    issue: (message) => PROBLEMS.find(([english]) => english.test(message))?.[1] ?? `${message}.`,
    reasons: {
      session_invalid: "Sie sind nicht mehr angemeldet: Melden Sie sich noch einmal an.",
      not_signed_in: "Sie sind nicht angemeldet: Melden Sie sich an.",
      wrong_credentials: "E-Mail-Adresse oder Passwort ist falsch.",
      sign_in_refused: "Die Anmeldung wurde nicht angenommen.",
      provider_declined: "Der Anmeldedienst hat Sie nicht angemeldet.",
      sign_in_not_begun: `Die Anmeldung wurde nicht in diesem Browser oder vor mehr als ${
        duration(PROVIDER_SIGN_IN_LIFETIME)
      } begonnen.`,
      account_pending_deletion: "Das Konto wird gelöscht: Nehmen Sie zuerst die Löschung zurück.",
      administrator_required: "Diese Seite ist nur für die Verwaltung.",
      cross_site: "Das Formular kam von der Seite einer anderen Website.",
      email_unverified: "Bestätigen Sie zuerst Ihre E-Mail-Adresse: Ein neuer Link ist unterwegs.",
      provider_email_unverified: "Der Anmeldedienst hat die E-Mail-Adresse nicht bestätigt.",
      current_password_wrong: "Das aktuelle Passwort ist falsch.",
      password_wrong: "Das ist nicht das Passwort der Registrierung, zu der dieser Link gehört.",
      password_needed:
        "Zu der Adresse gibt es mehrere Registrierungen: Geben Sie das Passwort derjenigen ein, zu der dieser Link gehört.",
      signup_disabled: "Registrieren ist hier nicht möglich: Bitten Sie die Verwaltung um eine Einladung.",
      provider_sign_in_disabled:
        "Die Anmeldung über andere Dienste ist hier abgeschaltet: Melden Sie sich mit Ihrer E-Mail-Adresse an.",
      stale:
        "Inzwischen gab es eine andere Änderung: Was Sie geschrieben haben, steht unten und ersetzt sie, wenn Sie speichern.",
      duplicate_route: "Sie haben schon eine Route mit denselben Punkten.",
      collection_full: `Eine Sammlung hat höchstens ${number(MAX_ROUTES)} Routen.`,
      too_many_zones: `Ein Konto hat höchstens ${number(MAX_ZONES)} Privatzonen.`,
      too_many_tokens: `Ein Konto hat höchstens ${number(MAX_TOKENS)} Tokens: Widerrufen Sie zuerst eines.`,
      too_many_links: `Es gibt höchstens ${number(MAX_LINKS)} Links: Entfernen Sie zuerst einen.`,
      handle_taken: "Dieser Kurzname ist vergeben.",
      address_taken: "Zu der Adresse gibt es schon ein Konto.",
      nothing_to_cancel: "Es gibt keine Löschung, die zurückgenommen werden kann.",
      another_account:
        "In diesem Browser ist jetzt ein anderes Konto angemeldet, deshalb ist nichts geschehen. Senden Sie es nur noch einmal, wenn es für dieses Konto gedacht ist.",
      own_account: "Das ist Ihr eigenes Konto: Löschen Sie es auf der Seite Ihres Kontos.",
      import_running: "Ein anderes Archiv wird gerade in dieses Konto importiert: Versuchen Sie es danach noch einmal.",
      linked_elsewhere: "Dieses Konto gehört beim Anmeldedienst schon zu jemand anderem."
    },
    quotas: {
      routes: (limit) =>
        `Ein Konto hat höchstens ${
          number(limit)
        } Routen; die im Papierkorb zählen mit, bis sie endgültig gelöscht sind.`,
      storedBytes: (limit) =>
        `Die Routen eines Kontos haben zusammen höchstens ${
          number(Math.floor(limit / 1_048_576))
        } MiB; die im Papierkorb zählen mit, bis sie endgültig gelöscht sind.`,
      collections: (limit) => `Ein Konto hat höchstens ${number(limit)} Sammlungen.`
    }
  },
  fields: {
    name: "Name",
    email: "E-Mail-Adresse",
    emails: "E-Mail-Adressen",
    password: "Passwort",
    newPassword: "Neues Passwort",
    currentPassword: "Aktuelles Passwort",
    description: "Beschreibung",
    tags: "Schlagwörter",
    collection: "Sammlung",
    activity: "Aktivität",
    visibility: "Wer sieht es?",
    handle: "Kurzname",
    avatar: "Bild",
    units: "Einheiten",
    defaultActivity: "Aktivität",
    defaultRouteVisibility: "Wer sieht eine neue Route?",
    cycle: "Radfahren: übliche km/h",
    run: "Laufen: übliche km/h",
    walk: "Wandern: übliche km/h",
    label: "Name",
    expiresAt: "Letzter Tag",
    place: "Mittelpunkt",
    radius: "Radius in Metern",
    scope: "Umfang",
    expiresInDays: "Läuft ab nach Tagen",
    q: "Suche",
    tag: "Schlagwort",
    favourite: "Favoriten",
    sort: "Reihenfolge",
    user: "Nummer eines Kontos",
    event: "Ereignis"
  },
  activities: { cycle: "Radfahren", run: "Laufen", walk: "Wandern" },
  visibilities: {
    private: "Privat: nur Sie",
    unlisted: "Nicht gelistet: alle, die den Link haben",
    public: "Öffentlich: alle können es finden"
  },
  visibility: { private: "privat", unlisted: "nicht gelistet", public: "öffentlich" }
}

export const pagesGerman: PagesTexts = {
  by: (author, place) => place === undefined ? html`Von ${author}` : html`Von ${author} in ${place}`,
  planned: "Eine geplante Route",
  lineAlt: "Der Verlauf der Route auf leerem Grund, vom Start (ein runder Punkt) bis zum Ziel (ein eckiger)",
  drawing: "Karte und Höhenprofil",
  map: "Karte der Route",
  mapControls: {
    "Map.Title": "Karte",
    "NavigationControl.ZoomIn": "Vergrößern",
    "NavigationControl.ZoomOut": "Verkleinern",
    "FullscreenControl.Enter": "Vollbild",
    "FullscreenControl.Exit": "Vollbild beenden",
    "CooperativeGesturesHandler.WindowsHelpText": "Zum Zoomen Strg gedrückt halten und scrollen",
    "CooperativeGesturesHandler.MacHelpText": "Zum Zoomen ⌘ gedrückt halten und scrollen",
    "CooperativeGesturesHandler.MobileHelpText": "Die Karte mit zwei Fingern bewegen"
  },
  profile: "Höhenprofil",
  position: "Stelle auf der Route",
  climbs: "Steigungen:",
  steepness: (from, to) => {
    if (to === undefined) return `${from} % und mehr`
    return from === 0 ? `unter ${to} %` : `${from} bis ${to} %`
  },
  facts: {
    descent: "Abstieg",
    highest: "Höchster Punkt",
    lowest: "Tiefster Punkt",
    steepest: "Steilster Anstieg",
    surface: "Untergrund",
    added: "Hinzugefügt"
  },
  askedSurfaces: { paved: "Möglichst befestigt", unpaved: "Möglichst unbefestigt" },
  surfaces: "Untergrund",
  surfaceWords: {
    paved_smooth: "Glatt befestigt",
    paved: "Befestigt",
    paved_rough: "Holprig befestigt",
    compacted: "Verdichtet",
    gravel: "Schotter",
    dirt: "Erde",
    path: "Pfad",
    impassable: "Unpassierbar",
    unknown: "Unbekannt"
  },
  pavedShare: (percent) => `${percent} befestigt`,
  surfacesOfMap: "Wie die Karte ihn kennt; wo sie keinen nennt, nach der Art des Weges geschätzt.",
  otherUnits: { metric: "In Meilen und Fuß zeigen", imperial: "In Kilometern und Metern zeigen" },
  tags: "Schlagwörter",
  start: "Start:",
  end: "Ziel:",
  openStart: "Start in einer Karten-App öffnen",
  files: "Zum Mitnehmen",
  share: "Teilen",
  link: "Link zu dieser Seite",
  copy: "Link kopieren",
  copied: "Der Link ist kopiert.",
  shareButton: "Teilen",
  qr: "QR-Code des Links",
  embed: "In eine Seite einbetten",
  embedCode: "HTML",
  stops: "Wegpunkte und Abbiegungen",
  allStops: (count) => `Alle ${number(count)} zeigen`,
  moreStops: (count) => `${counted(count, "weitere Stelle ist", "weitere Stellen sind")} in den Dateien.`,
  turns: {
    "Note": "Hinweis",
    "Start": "Start",
    "Finish": "Ziel",
    "Straight": "Geradeaus",
    "Bear right": "Leicht rechts",
    "Right": "Rechts abbiegen",
    "Hard right": "Scharf rechts abbiegen",
    "Bear left": "Leicht links",
    "Left": "Links abbiegen",
    "Hard left": "Scharf links abbiegen",
    "U-turn": "Umkehren",
    "Fork right": "An der Gabelung rechts halten",
    "Fork left": "An der Gabelung links halten",
    "Roundabout": "Kreisverkehr",
    "Ferry": "Fähre"
  },
  collectionBy: (routes, author) => `${routes} von ${author}`,
  collectedBy: (routes, author) => html`${routes}, gesammelt von ${author}`,
  publicRoutes: (count) => counted(count, "öffentliche Route", "öffentliche Routen"),
  openRoute: "Route öffnen",
  tagged: (tag) => `Öffentliche Routen mit dem Schlagwort ${tag}`,
  allPublic: "Alle öffentlichen Routen"
}

export const sharedGerman: SharedTexts = {
  facts: { distance: "Strecke", climb: "Anstieg", time: "Dauer", activity: "Aktivität" },
  climbing: (climb) => `${climb} bergauf`,
  lineOf: (name) => `Der Verlauf von ${name}`,
  followsRoads: (source) => html`Folgt Straßendaten: ${source}.`,
  pages: "Seiten",
  previousRoutes: "Vorherige Routen",
  moreRoutes: "Weitere Routen",
  noRoutes: "Hier sind keine Routen.",
  routes: (count) => counted(count, "Route", "Routen")
}
