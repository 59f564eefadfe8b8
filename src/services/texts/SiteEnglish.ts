import { MAX_ROUTES } from "../../schema/Collection.ts"
import { GRACE_PERIOD, MAX_TOKENS, PROVIDER_SIGN_IN_LIFETIME } from "../../schema/Limits.ts"
import { MAX_ZONES } from "../../schema/PrivacyZone.ts"
import { MAX_LINKS } from "../../schema/ShareLink.ts"
import { type Html, html } from "../operations/Html.ts"
import { wordingIn } from "./Wording.ts"

const { counted, duration, number } = wordingIn("en")

/** The texts are those of the frame of all pages, of the start page, and of what is wrong. */
export const siteEnglish = {
  layout: {
    navigation: "Site",
    skip: "Skip to the content",
    signIn: "Sign in",
    routes: "My routes",
    collections: "Collections",
    account: "Account",
    administration: "Administration",
    notice: "Legal notice and privacy",
    /** Screen readers read the title first, so it names the error. */
    errorTitle: (title: string) => `Error: ${title}`
  },
  home: {
    title: "Plan, store and share routes",
    description: "Store, share and download routes for running, riding and walking.",
    what: (name: string) =>
      html`${name} is for people who run, ride and walk: upload routes of any program, keep them in order, share them by a link,
and take them along as GPX, FIT and other files.`,
    signIn: "Sign in",
    signUp: "Sign up",
    byInvitation: "Accounts are by invitation here: ask an administrator.",
    routes: "My routes",
    publicRoutes: "Public routes",
    busy: "They cannot be listed now. Try again in a moment.",
    programs: "Apps and scripts",
    docs: (page: string, document: string) =>
      html`Programs use the same by an API, below <code>/api/v1</code>: its <a href="${page}">interactive documentation</a> lists
every operation and sends requests from the browser, and the <a href="${document}">OpenAPI document</a> is the same as data.`,
    noDocs: html`Programs use the same by an API, below <code>/api/v1</code>. Its documentation is in the file
<code>docs/api.md</code> of the program. An operator who sets <code>API_DOCS_ENABLED=true</code> has it served here as well.`,
    account: "Your account",
    keep: (page: string) =>
      html`<a href="${page}">Keep an account</a> whose deletion was requested, within ${duration(GRACE_PERIOD)}.`,
    revoke: (page: string) => html`<a href="${page}">Revoke the access tokens</a> of scripts and apps.`
  },
  missing: {
    title: "There is no such page",
    words: (start: string) =>
      html`The address is wrong, or the page is gone. Begin at the <a href="${start}">start page</a>.`
  },
  errors: {
    title: "This did not work",
    requestId: (id: string) => `The number of this request is ${id}.`,
    tooOften: (wait: string) => `That was tried too often. ${wait}`,
    busy: (wait: string) => `The service is busy or is starting. ${wait}`,
    again: (seconds: number | undefined) =>
      seconds === undefined ? "Try again in a moment." : `Try again in ${counted(seconds, "second", "seconds")}.`,
    fault: "The service could not do this. Try again later.",
    other: (message: string, _status: number) => `${message}.`,
    tooLarge: (mebibytes: number) =>
      `The files may have ${number(mebibytes)} MiB together: send fewer or smaller ones.`,
    /** `message` is what the schema of a field accepts. */
    field: (label: string, message: string) => `${label}: ${message}.`,
    password: (message: string) => `${message}.`,
    issue: (message: string) => `${message}.`,
    reasons: {
      session_invalid: "You are no longer signed in: sign in again.",
      not_signed_in: "You are not signed in: sign in again.",
      wrong_credentials: "Wrong email address or password.",
      sign_in_refused: "The sign-in was not accepted.",
      provider_declined: "The identity provider did not sign you in.",
      sign_in_not_begun: `The sign-in was not begun in this browser within the last ${
        duration(PROVIDER_SIGN_IN_LIFETIME)
      }.`,
      account_pending_deletion: "The account is pending deletion: cancel the deletion first.",
      administrator_required: "This page is for administrators.",
      cross_site: "A page of another site sent this form.",
      email_unverified: "Verify your email address first: a new link has been mailed.",
      provider_email_unverified: "The identity provider has not verified the email address.",
      current_password_wrong: "The current password is wrong.",
      password_wrong: "The password is not that of the sign-up that this link was mailed for.",
      password_needed: "The address has several sign-ups: enter the password of the one that this link was mailed for.",
      signup_disabled: "Sign-up is closed here: ask an administrator for an invitation.",
      provider_sign_in_disabled: "Sign-in by an identity provider is switched off here: sign in by email.",
      stale: "It was changed meanwhile: what you wrote is below, saving it replaces what is there.",
      duplicate_route: "You have a route with the same positions already.",
      collection_full: `A collection may have at most ${number(MAX_ROUTES)} routes.`,
      too_many_zones: `An account may have at most ${number(MAX_ZONES)} privacy zones.`,
      too_many_tokens: `An account may have at most ${number(MAX_TOKENS)} tokens: revoke one first.`,
      too_many_links: `There may be at most ${number(MAX_LINKS)} links: remove one first.`,
      handle_taken: "This handle is taken.",
      address_taken: "The address has an account already.",
      nothing_to_cancel: "There is no deletion that can be cancelled.",
      another_account:
        "Another account is signed in in this browser now, so nothing was done. Send it again only if it is meant for that one.",
      own_account: "This is your own account: delete it by the page of your account.",
      import_running: "Another archive is being imported into this account: try again when that has ended.",
      linked_elsewhere: "This account is linked to another identity of the provider."
    },
    quotas: {
      routes: (limit: number) =>
        `An account may have at most ${number(limit)} routes; those in the trash count until they are erased.`,
      storedBytes: (limit: number) =>
        `The routes of an account may have at most ${
          number(Math.floor(limit / 1_048_576))
        } MiB; those in the trash count until they are erased.`,
      collections: (limit: number) => `An account may have at most ${number(limit)} collections.`
    }
  },
  fields: {
    name: "Name",
    email: "Email address",
    emails: "Email addresses",
    password: "Password",
    newPassword: "New password",
    currentPassword: "Current password",
    description: "Description",
    tags: "Tags",
    collection: "Collection",
    activity: "Activity",
    visibility: "Who sees it",
    handle: "Handle",
    avatar: "Picture",
    units: "Units",
    defaultActivity: "Activity",
    defaultRouteVisibility: "Who sees a new route",
    cycle: "Ride: usual km/h",
    run: "Run: usual km/h",
    walk: "Walk: usual km/h",
    label: "Name",
    expiresAt: "Last day",
    place: "Middle",
    radius: "Radius in metres",
    scope: "Scope",
    expiresInDays: "Expires in days",
    q: "Search",
    tag: "Tag",
    favourite: "Favourites",
    sort: "Order",
    user: "Id of a user",
    event: "What happened"
  },
  activities: { cycle: "Ride", run: "Run", walk: "Walk" },
  visibilities: {
    private: "Private: only you",
    unlisted: "Unlisted: anyone who has the link",
    public: "Public: anyone can find it"
  },
  visibility: { private: "private", unlisted: "unlisted", public: "public" }
}

export type SiteTexts = typeof siteEnglish

export const pagesEnglish = {
  by: (author: Html, place: string | undefined) =>
    place === undefined ? html`By ${author}` : html`By ${author} in ${place}`,
  planned: "A planned route",
  lineAlt: "The line of the route on a plain ground, from its start (a round mark) to its end (a square one)",
  drawing: "Map and elevation profile",
  map: "Map of the route",
  /** The names are those of MapLibre. */
  mapControls: {
    "Map.Title": "Map",
    "NavigationControl.ZoomIn": "Zoom in",
    "NavigationControl.ZoomOut": "Zoom out",
    "FullscreenControl.Enter": "Full screen",
    "FullscreenControl.Exit": "Leave full screen",
    "CooperativeGesturesHandler.WindowsHelpText": "Use Ctrl + scroll to zoom the map",
    "CooperativeGesturesHandler.MacHelpText": "Use ⌘ + scroll to zoom the map",
    "CooperativeGesturesHandler.MobileHelpText": "Use two fingers to move the map"
  },
  profile: "Elevation profile",
  position: "Position along the route",
  climbs: "Climbs:",
  steepness: (from: number, to: number | undefined) => {
    if (to === undefined) return `${from} % and more`
    return from === 0 ? `under ${to} %` : `${from} to ${to} %`
  },
  facts: {
    descent: "Descent",
    highest: "Highest point",
    lowest: "Lowest point",
    steepest: "Steepest climb",
    surface: "Surface",
    added: "Added"
  },
  askedSurfaces: { paved: "Paved, if possible", unpaved: "Unpaved, if possible" },
  surfaces: "Surfaces",
  /** The names are those of the engine, in the order of their colours. */
  surfaceWords: {
    paved_smooth: "Smoothly paved",
    paved: "Paved",
    paved_rough: "Roughly paved",
    compacted: "Compacted",
    gravel: "Gravel",
    dirt: "Earth",
    path: "Path",
    impassable: "Impassable",
    unknown: "Unknown"
  },
  pavedShare: (percent: string) => `${percent} paved`,
  surfacesOfMap: "As the map has them; where it names no surface, it is guessed from the kind of road.",
  otherUnits: { metric: "Show miles and feet", imperial: "Show kilometres and metres" },
  tags: "Tags",
  start: "Start:",
  end: "End:",
  openStart: "Open the start in a map app",
  files: "Take it along",
  share: "Share",
  link: "Link to this page",
  copy: "Copy link",
  copied: "The link is copied.",
  shareButton: "Share",
  qr: "QR code of the link",
  embed: "Embed in a page",
  embedCode: "HTML",
  stops: "Waypoints and turns",
  allStops: (count: number) => `Show all ${number(count)}`,
  moreStops: (count: number) => `${counted(count, "more is", "more are")} in the files.`,
  turns: {
    "Note": "Note",
    "Start": "Start",
    "Finish": "Finish",
    "Straight": "Straight on",
    "Bear right": "Bear right",
    "Right": "Turn right",
    "Hard right": "Turn sharp right",
    "Bear left": "Bear left",
    "Left": "Turn left",
    "Hard left": "Turn sharp left",
    "U-turn": "Turn around",
    "Fork right": "Keep right at the fork",
    "Fork left": "Keep left at the fork",
    "Roundabout": "Roundabout",
    "Ferry": "Ferry"
  },
  collectionBy: (routes: string, author: string) => `${routes} by ${author}`,
  collectedBy: (routes: string, author: Html) => html`${routes}, collected by ${author}`,
  publicRoutes: (count: number) => counted(count, "public route", "public routes"),
  openRoute: "Open the route",
  tagged: (tag: string) => `Public routes with the tag ${tag}`,
  allPublic: "All public routes"
}

export type PagesTexts = typeof pagesEnglish

/** All pages with routes say these of them. */
export const sharedEnglish = {
  facts: { distance: "Distance", climb: "Ascent", time: "Time", activity: "Activity" },
  climbing: (climb: string) => `${climb} of climbing`,
  lineOf: (name: string) => `The line of ${name}`,
  followsRoads: (source: Html) => html`Follows road data ${source}.`,
  pages: "Pages",
  previousRoutes: "Previous routes",
  moreRoutes: "More routes",
  noRoutes: "There are no routes here.",
  routes: (count: number) => counted(count, "route", "routes")
}

export type SharedTexts = typeof sharedEnglish
