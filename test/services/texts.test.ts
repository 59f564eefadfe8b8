import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { SessionId } from "../../src/schema/Ids.ts"
import { type Html, html } from "../../src/services/operations/Html.ts"
import { textsIn } from "../../src/services/texts/Texts.ts"

const AT = "2026-03-04T05:06:00.000Z"

/** No whole number of MiB: what is used is rounded up, and a limit down. */
const BYTES = 1_048_577

const en = textsIn("en")
const de = textsIn("de")

const usage = {
  routes: { used: 1, limit: 10_000 },
  collections: { used: 2, limit: 500 },
  storedBytes: { used: BYTES, limit: 2 * 1_048_576 }
}

const session = {
  id: SessionId.make("01890a5d-ac96-774b-bcce-b302099a8057"),
  createdAt: AT,
  expiresAt: AT,
  lastSeenAt: AT,
  current: true,
  ipAddress: "192.0.2.1",
  userAgent: null
}

const user = { createdAt: AT, email: "ada@x.ch", isAdmin: false, lastSeenAt: null, routes: 1, storedBytes: BYTES }

const token = { createdAt: AT, expiresAt: AT, hint: "AbCd", name: "laptop", scope: "read" } as const

const asText = (part: string | Html) => Predicate.isString(part) ? part : part.html

const ENGLISH: ReadonlyArray<readonly [string | Html, string]> = [
  [en.wording.number(1234), "1,234"],
  [en.wording.number(0.55), "1"],
  [en.wording.number(12, 1), "12.0"],
  [en.wording.number(12.34, 1), "12.3"],
  [en.wording.number(-0.3), "0"],
  [en.wording.number(-0.04, 1), "0.0"],
  [en.wording.number(-1.2), "-1"],
  [en.wording.counted(1, "route", "routes"), "1 route"],
  [en.wording.counted(1000, "route", "routes"), "1,000 routes"],
  [
    en.profile.usage(usage),
    "Your account has 1 of 10,000 routes, 2 of 500 collections, 2 of 2 MiB."
  ],
  [en.sessions.facts(session), "This browser. Signed in on Mar 4, 2026, last used on Mar 4, 2026 from 192.0.2.1."],
  [
    en.sessions.facts({ ...session, current: false, ipAddress: null }),
    "Signed in on Mar 4, 2026, last used on Mar 4, 2026."
  ],
  [en.admin.user(user), "ada@x.ch, made on Mar 4, 2026, last seen: no sign-in in 30 days, 1 route, 2 MiB"],
  [
    en.admin.user({ ...user, isAdmin: true, lastSeenAt: AT, routes: 2 }),
    "ada@x.ch, administrator, made on Mar 4, 2026, last seen: Mar 4, 2026, 2 routes, 2 MiB"
  ],
  [
    en.mails.invitation.text("Rides", "x.ch"),
    "Welcome! An administrator of Rides at x.ch invites you to keep, plan and share your routes there. Open this link "
    + "within 7 days and choose a name and a password: then your account is ready."
  ],
  [
    en.mails.minted.text(token),
    "The personal access token \"laptop\" (AbCd) was made on Mar 4, 2026, 05:06 UTC. Its scope is \"read\": "
    + "anyone who has it can read your routes and collections. It expires on Mar 4, 2026, 05:06 UTC."
  ],
  [en.mails.expiring.subject(1), "Your access token expires soon"],
  [en.mails.expiring.subject(2), "Your access tokens expire soon"],
  [
    en.mails.expiring.text([token, { ...token, name: "phone" }]),
    "The personal access token \"laptop\" (AbCd) expires on Mar 4, 2026 (UTC). The personal access token \"phone\" "
    + "(AbCd) expires on Mar 4, 2026 (UTC). What uses an expired token is refused: make a new one and replace it there."
  ],
  [
    en.mails.asked(new Date(AT), undefined),
    "This mail was asked for on Mar 4, 2026, 05:06 UTC from an unknown network."
  ],
  [
    en.mails.asked(new Date(AT), "192.0.2.0/24"),
    "This mail was asked for on Mar 4, 2026, 05:06 UTC from the network 192.0.2.0/24."
  ],
  [en.errors.again(undefined), "Try again in a moment."],
  [en.errors.again(1), "Try again in 1 second."],
  [en.pages.by(html`Ada`, undefined), "By Ada"],
  [en.pages.by(html`Ada`, "Vaduz"), "By Ada in Vaduz"],
  [en.pages.steepness(0, 3), "under 3 %"],
  [en.pages.steepness(1, 6), "1 to 6 %"],
  [en.pages.steepness(15, undefined), "15 % and more"],
  [en.pages.moreStops(1), "1 more is in the files."],
  [en.pages.moreStops(2), "2 more are in the files."],
  [en.trash.eraseAll(1), "Erase all"],
  [en.trash.eraseAll(2), "Erase all 2"]
]

const WEAK = "Das Passwort ist zu leicht zu erraten oder enthält Ihren Namen oder Ihre Adresse."

const GERMAN: ReadonlyArray<readonly [string | Html, string]> = [
  [de.wording.number(1234), "1.234"],
  [de.wording.number(12.34, 1), "12,3"],
  [de.profile.usage(usage), "Ihr Konto hat 1 von 10.000 Routen, 2 von 500 Sammlungen, 2 von 2 MiB."],
  [
    de.sessions.facts(session),
    "Dieser Browser. Angemeldet am 04.03.2026, zuletzt benutzt am 04.03.2026 von 192.0.2.1."
  ],
  [
    de.sessions.facts({ ...session, current: false, ipAddress: null }),
    "Angemeldet am 04.03.2026, zuletzt benutzt am 04.03.2026."
  ],
  [
    de.admin.user(user),
    "ada@x.ch, angelegt am 04.03.2026, zuletzt gesehen: keine Anmeldung in 30 Tagen, 1 Route, 2 MiB"
  ],
  [
    de.admin.user({ ...user, isAdmin: true, lastSeenAt: AT, routes: 2 }),
    "ada@x.ch, Verwaltung, angelegt am 04.03.2026, zuletzt gesehen: 04.03.2026, 2 Routen, 2 MiB"
  ],
  [
    de.mails.minted.text({ ...token, expiresAt: null }),
    "Das Zugriffstoken „laptop“ (AbCd) wurde am 04.03.2026, 05:06 UTC angelegt. Wer es hat, kann Ihre Routen und "
    + "Sammlungen lesen. Es läuft nie ab."
  ],
  [de.mails.expiring.subject(1), "Ihr Zugriffstoken läuft in Kürze ab"],
  [de.mails.expiring.subject(2), "Ihre Zugriffstokens laufen in Kürze ab"],
  [
    de.mails.expiring.text([token, { ...token, name: "phone" }]),
    "Das Zugriffstoken „laptop“ (AbCd) läuft am 04.03.2026 (UTC) ab. Das Zugriffstoken „phone“ (AbCd) läuft am "
    + "04.03.2026 (UTC) ab. Was ein abgelaufenes Token nutzt, wird abgewiesen: Legen Sie ein neues an und ersetzen Sie "
    + "es dort."
  ],
  [
    de.mails.asked(new Date(AT), undefined),
    "Diese E-Mail wurde am 04.03.2026, 05:06 UTC aus einem unbekannten Netz angefordert."
  ],
  [
    de.mails.asked(new Date(AT), "192.0.2.0/24"),
    "Diese E-Mail wurde am 04.03.2026, 05:06 UTC aus dem Netz 192.0.2.0/24 angefordert."
  ],
  [de.errors.again(undefined), "Versuchen Sie es gleich noch einmal."],
  [de.errors.again(5), "Versuchen Sie es in 5 Sekunden noch einmal."],
  [de.errors.other("x", 400), "Diese Angaben passen nicht zusammen."],
  [de.errors.other("x", 403), "Das ist hier nicht erlaubt."],
  [de.errors.other("x", 404), "Das gibt es nicht oder nicht mehr."],
  [de.errors.other("x", 408), "Die Anfrage kam nicht rechtzeitig an. Versuchen Sie es noch einmal."],
  [de.errors.other("x", 413), "Das ist zu groß."],
  [de.errors.tooLarge(32), "Die Dateien haben zusammen höchstens 32 MiB: Senden Sie weniger oder kleinere."],
  [de.errors.other("x", 415), "Dieses Dateiformat wird nicht gelesen."],
  [
    de.errors.other("x", 502),
    "Ein Dienst, der dafür nötig ist, hat unbrauchbar geantwortet. Versuchen Sie es später noch einmal."
  ],
  [de.errors.other("x", 503), "Die Anmeldung ist gerade nicht möglich. Versuchen Sie es später noch einmal."],
  [
    de.errors.other("x", 504),
    "Der Anmeldedienst hat nicht rechtzeitig geantwortet. Versuchen Sie es später noch einmal."
  ],
  [de.errors.other("x", 418), "x."],
  [
    de.errors.field("Tag", "Expected 1 to 24 characters of a-z, 0-9 and \"-\", without two together"),
    "Tag: Erlaubt ist hier: 1 bis 24 Zeichen aus a–z, 0–9 und „-“."
  ],
  [
    de.errors.field("Beschreibung", "Expected 0 to 10000 characters"),
    "Beschreibung: Erlaubt ist hier: 0 bis 10.000 Zeichen."
  ],
  [
    de.errors.field("E-Mail-Adresse", "Expected an email address without characters that Unicode folds to others"),
    "E-Mail-Adresse: Erlaubt ist hier: eine E-Mail-Adresse ohne Zeichen wie ß vor dem @."
  ],
  [
    de.reset.tokens(1, "/t"),
    "1 Zugriffstoken Ihres Kontos gilt weiter, für Skripte und Apps. Wenn Sie nicht wissen, wofür, oder jemand anderes "
    + "Ihr Passwort kannte,\n<a href=\"/t\">widerrufen Sie alle Zugriffstokens</a>."
  ],
  [de.zones.radiusHint, "100 bis 2000."],
  [
    de.errors.field("Passwort", "Use 12 to 1,024 characters"),
    "Passwort: Erlaubt ist hier: 12 bis 1.024 Zeichen."
  ],
  [
    de.errors.field("Radius", "Expected a value between 100 and 2000"),
    "Radius: Erlaubt ist hier: ein Wert von 100 bis 2000."
  ],
  [
    de.errors.field("Kurzname", "Expected a handle that is not reserved"),
    "Kurzname: Erlaubt ist hier: ein anderer, denn dieser ist reserviert."
  ],
  [de.errors.field("Radius", "Whatever"), "Radius: Diese Angabe passt nicht."],
  [
    de.errors.field("Konto", "Expected an id, a decimal number"),
    "Konto: Erlaubt ist hier: eine ganze Zahl."
  ],
  [
    de.errors.field("Neues Passwort", "Expected a password that does not contain your email address"),
    `Neues Passwort: ${WEAK}`
  ],
  [
    de.errors.field("Neues Passwort", "Expected a password that is not a common one or easily guessed"),
    `Neues Passwort: ${WEAK}`
  ],
  [de.errors.password("Expected a password that does not contain your name"), WEAK],
  [de.errors.password("Use 12 to 1,024 characters"), "Erlaubt ist hier: 12 bis 1.024 Zeichen."],
  [de.errors.password("Geben Sie das Passwort ein"), "Geben Sie das Passwort ein."],
  [de.errors.issue("The coordinates are not in WGS 84"), "Die Koordinaten der Datei sind nicht in WGS 84."],
  [de.errors.issue("The file has no points"), "Die Datei hat keine Punkte."],
  [de.errors.issue("Expected at most 100 files"), "Das sind mehr Dateien, als auf einmal erlaubt sind."],
  [
    de.errors.issue("The archive cannot be read: it is an archive of an account: import it with POST /users/me/import"),
    "Importieren Sie dieses Archiv auf der Seite „Export und Import“."
  ],
  [de.pages.by(html`Ada`, undefined), "Von Ada"],
  [de.pages.by(html`Ada`, "Vaduz"), "Von Ada in Vaduz"],
  [de.pages.steepness(0, 3), "unter 3 %"],
  [de.pages.steepness(1, 6), "1 bis 6 %"],
  [de.pages.steepness(15, undefined), "15 % und mehr"],
  [de.wording.number(-0.3), "0"],
  [de.pages.moreStops(1), "1 weitere Stelle ist in den Dateien."],
  [de.pages.moreStops(2), "2 weitere Stellen sind in den Dateien."],
  [
    de.data.report(1, 0, 1200, 61),
    "1 neu, 0 wiederhergestellt, 1.200 wie bisher, 61 aus anderer Quelle schon da und unverändert"
  ],
  [
    de.data.ended(1, 0, 0, 1200),
    "Fertig: 1 Datei importiert, 0 schon da, 0 übersprungen. Nicht in der Sammlung, die bis zu 1.000 Routen hat: 1.200."
  ],
  [de.trash.eraseAll(1), "Alle endgültig löschen"],
  [de.trash.eraseAll(2), "Alle 2 endgültig löschen"],
  [
    de.routes.warning({ code: "dropped", message: "tags: a tag: too long", count: 2 }),
    "Weggelassen: Schlagwörter (2)."
  ],
  [
    de.routes.warning({ code: "dropped", message: "file a: it is empty", count: 1 }),
    "Weggelassen: andere Angaben (1)."
  ],
  [de.routes.warning({ code: "gap_joined", message: "x", count: 3 }), "Vereinfacht: Lücken der Linie (3)."]
]

/** The import of a ZIP has these reasons for a file. */
const REASONS = {
  "it names the activities": "Die Datei enthält nur Angaben zu den Aktivitäten.",
  "its name is not that of a route file": "Der Name der Datei ist nicht der einer Datei mit Routen.",
  "its name leads out of the archive": "Der Name der Datei führt aus dem Archiv hinaus.",
  "the account has as many routes as it may have": "Das Konto hat so viele Routen, wie es haben darf.",
  "the routes of the account have as many bytes as they may have":
    "Die Routen des Kontos sind zusammen so groß, wie sie sein dürfen.",
  "the account has as many collections as it may have": "Das Konto hat so viele Sammlungen, wie es haben darf.",
  "it takes too long to read": "Das Lesen dauert zu lange.",
  "it takes too much memory to read": "Das Lesen braucht zu viel Speicher.",
  "it could not be read": "Die Datei konnte nicht gelesen werden.",
  "its format is not read": "Das Format der Datei wird nicht gelesen.",
  "its encoding br is not read": "Die Kodierung der Datei wird nicht gelesen.",
  "its cues do not fit its line": "Die Abbiegehinweise der Datei passen nicht zu ihren Punkten.",
  "a route in the trash has its source: restore that, or erase it":
    "Eine Route im Papierkorb hat dieselbe Quelle: Stellen Sie sie wieder her, oder löschen Sie sie endgültig.",
  "an archive in a nested archive is not read": "Ein Archiv in einem verschachtelten Archiv wird nicht gelesen.",
  "it is encrypted": "Die Datei ist verschlüsselt.",
  "it is a symbolic link": "Die Datei ist ein symbolischer Link.",
  "the files before it unpack to 8589934592 bytes, the most of an archive":
    "Die Dateien vor dieser sind entpackt so groß, wie es die eines Archivs sein dürfen.",
  "with it there are more than 50000 files": "Mit dieser hätte das Archiv zu viele Dateien.",
  "it has more than 67108864 bytes": "Die Datei ist größer, als hier erlaubt ist.",
  "The map was exported as a link: expected an export with its data, without NetworkLink":
    "Die Datei enthält nur einen Link zu einer Karte: Exportieren Sie diese mit ihren Daten.",
  "query.split: Expected at most 100 tracks, the file has 101": "Die Datei hat mehr Tracks, als hier erlaubt sind.",
  "it unpacks to more than 67108864 bytes": "Die Datei ist größer, als hier erlaubt ist.",
  "it cannot be read": "Die Datei ist beschädigt oder keine Datei mit Routen."
}

const leavesOf = (value: unknown): ReadonlyArray<unknown> =>
  Predicate.isObject(value) && !Predicate.isFunction(value) ? Object.values(value).flatMap(leavesOf) : [value]

for (const [language, texts, cases] of [["English", en, ENGLISH], ["German", de, GERMAN]] as const) {
  describe(`texts in ${language}`, () => {
    it("say numbers, dates, sizes and what is missing as people do", () => {
      for (const [found, expected] of cases) assert.strictEqual(asText(found), expected)
    })

    it("round the limit of stored bytes down to whole MiB", () => {
      const limits = [2 * 1_048_576, 3 * 1_048_576 - 1].map((bytes) => texts.errors.quotas.storedBytes(bytes))
      for (const text of limits) assert.match(text, / 2 MiB;/)
    })

    it("state the limits that are checked, and the days that are counted", () => {
      assert.match(texts.profile.handleHint, /\b3 (to|bis) 30\b.* a[-–]z, 0[-–]9 /)
      assert.match(texts.admin.figures.newLast30Days, / 30 /)
      assert.match(texts.admin.figures.usersLast24Hours, / 24 /)
    })

    it("are all words, or made of what they are about", () => {
      for (const leaf of leavesOf(texts)) assert.include(["string", "function"], typeof leaf, String(leaf))
    })
  })
}

describe("texts in German", () => {
  it("say why an import skips a file", () => {
    for (const [reason, german] of Object.entries(REASONS)) assert.strictEqual(de.errors.issue(reason), german)
  })
})

describe("texts in every language", () => {
  it("name the same settings, files and addresses", () => {
    const codesIn = (texts: unknown) =>
      leavesOf(texts).flatMap((leaf) => String(leaf).match(/<code>[^<]*<\/code>/g) ?? [])
    assert.include(codesIn(en), "<code>API_DOCS_ENABLED=true</code>")
    assert.deepStrictEqual(codesIn(de), codesIn(en))
  })
})
