import { MAX_ROUTES } from "../../schema/Collection.ts"
import { MAX_TOKEN_DAYS } from "../../schema/Credential.ts"
import { GRACE_PERIOD, INVITATION_LIFETIME, SESSION_LIFETIME } from "../../schema/Limits.ts"
import { MAX_ZONES, ZONE_RADIUS } from "../../schema/PrivacyZone.ts"
import { MAX_TAG } from "../../schema/Route.ts"
import { html } from "../operations/Html.ts"
import type { AccountTexts, RoutesTexts } from "./AccountEnglish.ts"
import { wordingIn } from "./Wording.ts"

const { counted, date, duration, number, time } = wordingIn("de")

const dateOr = (instant: string | null, otherwise: string) => instant === null ? otherwise : date(instant)

const DROPPED: ReadonlyMap<string, string> = new Map([
  ["waypoints", "Wegpunkte"],
  ["descriptions of waypoints", "Beschreibungen von Wegpunkten"],
  ["ends of waypoint names", "Ende der Namen von Wegpunkten"],
  ["end of the name", "Ende des Namens"],
  ["end of the description", "Ende der Beschreibung"],
  ["tags", "Schlagwörter"],
  ["activity", "Aktivität"],
  ["cues", "Abbiegehinweise"],
  ["elevations", "Höhen"],
  ["properties of lines", "Eigenschaften von Linien"],
  ["properties of points", "Eigenschaften von Punkten"],
  ["FIT file", "Teile einer beschädigten Datei"]
])

const MEBIBYTE = 1_048_576

export const accountGerman: AccountTexts = {
  sections: {
    label: "Bereich",
    profile: "Profil",
    zones: "Privatzonen",
    tokens: "Tokens",
    sessions: "Sitzungen",
    password: "Passwort",
    data: "Export und Import",
    deletion: "Konto löschen",
    overview: "Überblick",
    users: "Konten",
    invitations: "Einladungen",
    audit: "Protokoll",
    routes: "Meine Routen",
    collections: "Sammlungen",
    trash: "Papierkorb",
    signOut: "Abmelden"
  },
  done: {
    welcome: "Willkommen! Ihr Konto ist bereit, und Sie sind angemeldet.",
    saved: "Gespeichert.",
    uploaded: "Hochgeladen.",
    made: "Erledigt. Der Eintrag steht in der Liste.",
    deleted: "In den Papierkorb verschoben. Von dort lässt es sich wiederherstellen.",
    restored: "Wiederhergestellt.",
    erased: "Endgültig gelöscht.",
    revoked: "Widerrufen. Der Zugang ist beendet.",
    replaced: "Es gibt einen neuen Link. Der alte öffnet nichts mehr.",
    requested: "Das Konto ist verborgen und wird gelöscht.",
    invited: "Eingeladen. Die E-Mail ist unterwegs.",
    withdrawn: "Zurückgezogen. Der Link in der E-Mail gilt nicht mehr."
  },
  common: {
    none: "Es gibt keine.",
    save: "Speichern",
    find: "Suchen",
    copy: "Kopieren",
    copied: "Kopiert",
    unknownAction: "Diese Seite kennt diese Aktion nicht"
  },
  tokens: {
    title: "Tokens",
    lead: "Mit Zugriffstokens nutzen Skripte und Apps Ihr Konto ohne Ihr Passwort.",
    facts: ({ createdAt, expiresAt, lastUsedAt, scope }) =>
      `${{ read: "nur lesen", write: "lesen und ändern" }[scope]}, angelegt am ${date(createdAt)}, läuft ab: ${
        dateOr(expiresAt, "nie")
      }, zuletzt benutzt: ${dateOr(lastUsedAt, "nie")}.`,
    minted: (name) => html`Das Token ${name} ist angelegt. Kopieren Sie es jetzt: Es wird nur dieses eine Mal gezeigt.`,
    token: "Token",
    make: "Token anlegen",
    nameHint: "Wofür ist es?",
    scopes: { read: "Nur lesen", write: "Lesen und ändern" },
    daysHint: `1 bis ${number(MAX_TOKEN_DAYS)}; bleibt das Feld leer, läuft das Token nie ab.`,
    passwordHint: "Nur nötig für ein Token, das nie abläuft.",
    mint: "Token anlegen",
    revoke: "Widerrufen"
  },
  zones: {
    title: "Privatzonen",
    lead:
      `Andere sehen die Teile Ihrer Routen in diesen Kreisen nicht, zum Beispiel um Ihr Zuhause. ${MAX_ZONES} sind möglich.`,
    unnamed: (position) => `Zone ${position}`,
    around: (radius, latitude, longitude) => `${number(radius)} m um ${latitude}, ${longitude}`,
    remove: "Entfernen",
    removeWords: "Andere sehen dann in allen Ihren Routen, was sie verbirgt.",
    add: "Zone hinzufügen",
    labelHint: "Nur für Sie.",
    placeHint: "Breite und Länge, zum Beispiel 47.1415, 9.5209, oder die Adresse einer Karte, die den Ort zeigt.",
    wrongPlace:
      "Mittelpunkt: Geben Sie Breite und Länge in Grad ein, zum Beispiel 47.1415, 9.5209, oder die Adresse einer Karte",
    radiusHint: `${ZONE_RADIUS.minimum} bis ${ZONE_RADIUS.maximum}.`,
    addButton: "Zone hinzufügen"
  },
  data: {
    title: "Export und Import",
    export: "Export",
    exportWords: "Alles, was Ihr Konto enthält, als ein ZIP-Archiv: Routen, auch als GPX, Sammlungen und Profil.",
    exportButton: "Konto exportieren",
    import: "Import",
    importWords:
      "Ein Archiv aus einem Export dieses oder eines anderen Kontos, oder ein ZIP mit den Dateien eines anderen Dienstes. Was schon da ist, bleibt, wie es ist.",
    visibility: "Wer die Routen eines anderen Dienstes sieht",
    tags: "Schlagwörter dafür",
    tagsHint: "Wörter, durch Kommas getrennt, oder keine",
    collection: "Eine Sammlung dafür",
    collectionHint: "Name der Sammlung; sie wird angelegt, wenn es sie nicht gibt",
    archive: "Archiv",
    noArchive: "Wählen Sie die Datei eines Exports",
    importButton: "Archiv importieren",
    importedTitle: "Importiert",
    imported: "Das Archiv ist importiert.",
    routes: "Routen",
    collections: "Sammlungen",
    report: (created, restored, unchanged, duplicates) =>
      `${number(created)} neu, ${number(restored)} wiederhergestellt, ${number(unchanged)} wie bisher${
        duplicates === 0 ? "" : `, ${number(duplicates)} aus anderer Quelle schon da und unverändert`
      }`,
    linesTitle: "Import",
    linesWords:
      "Jede Datei erscheint hier, sobald sie importiert ist. Endet diese Seite vor dem Wort Fertig, laden Sie dasselbe Archiv noch einmal hoch.",
    begun: (files) =>
      `Das Archiv hat ${counted(files, "Datei", "Dateien")}. Lassen Sie diese Seite bis zur letzten offen.`,
    fileImported: "Importiert:",
    fileDuplicate: "Schon da:",
    fileSkipped: (reason) => `Übersprungen: ${reason}`,
    ended: (imported, duplicates, skipped, notCollected) =>
      `Fertig: ${counted(imported, "Datei", "Dateien")} importiert, ${number(duplicates)} schon da, ${
        number(skipped)
      } übersprungen.${
        notCollected === 0
          ? ""
          : ` Nicht in der Sammlung, die bis zu ${number(MAX_ROUTES)} Routen hat: ${number(notCollected)}.`
      }`,
    stopped: (words) =>
      `${words} Laden Sie dasselbe Archiv noch einmal hoch, um fortzufahren: Was schon da ist, wird übersprungen.`
  },
  profile: {
    title: "Profil",
    signedIn: (email, page) => html`Angemeldet als ${email}. Ihre öffentliche Seite ist ${page}.`,
    handleHint: "Die Adresse Ihrer öffentlichen Seite: 3 bis 30 Zeichen aus a–z, 0–9 und „-“.",
    avatarHint: "Die https-Adresse eines Bildes, oder nichts.",
    preferences: "Vorlieben",
    anyPreference: "Keine Vorliebe",
    units: { metric: "Kilometer und Meter", imperial: "Meilen und Fuß" },
    usage: ({ collections, routes, storedBytes }) =>
      `Ihr Konto hat ${number(routes.used)} von ${number(routes.limit)} Routen, ${number(collections.used)} von ${
        number(collections.limit)
      } Sammlungen, ${number(Math.ceil(storedBytes.used / MEBIBYTE))} von ${
        number(Math.floor(storedBytes.limit / MEBIBYTE))
      } MiB.`
  },
  sessions: {
    title: "Sitzungen",
    lead: "Hier sind Sie angemeldet. Beenden Sie, was Sie nicht kennen.",
    unknown: "Ein unbekanntes Programm",
    facts: ({ createdAt, current, ipAddress, lastSeenAt }) =>
      `${current ? "Dieser Browser. " : ""}Angemeldet am ${date(createdAt)}, zuletzt benutzt am ${date(lastSeenAt)}${
        ipAddress === null ? "" : ` von ${ipAddress}`
      }.`,
    signOut: "Abmelden",
    everywhere: "Überall abmelden",
    everywhereWords: "Auch dieser Browser wird abgemeldet."
  },
  password: {
    title: "Passwort",
    lead: "Ein neues Passwort meldet Sie überall sonst ab. Zugriffstokens gelten weiter.",
    button: "Passwort ändern"
  },
  deletion: {
    title: "Konto löschen",
    lead:
      "Ihre Routen, Sammlungen und Links sind sofort für alle verborgen, Tokens gelten nicht mehr, und Sie werden überall "
      + `abgemeldet. ${
        duration(GRACE_PERIOD)
      } lang können Sie sich anmelden und das Konto doch behalten. Danach wird es mit allem, was es hat, endgültig gelöscht.`,
    exportFirst: (page) => html`Nehmen Sie Ihre Routen vorher mit: <a href="${page}">Konto exportieren</a>.`,
    button: "Mein Konto löschen",
    words: (email) => html`Damit wird das Konto ${email} gelöscht und alles verborgen, was Sie geteilt haben.`
  },
  admin: {
    title: "Verwaltung",
    newer: "Neuere",
    older: "Ältere",
    groups: {
      users: "Konten",
      routes: "Routen",
      sessions: "Sitzungen",
      tokens: "Tokens",
      collections: "Sammlungen"
    },
    figures: {
      total: "insgesamt",
      verified: "bestätigt",
      pendingDeletion: "werden gelöscht",
      newLast30Days: "neu in 30 Tagen",
      private: "privat",
      unlisted: "nicht gelistet",
      public: "öffentlich",
      live: "aktiv",
      usersLast24Hours: "Konten in 24 Stunden"
    },
    user: ({ createdAt, email, isAdmin, lastSeenAt, routes, storedBytes }) =>
      `${email}, ${isAdmin ? "Verwaltung, " : ""}angelegt am ${date(createdAt)}, zuletzt gesehen: ${
        dateOr(lastSeenAt, `keine Anmeldung in ${duration(SESSION_LIFETIME)}n`)
      }, ${counted(routes, "Route", "Routen")}, ${number(Math.ceil(storedBytes / MEBIBYTE))} MiB`,
    deletionRequested: (instant) => `Löschung beantragt am ${date(instant)}`,
    delete: "Löschen",
    deleteWords: `Das Konto ist sofort verborgen und wird nach Ablauf von ${
      duration(GRACE_PERIOD)
    }n endgültig gelöscht, wenn es nicht vorher jemand durch Anmelden behält.`,
    search: "Teil eines Namens, Kurznamens oder einer Adresse",
    order: "Reihenfolge",
    newestFirst: "Neueste zuerst",
    mostBytesFirst: "Meiste Bytes zuerst",
    accounts: (count) => counted(count, "Konto", "Konten"),
    invite: "Einladen",
    inviteHint: (most) =>
      `Bis zu ${most}, eine je Zeile. Jede bekommt eine E-Mail mit einem Link, der ${
        duration(INVITATION_LIFETIME)
      } lang gilt.`,
    unused: "Noch nicht benutzt",
    invitation: (createdAt, expiresAt) => `Eingeladen am ${date(createdAt)}, aufbewahrt bis ${date(expiresAt)}.`,
    again: "Noch einmal senden",
    to: (email) => `an ${email}`,
    withdraw: "Zurückziehen",
    withdrawWords: "Der Link in der E-Mail gilt dann nicht mehr.",
    howMany: (most) => `Geben Sie 1 bis ${most} E-Mail-Adressen ein`,
    notInvited: (invited, problems) => `${number(invited)} eingeladen, diese nicht: ${problems.join(" ")}`,
    anyEvent: "Alles",
    entries: "Einträge",
    columns: { time: "Zeit", event: "Ereignis", user: "Konto", subject: "Betrifft" },
    time,
    events: {
      "sign_in.succeeded": "Angemeldet",
      "sign_in.failed": "Anmeldung gescheitert",
      "session.revoked": "Sitzung beendet",
      "sessions.revoked": "Alle Sitzungen beendet",
      "password.reset_requested": "Zurücksetzen des Passworts erbeten",
      "password.reset": "Passwort zurückgesetzt",
      "password.changed": "Passwort geändert",
      "password.change_failed": "Ändern des Passworts gescheitert",
      "password.removed": "Passwort entfernt",
      "token.minted": "Token angelegt",
      "token.mint_failed": "Anlegen eines Tokens gescheitert",
      "token.revoked": "Token widerrufen",
      "link.created": "Link angelegt",
      "link.changed": "Link geändert",
      "link.deleted": "Link entfernt",
      "share_token.replaced": "Link einer Route oder Sammlung ersetzt",
      "privacy_zones.changed": "Privatzonen geändert",
      "account.deletion_requested": "Löschung des Kontos beantragt",
      "account.deletion_cancelled": "Löschung des Kontos zurückgenommen",
      "account.erased": "Konto endgültig gelöscht",
      "admin.users_listed": "Verwaltung: Konten gelesen",
      "admin.user_viewed": "Verwaltung: Konto gelesen",
      "admin.user_deleted": "Verwaltung: Konto gelöscht",
      "admin.user_invited": "Verwaltung: jemanden eingeladen",
      "admin.invitations_listed": "Verwaltung: Einladungen gelesen",
      "admin.invitation_withdrawn": "Verwaltung: Einladung zurückgezogen",
      "admin.deletions_listed": "Verwaltung: Löschungen gelesen",
      "admin.routes_listed": "Verwaltung: Routen gelesen",
      "admin.route_deleted": "Verwaltung: Route gelöscht",
      "admin.audit_read": "Verwaltung: Protokoll gelesen"
    }
  }
}

export const routesGerman: RoutesTexts = {
  routes: {
    title: "Meine Routen",
    sorts: {
      "-createdAt": "Neueste zuerst",
      "-updatedAt": "Zuletzt geändert",
      name: "Nach Namen",
      "-distance": "Längste zuerst",
      distance: "Kürzeste zuerst"
    },
    any: "Alle",
    onlyFavourites: "Nur Favoriten",
    favourite: "Favorit",
    marksOf: (name) => `Merkmale von ${name}`,
    uploaded: "Hochgeladene Dateien",
    warning: ({ code, count, message }) => {
      if (code !== "dropped") {
        return `Vereinfacht: ${code === "gap_joined" ? "Lücken" : "Punkte"} der Linie (${number(count)}).`
      }
      return `Weggelassen: ${DROPPED.get(message.replace(/: .*/s, "")) ?? "andere Angaben"} (${number(count)}).`
    },
    upload: "Routen hochladen",
    files: "Dateien",
    filesHint: (formats) =>
      `${formats} oder ZIP, eine oder viele. Eine Datei mit mehreren Tracks wird zu mehreren Routen.`,
    unknownFormat: (formats) => `Wählen Sie eine Datei im Format ${formats} oder ZIP.`,
    seenBy: "Wer sieht sie?",
    uploadButton: "Hochladen",
    noFiles: "Wählen Sie eine oder mehrere Dateien",
    noRoutes:
      "Hier sind noch keine Routen. Laden Sie zu Beginn eine Datei von Ihrem Gerät oder aus einem anderen Programm hoch.",
    notFound: "Es gibt keine solche Route.",
    count: (count) => counted(count, "Route", "Routen")
  },
  route: {
    lineAndProfile: (name) => `Der Verlauf von ${name} und sein Höhenprofil`,
    seePage: "Zur Seite der Route",
    change: "Ändern",
    tagsHint: `Mit Kommas dazwischen; jedes hat 1 bis ${MAX_TAG} Zeichen aus a–z, 0–9 und „-“.`,
    noActivity: "Keine Angabe",
    favourite: "Ein Favorit von mir",
    delete: "Löschen",
    deleteButton: "Route löschen",
    deleteWords: "Sie kommt in den Papierkorb, aus dem sie sich wiederherstellen lässt."
  },
  sharing: {
    title: "Teilen",
    isPrivate: "Das ist privat: Niemand sonst kann es öffnen. Mit „Nicht gelistet“ bekommen Sie einen Link für andere.",
    link: "Link zum Kopieren",
    replace: "Link ersetzen",
    replaceWords: "Der Link, den Sie anderen gegeben haben, öffnet dann nichts mehr.",
    more: "Weitere Links",
    unnamed: (id) => `Link ${id}`,
    facts: ({ allowDownload, expiresAt, lastUsedAt, uses }) =>
      `Läuft ab: ${dateOr(expiresAt, "nie")}. ${number(uses)}-mal geöffnet, zuletzt: ${dateOr(lastUsedAt, "nie")}.${
        allowDownload ? "" : " Ohne Dateien."
      }`,
    remove: "Entfernen",
    label: "Name eines neuen Links",
    labelHint: "Nur für Sie.",
    expiresHint: "Leer für einen Link ohne Ende.",
    allowDownload: "Er öffnet auch Dateien wie GPX",
    make: "Link anlegen"
  },
  collections: {
    title: "Sammlungen",
    lead: "Eine Sammlung ist eine Liste von Routen in Ihrer Reihenfolge, die Sie als Ganzes teilen können.",
    previous: "Vorherige Sammlungen",
    more: "Weitere Sammlungen",
    make: "Sammlung anlegen",
    makeButton: "Sammlung anlegen",
    seePage: "Zur Seite der Sammlung",
    up: "Nach oben",
    down: "Nach unten",
    remove: "Entfernen",
    search: "Meine Routen durchsuchen",
    allAdded: "Alle diese Routen sind darin.",
    oneOfMine: "Eine meiner Routen",
    add: "Hinzufügen",
    change: "Ändern",
    delete: "Löschen",
    deleteButton: "Sammlung löschen",
    deleteWords: "Sie kommt in den Papierkorb. Ihre Routen bleiben."
  },
  trash: {
    title: "Papierkorb",
    lead: `Was hier ist, lässt sich ${
      duration(GRACE_PERIOD)
    } lang wiederherstellen. Eine wiederhergestellte Route sehen dieselben wie vorher.`,
    routes: "Routen",
    collections: "Sammlungen",
    none: "Im Papierkorb sind keine.",
    facts: (deletedAt, purgedAt) => `Gelöscht am ${date(deletedAt)}, endgültig am ${date(purgedAt)}.`,
    restore: "Wiederherstellen",
    erase: "Endgültig löschen",
    eraseWords: "Das lässt sich nicht rückgängig machen.",
    eraseAll: (count) => count === 1 ? "Alle endgültig löschen" : `Alle ${number(count)} endgültig löschen`,
    eraseAllWords: "Das lässt sich nicht rückgängig machen.",
    eraseAllButton: "Alle endgültig löschen"
  }
}
