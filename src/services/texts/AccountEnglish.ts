import type { AuditEvent } from "../../schema/Admin.ts"
import { MAX_ROUTES } from "../../schema/Collection.ts"
import { MAX_TOKEN_DAYS, type PersonalAccessToken, type Session } from "../../schema/Credential.ts"
import type { ImportWarning } from "../../schema/Import.ts"
import { GRACE_PERIOD, INVITATION_LIFETIME, SESSION_LIFETIME } from "../../schema/Limits.ts"
import { MAX_ZONES, ZONE_RADIUS } from "../../schema/PrivacyZone.ts"
import { TAG_RULE } from "../../schema/Route.ts"
import type { ShareLink } from "../../schema/ShareLink.ts"
import type { Usage } from "../../schema/User.ts"
import { type Html, html } from "../operations/Html.ts"
import { wordingIn } from "./Wording.ts"

const { counted, date, duration, number, time } = wordingIn("en")

const dateOr = (instant: string | null, otherwise: string) => instant === null ? otherwise : date(instant)

const MEBIBYTE = 1_048_576

export const accountEnglish = {
  sections: {
    label: "Section",
    profile: "Profile",
    zones: "Privacy zones",
    tokens: "Tokens",
    sessions: "Sessions",
    password: "Password",
    data: "Export and import",
    deletion: "Delete account",
    overview: "Overview",
    users: "Users",
    invitations: "Invitations",
    audit: "Audit",
    routes: "My routes",
    collections: "Collections",
    trash: "Trash",
    signOut: "Sign out"
  },
  /** A page says one of these after an action, by `?done=` of its address. */
  done: {
    welcome: "Welcome! Your account is ready, and you are signed in.",
    saved: "Saved.",
    uploaded: "Uploaded.",
    made: "Done. It is in the list.",
    deleted: "Moved to the trash, from which it can be restored.",
    restored: "Restored.",
    erased: "Erased for good.",
    revoked: "Revoked. It no longer works.",
    replaced: "There is a new link. The one before opens nothing any more.",
    requested: "The account is hidden, and will be erased.",
    invited: "Invited. The mail is on its way.",
    withdrawn: "Withdrawn. The link that was mailed no longer works."
  },
  common: {
    none: "There are none.",
    save: "Save",
    find: "Find",
    copy: "Copy",
    copied: "Copied",
    unknownAction: "This page has no such action"
  },
  tokens: {
    title: "Tokens",
    lead: "Personal access tokens let scripts and apps use your account without your password.",
    facts: ({ createdAt, expiresAt, lastUsedAt, scope }: PersonalAccessToken) =>
      `${{ read: "read only", write: "read and change" }[scope]}, made on ${date(createdAt)}, expires: ${
        dateOr(expiresAt, "never")
      }, last used: ${dateOr(lastUsedAt, "never")}.`,
    minted: (name: Html) => html`The token ${name} is made. Copy it now: it is shown this once.`,
    token: "Token",
    make: "Make a token",
    nameHint: "What will use it.",
    scopes: { read: "Read only", write: "Read and change" },
    daysHint: `1 to ${number(MAX_TOKEN_DAYS)}; empty for a token that never expires.`,
    passwordHint: "Only needed for a token that never expires.",
    mint: "Make the token",
    revoke: "Revoke"
  },
  zones: {
    title: "Privacy zones",
    lead:
      `Others do not see the parts of your routes in these circles, such as around your home. You may have ${MAX_ZONES}.`,
    unnamed: (position: number) => `Zone ${position}`,
    around: (radius: number, latitude: number, longitude: number) =>
      `${number(radius)} m around ${latitude}, ${longitude}`,
    remove: "Remove",
    removeWords: "Others will see what it hides, in all of your routes.",
    add: "Add a zone",
    labelHint: "For you alone.",
    placeHint: "Latitude and longitude, such as 47.1415, 9.5209, or the address of a map that shows the place.",
    wrongPlace: "Middle: enter latitude and longitude in degrees, such as 47.1415, 9.5209, or the address of a map",
    radiusHint: `${ZONE_RADIUS.minimum} to ${ZONE_RADIUS.maximum}.`,
    addButton: "Add the zone"
  },
  data: {
    title: "Export and import",
    export: "Export",
    exportWords: "All that your account has, as one ZIP archive: routes, also as GPX, collections, profile.",
    exportButton: "Export the account",
    import: "Import",
    importWords:
      "An archive of an export, of this account or another one, or a ZIP of the files that another service gave you. What is here already stays as it is.",
    visibility: "Who sees the routes of another service",
    tags: "Tags for them",
    tagsHint: "Words with commas between them, or none",
    collection: "A collection for them",
    collectionHint: "Its name; it is made if there is none",
    archive: "Archive",
    noArchive: "Choose the file of an export",
    importButton: "Import the archive",
    importedTitle: "Imported",
    imported: "The archive is imported.",
    routes: "Routes",
    collections: "Collections",
    report: (created: number, restored: number, unchanged: number, duplicates: number) =>
      `${number(created)} new, ${number(restored)} restored, ${number(unchanged)} as before${
        duplicates === 0 ? "" : `, ${number(duplicates)} here already from elsewhere, unchanged`
      }`,
    linesTitle: "Import",
    linesWords:
      "A file is listed as soon as it is imported. If this page ends before the word Done, upload the same archive again.",
    begun: (files: number) =>
      `The archive has ${counted(files, "file", "files")}. Keep this page open until the last one.`,
    fileImported: "Imported:",
    fileDuplicate: "Here already:",
    fileSkipped: (reason: string) => `Skipped: ${reason}`,
    ended: (imported: number, duplicates: number, skipped: number, notCollected: number) =>
      `Done: ${counted(imported, "file", "files")} imported, ${number(duplicates)} here already, ${
        number(skipped)
      } skipped.${
        notCollected === 0
          ? ""
          : ` Not in the collection, which may have ${number(MAX_ROUTES)} routes: ${number(notCollected)}.`
      }`,
    stopped: (words: string) => `${words} Upload the same archive again to go on: what is here is skipped.`
  },
  profile: {
    title: "Profile",
    signedIn: (email: Html, page: Html) => html`Signed in as ${email}. Your public page is ${page}.`,
    handleHint: "The address of your public page: 3 to 30 characters of a-z, 0-9 and \"-\".",
    avatarHint: "The https address of an image, or nothing.",
    preferences: "Preferences",
    anyPreference: "No preference",
    units: { metric: "Kilometres and metres", imperial: "Miles and feet" },
    usage: ({ collections, routes, storedBytes }: Usage) =>
      `Your account has ${number(routes.used)} of ${number(routes.limit)} routes, ${number(collections.used)} of ${
        number(collections.limit)
      } collections, ${number(Math.ceil(storedBytes.used / MEBIBYTE))} of ${
        number(Math.floor(storedBytes.limit / MEBIBYTE))
      } MiB.`
  },
  sessions: {
    title: "Sessions",
    lead: "Where you are signed in. End what you do not know.",
    unknown: "An unknown program",
    facts: ({ createdAt, current, ipAddress, lastSeenAt }: Session) =>
      `${current ? "This browser. " : ""}Signed in on ${date(createdAt)}, last used on ${date(lastSeenAt)}${
        ipAddress === null ? "" : ` from ${ipAddress}`
      }.`,
    signOut: "Sign out",
    everywhere: "Sign out everywhere",
    everywhereWords: "This browser is signed out too."
  },
  password: {
    title: "Password",
    lead: "A new password signs you out everywhere else. Personal access tokens go on.",
    button: "Change the password"
  },
  deletion: {
    title: "Delete account",
    lead:
      "Your routes, collections and links are hidden from everyone at once, tokens stop, and you are signed out everywhere. "
      + `For ${
        duration(GRACE_PERIOD)
      } you can sign in and keep the account after all. Then it is erased with all that it has.`,
    exportFirst: (page: string) => html`Take your routes along first: <a href="${page}">export the account</a>.`,
    button: "Delete my account",
    words: (email: Html) => html`This deletes the account ${email}, and hides everything that you shared.`
  },
  admin: {
    title: "Administration",
    newer: "Newer",
    older: "Older",
    groups: { users: "Users", routes: "Routes", sessions: "Sessions", tokens: "Tokens", collections: "Collections" },
    figures: {
      total: "in all",
      verified: "verified",
      pendingDeletion: "pending deletion",
      newLast30Days: "new in 30 days",
      private: "private",
      unlisted: "unlisted",
      public: "public",
      live: "live",
      usersLast24Hours: "users in 24 hours"
    },
    user: (
      { createdAt, email, isAdmin, lastSeenAt, routes, storedBytes }: {
        readonly createdAt: string
        readonly email: string
        readonly isAdmin: boolean
        readonly lastSeenAt: string | null
        readonly routes: number
        readonly storedBytes: number
      }
    ) =>
      `${email}, ${isAdmin ? "administrator, " : ""}made on ${date(createdAt)}, last seen: ${
        dateOr(lastSeenAt, `no sign-in in ${duration(SESSION_LIFETIME)}`)
      }, ${counted(routes, "route", "routes")}, ${number(Math.ceil(storedBytes / MEBIBYTE))} MiB`,
    deletionRequested: (instant: string) => `Deletion requested on ${date(instant)}`,
    delete: "Delete",
    deleteWords: `The account is hidden at once and erased after ${
      duration(GRACE_PERIOD)
    }, unless its owner signs in and keeps it.`,
    search: "A part of a name, a handle or an address",
    order: "Order",
    newestFirst: "Newest first",
    mostBytesFirst: "Most bytes first",
    accounts: (count: number) => counted(count, "account", "accounts"),
    invite: "Invite",
    inviteHint: (most: number) =>
      `Up to ${most}, one a line. Each gets a mail with a link, which works for ${duration(INVITATION_LIFETIME)}.`,
    unused: "Not used yet",
    invitation: (createdAt: string, expiresAt: string) =>
      `Invited on ${date(createdAt)}, kept until ${date(expiresAt)}.`,
    again: "Send again",
    to: (email: string) => `to ${email}`,
    withdraw: "Withdraw",
    withdrawWords: "The link that was mailed stops working.",
    howMany: (most: number) => `Enter 1 to ${most} email addresses`,
    notInvited: (invited: number, problems: ReadonlyArray<string>) =>
      `${number(invited)} invited, not these: ${problems.join(" ")}`,
    anyEvent: "Anything",
    entries: "Entries",
    columns: { time: "Time", event: "Event", user: "User", subject: "About" },
    time,
    events: {
      "sign_in.succeeded": "Signed in",
      "sign_in.failed": "Failed to sign in",
      "session.revoked": "Ended a session",
      "sessions.revoked": "Ended all sessions",
      "password.reset_requested": "Requested a password reset",
      "password.reset": "Reset the password",
      "password.changed": "Changed the password",
      "password.change_failed": "Failed to change the password",
      "password.removed": "Password removed",
      "token.minted": "Made a token",
      "token.mint_failed": "Failed to make a token",
      "token.revoked": "Revoked a token",
      "link.created": "Made a link",
      "link.changed": "Changed a link",
      "link.deleted": "Removed a link",
      "share_token.replaced": "Replaced the link of a route or collection",
      "privacy_zones.changed": "Changed privacy zones",
      "account.deletion_requested": "Requested the deletion of the account",
      "account.deletion_cancelled": "Cancelled the deletion of the account",
      "account.erased": "Account erased",
      "admin.users_listed": "Administrator: listed users",
      "admin.user_viewed": "Administrator: viewed a user",
      "admin.user_deleted": "Administrator: deleted a user",
      "admin.user_invited": "Administrator: invited someone",
      "admin.invitations_listed": "Administrator: listed invitations",
      "admin.invitation_withdrawn": "Administrator: withdrew an invitation",
      "admin.deletions_listed": "Administrator: listed deletions",
      "admin.routes_listed": "Administrator: listed routes",
      "admin.route_deleted": "Administrator: deleted a route",
      "admin.audit_read": "Administrator: read the audit"
    } satisfies Readonly<Record<AuditEvent, string>>
  }
}

export type AccountTexts = typeof accountEnglish

export const routesEnglish = {
  routes: {
    title: "My routes",
    sorts: {
      "-createdAt": "Newest first",
      "-updatedAt": "Changed last",
      name: "By name",
      "-distance": "Longest first",
      distance: "Shortest first"
    },
    any: "Any",
    onlyFavourites: "Only favourites",
    favourite: "favourite",
    marksOf: (name: string) => `Marks of ${name}`,
    uploaded: "Uploaded files",
    warning: ({ code, count, message }: ImportWarning) =>
      code === "dropped" ? `Left out: ${message.replace(": ", ` (${number(count)}): `)}.` : `${message}.`,
    upload: "Upload routes",
    files: "Files",
    filesHint: (formats: string) =>
      `${formats} or ZIP, one or many. A file with several tracks becomes several routes.`,
    unknownFormat: (formats: string) => `Choose a file of ${formats} or ZIP.`,
    seenBy: "Who sees them",
    uploadButton: "Upload",
    noFiles: "Choose one or more files",
    noRoutes: "There are no routes here yet. Upload a file of your device or of another program to begin.",
    notFound: "No route is like that.",
    count: (count: number) => counted(count, "route", "routes")
  },
  route: {
    lineAndProfile: (name: string) => `The line of ${name} and its elevation profile`,
    seePage: "See the page of the route",
    change: "Change",
    tagsHint: `With commas between them; each has ${TAG_RULE}.`,
    noActivity: "Not said",
    favourite: "A favourite of mine",
    delete: "Delete",
    deleteButton: "Delete the route",
    deleteWords: "It is moved to the trash, from which it can be restored."
  },
  sharing: {
    title: "Share",
    isPrivate: "It is private: nobody else opens it. Make it unlisted to give others a link.",
    link: "Link to copy",
    replace: "Replace the link",
    replaceWords: "The link that you gave to others opens nothing from then on.",
    more: "More links",
    unnamed: (id: number) => `Link ${id}`,
    facts: ({ allowDownload, expiresAt, lastUsedAt, uses }: ShareLink) =>
      `Expires: ${dateOr(expiresAt, "never")}. Opened ${counted(uses, "time", "times")}, last: ${
        dateOr(lastUsedAt, "never")
      }.${allowDownload ? "" : " Without files."}`,
    remove: "Remove",
    label: "Name of a new link",
    labelHint: "For you alone.",
    expiresHint: "Empty for a link without an end.",
    allowDownload: "It opens files such as GPX too",
    make: "Make a link"
  },
  collections: {
    title: "Collections",
    lead: "A collection is a list of routes in your order, which can be shared as a whole.",
    previous: "Previous collections",
    more: "More collections",
    make: "Make a collection",
    makeButton: "Make the collection",
    seePage: "See the page of the collection",
    up: "Up",
    down: "Down",
    remove: "Remove",
    search: "Search my routes",
    allAdded: "All of these routes are in it.",
    oneOfMine: "One of my routes",
    add: "Add",
    change: "Change",
    delete: "Delete",
    deleteButton: "Delete the collection",
    deleteWords: "It is moved to the trash. Its routes stay."
  },
  trash: {
    title: "Trash",
    lead: `What is here can be restored for ${
      duration(GRACE_PERIOD)
    } after it was deleted. A restored route is seen by those who saw it before.`,
    routes: "Routes",
    collections: "Collections",
    none: "There are none in the trash.",
    facts: (deletedAt: string, purgedAt: string) => `Deleted on ${date(deletedAt)}, erased on ${date(purgedAt)}.`,
    restore: "Restore",
    erase: "Erase",
    eraseWords: "It is erased for good.",
    eraseAll: (count: number) => count === 1 ? "Erase all" : `Erase all ${number(count)}`,
    eraseAllWords: "They are erased for good.",
    eraseAllButton: "Erase all"
  }
}

export type RoutesTexts = typeof routesEnglish
