// `npm run docs` generates this file from the contract.

/** A call that an `AbortSignal` can end. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

export type CallArguments<I> = {} extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions]

/** A call returns the body of the response; `response` returns the response with it, which has `ETag` and `X-Total-Count`. */
export interface Endpoint<I, A> {
  (...call: CallArguments<I>): Promise<A>
  response(...call: CallArguments<I>): Promise<{ readonly data: A; readonly response: Response }>
}

/** A file, or a form with files. */
export type FileBody = string | Blob | FormData | ArrayBuffer | Uint8Array<ArrayBuffer>

/** An account to be made. */
export interface AccountInput {
  /** 3 to 254 characters after trimming */
  readonly email: string
  /** The password: 12 to 1,024 characters */
  readonly password: string
  /** 1 to 100 characters after trimming */
  readonly name?: string | null | undefined
}

/** What `PATCH /users/me` and `PUT /users/me/privacy-zones` have set. */
export interface AccountSettings {
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** The https URL of an image, which the service never fetches */
  readonly avatar?: string | undefined
  /** The settings of the user */
  readonly preferences: Preferences | null
  /** The privacy zones */
  readonly zones: ReadonlyArray<PrivacyZone>
}

/** The request is done. */
export interface Acknowledgement {
  /** Always `true` */
  readonly success: boolean
}

/** An activity. */
export type Activity = "run" | "cycle" | "walk"

/** A route to be added to a collection. */
export interface Addition {
  /** The id of a route */
  readonly routeId: number
  /** At which place among the routes that the owner sees, from 0; at the end if absent */
  readonly position?: number | null | undefined
}

/** Adds a route to a collection, or moves one that it has. */
export interface AddToCollectionOperation {
  /** What to do */
  readonly op: "addToCollection"
  readonly collectionId: CollectionIdOrMade
  /** The `ETag` to be changed, as the header `If-Match` */
  readonly ifMatch?: string | null | undefined
  /** The `version` to be changed, as `GET /sync` has it; not with `ifMatch` */
  readonly ifVersion?: number | null | undefined
  readonly routeId: RouteIdOrMade
  /** At which place among the routes that the owner sees, from 0; at the end if absent */
  readonly position?: number | null | undefined
}

/** A route as administrators see it: neither its line nor its share token. */
export interface AdminRoute {
  /** The id of a route */
  readonly id: number
  /** The name of the route */
  readonly name: string
  /** By which activity */
  readonly activity: Activity | null
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** Where the route comes from */
  readonly provenance: Provenance
  /** Metres */
  readonly distance: number | null
  /** The city that the route starts in or near */
  readonly placeCity: string | null
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode: string | null
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
}

/** An account as administrators see it: no credentials. */
export interface AdminUser {
  /** The id of a user */
  readonly id: number
  /** The email address of the user */
  readonly email: string
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** Whether the address is verified */
  readonly isEmailVerified: boolean
  /** What the account may do */
  readonly role: Role
  /** Whether the account has a password */
  readonly hasPassword: boolean
  /** Whether the account is linked to the identity provider */
  readonly hasIdentityProvider: boolean
  /** Whether the account is pending deletion */
  readonly deletionStatus: DeletionStatus
  /** When the account's deletion was requested */
  readonly deletionRequestedAt: string | null
  /** When it was made */
  readonly createdAt: string
  /** When one of its sessions was last used, ended ones too; null where the last sign-in is more than 30 days ago */
  readonly lastSeenAt: string | null
  /** Bytes of its routes, those in the trash too, and of kept responses */
  readonly storedBytes: number
  /** Figures of the live routes */
  readonly statistics: {
    /** How many live routes there are */
    readonly totalRoutes: number
    /** Metres */
    readonly totalDistance: number
  }
}

/** Something that happened to an account. */
export interface AuditEntry {
  /** The id of the entry */
  readonly id: number
  /** When it was made */
  readonly createdAt: string
  /** What happened */
  readonly event: AuditEvent
  /** The account that did it, or that an attempt failed for */
  readonly userId: number | null
  /** The account that an administrator acted on */
  readonly subjectId: number | null
  /** The trace of the request (W3C Trace Context) */
  readonly traceId: string | null
}

/** What happened to an account. */
export type AuditEvent = "sign_in.succeeded" | "sign_in.failed" | "session.revoked" | "sessions.revoked" | "password.reset_requested" | "password.reset" | "password.changed" | "password.change_failed" | "password.removed" | "token.minted" | "token.mint_failed" | "token.revoked" | "link.created" | "link.changed" | "link.deleted" | "share_token.replaced" | "privacy_zones.changed" | "account.deletion_requested" | "account.deletion_cancelled" | "account.erased" | "admin.users_listed" | "admin.user_viewed" | "admin.user_deleted" | "admin.user_invited" | "admin.invitations_listed" | "admin.invitation_withdrawn" | "admin.deletions_listed" | "admin.routes_listed" | "admin.route_deleted" | "admin.audit_read"

/** A collection to be made, also of routes that the batch makes. */
export interface BatchCollectionInput {
  /** 1 to 100 characters after trimming */
  readonly name: string
  /** 0 to 255 characters after trimming */
  readonly description?: string | null | undefined
  /** Who may open it beside its owner */
  readonly visibility?: Visibility | null | undefined
  /** The routes of the collection, in order */
  readonly routeIds?: ReadonlyArray<RouteIdOrMade> | null | undefined
  /** A UUID of the client's own, once in the account, for links once for what they open. A repeat of the call with it makes nothing more and has the first result: the same status and body, also where the route, collection or link was changed since; the `etag` is that of the first version, so that a change that expects it is 409 with `details.current`. With another content it has what is there now. What was moved to the trash since is 409, and a link that was deleted is made again */
  readonly clientId?: string | null | undefined
}

/** What to change of a collection; `routeIds` is its whole order. */
export interface BatchCollectionPatch {
  /** 1 to 100 characters after trimming */
  readonly name?: string | undefined
  /** 0 to 255 characters after trimming */
  readonly description?: string | null | undefined
  /** Who may open it beside its owner */
  readonly visibility?: Visibility | undefined
  /** The routes of the collection, in order */
  readonly routeIds?: ReadonlyArray<RouteIdOrMade> | null | undefined
}

/** One operation of a batch. */
export type BatchOperation = CreateOperation | UpdateOperation | DeleteOperation | RestoreOperation | CreateCollectionOperation | UpdateCollectionOperation | DeleteCollectionOperation | AddToCollectionOperation | RemoveFromCollectionOperation | CreateLinkOperation | UpdateLinkOperation | DeleteLinkOperation | SetPrivacyZonesOperation | UpdateAccountOperation

/** What became of an operation. */
export interface BatchResult {
  /** The `op` of the operation */
  readonly op: string
  /** The status that the operation has as a request of its own */
  readonly status: number
  /** The `ETag` of the route or collection */
  readonly etag?: string | undefined
  readonly route?: CreatedRoute | undefined
  readonly collection?: Collection | undefined
  readonly link?: ShareLink | undefined
  /** All of them */
  readonly zones?: ReadonlyArray<PrivacyZone> | undefined
  readonly account?: Profile | undefined
  readonly error?: OperationError | undefined
}

/** What became of each operation. */
export interface BatchResults {
  /** In the order of the operations */
  readonly results: ReadonlyArray<BatchResult>
}

/** A setting that differs from its default. */
export interface ChangedSetting {
  /** The environment variable */
  readonly name: string
  /** Its value, of a URL without what may be a key */
  readonly value: string
}

/** A page of what changed. */
export interface ChangePage {
  /** In order */
  readonly changes: ReadonlyArray<SyncChange>
  /** For the next call */
  readonly cursor: string
  /** Whether there are more changes now */
  readonly hasMore: boolean
}

/** A collection: an ordered list of routes. */
export interface Collection {
  /** The id of a collection */
  readonly id: number
  /** The name of the collection */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The ids of routes, in order */
  readonly routeIds: ReadonlyArray<number>
  /** How many routes there are in `routeIds` */
  readonly routeCount: number
  /** For its owner, and for anyone who opened the collection by it; for others who opened it by a link, the token of that link */
  readonly shareToken?: string | undefined
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
}

/** The id of a collection, or `$` and the index of an earlier operation of the batch, for what that made */
export type CollectionIdOrMade = number | string

/** A collection to be made. */
export interface CollectionInput {
  /** 1 to 100 characters after trimming */
  readonly name: string
  /** 0 to 255 characters after trimming */
  readonly description?: string | null | undefined
  /** Who may open it beside its owner */
  readonly visibility?: Visibility | null | undefined
  /** The ids of routes, in order */
  readonly routeIds?: ReadonlyArray<number> | null | undefined
  /** A UUID of the client's own, once in the account, for links once for what they open. A repeat of the call with it makes nothing more and has the first result: the same status and body, also where the route, collection or link was changed since; the `etag` is that of the first version, so that a change that expects it is 409 with `details.current`. With another content it has what is there now. What was moved to the trash since is 409, and a link that was deleted is made again */
  readonly clientId?: string | null | undefined
}

/** What to change of a collection. */
export interface CollectionPatch {
  /** 1 to 100 characters after trimming */
  readonly name?: string | undefined
  /** 0 to 255 characters after trimming */
  readonly description?: string | null | undefined
  /** Who may open it beside its owner */
  readonly visibility?: Visibility | undefined
}

/** A route in a collection. */
export interface CollectionRoute {
  /** The id of a route */
  readonly id: number
  /** The name of the route */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** By which activity */
  readonly activity?: Activity | undefined
  /** Seconds */
  readonly duration?: number | undefined
  /** Metres */
  readonly elevationGain?: number | undefined
  /** Where the route starts, in the client's words */
  readonly startAddress?: string | undefined
  /** Where the route ends, in the client's words */
  readonly endAddress?: string | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The owner's words for it */
  readonly tags: ReadonlyArray<string>
  /** The owner's mark: `false` for other users */
  readonly favourite: boolean
  /** The points that the rider chose, in order */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | undefined
  /** An encoded polyline with six decimals, latitude first */
  readonly polyline6?: string | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | undefined
  /** Turns along the whole line: there with `geometry` `full` and `polyline6` only */
  readonly cues?: ReadonlyArray<Maneuver> | undefined
  /** Metres */
  readonly distance?: number | undefined
  /** How much of the line has each surface; not for others, where a privacy zone cuts the line */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
  readonly source?: RouteSource | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences: RoutingPreferences | null
  /** Where the route comes from */
  readonly provenance: Provenance
  /** Absent on an unlisted route that others see by a link to the collection */
  readonly shareToken?: string | undefined
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
}

/** Makes a collection. */
export interface CreateCollectionOperation {
  /** What to do */
  readonly op: "createCollection"
  readonly collection: BatchCollectionInput
}

/** The route that was made. */
export interface CreatedRoute {
  /** The id of a route */
  readonly id: number
  /** The name of the route */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** By which activity */
  readonly activity?: Activity | undefined
  /** Seconds */
  readonly duration?: number | undefined
  /** Metres */
  readonly elevationGain?: number | undefined
  /** Where the route starts, in the client's words */
  readonly startAddress?: string | undefined
  /** Where the route ends, in the client's words */
  readonly endAddress?: string | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The owner's words for it */
  readonly tags: ReadonlyArray<string>
  /** The owner's mark: `false` for other users */
  readonly favourite: boolean
  /** The points that the rider chose, in order */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | undefined
  /** An encoded polyline with six decimals, latitude first */
  readonly polyline6?: string | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | undefined
  /** Turns along the whole line: there with `geometry` `full` and `polyline6` only */
  readonly cues?: ReadonlyArray<Maneuver> | undefined
  /** Metres */
  readonly distance?: number | undefined
  /** How much of the line has each surface; not for others, where a privacy zone cuts the line */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
  readonly source?: RouteSource | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences: RoutingPreferences | null
  /** Where the route comes from */
  readonly provenance: Provenance
  /** By which anyone opens it while it is public or unlisted: 32 hex digits. For others than the owner who opened the route by a link, the token of that link */
  readonly shareToken: string
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
  /** With `elevation=true`, and where longitude and latitude seem to be swapped */
  readonly warnings?: ReadonlyArray<ImportWarning> | undefined
}

/** Makes a link to a route or a collection. */
export interface CreateLinkOperation {
  /** What to do */
  readonly op: "createLink"
  /** The id of a route, or `$` and the index of an earlier operation of the batch, for what that made */
  readonly routeId?: RouteIdOrMade | null | undefined
  /** The id of a collection, or `$` and the index of an earlier operation of the batch, for what that made */
  readonly collectionId?: CollectionIdOrMade | null | undefined
  readonly link: ShareLinkInput
}

/** Stores a route. */
export interface CreateOperation {
  /** What to do */
  readonly op: "create"
  readonly route: RouteInput
}

/** What a request is authenticated by. */
export interface Credential {
  /** What it is */
  readonly kind: "session" | "token"
  /** What it may do; a session also does what no token may */
  readonly scope: TokenScope
  /** The name of the token; `null` for a session */
  readonly name: string | null
  /** `null` for a token that does not expire */
  readonly expiresAt: string | null
  /** Whose it is */
  readonly user: {
    /** The id of a user */
    readonly id: number
    /** The public address of the profile */
    readonly handle: string
  }
  /** By tier of endpoints; empty where there are none */
  readonly limits: ReadonlyArray<RateTierLimit>
}

/** Moves a collection to the trash; its routes stay. */
export interface DeleteCollectionOperation {
  /** What to do */
  readonly op: "deleteCollection"
  readonly collectionId: CollectionIdOrMade
  /** The `ETag` to be changed, as the header `If-Match` */
  readonly ifMatch?: string | null | undefined
  /** The `version` to be changed, as `GET /sync` has it; not with `ifMatch` */
  readonly ifVersion?: number | null | undefined
}

/** A collection in the trash. */
export interface DeletedCollection {
  /** The id of a collection */
  readonly id: number
  /** The name of the collection */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The ids of routes, in order */
  readonly routeIds: ReadonlyArray<number>
  /** How many routes there are in `routeIds` */
  readonly routeCount: number
  /** For its owner, and for anyone who opened the collection by it; for others who opened it by a link, the token of that link */
  readonly shareToken?: string | undefined
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
  /** When it was moved to the trash */
  readonly deletedAt: string
  /** From when on it is erased: 30 days after `deletedAt` */
  readonly purgedAt: string
}

/** A route in the trash. */
export interface DeletedRoute {
  /** The id of a route */
  readonly id: number
  /** The name of the route */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** By which activity */
  readonly activity?: Activity | undefined
  /** Seconds */
  readonly duration?: number | undefined
  /** Metres */
  readonly elevationGain?: number | undefined
  /** Where the route starts, in the client's words */
  readonly startAddress?: string | undefined
  /** Where the route ends, in the client's words */
  readonly endAddress?: string | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The owner's words for it */
  readonly tags: ReadonlyArray<string>
  /** The owner's mark: `false` for other users */
  readonly favourite: boolean
  /** The points that the rider chose, in order */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | undefined
  /** An encoded polyline with six decimals, latitude first */
  readonly polyline6?: string | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | undefined
  /** Turns along the whole line: there with `geometry` `full` and `polyline6` only */
  readonly cues?: ReadonlyArray<Maneuver> | undefined
  /** Metres */
  readonly distance?: number | undefined
  /** How much of the line has each surface; not for others, where a privacy zone cuts the line */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
  readonly source?: RouteSource | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences: RoutingPreferences | null
  /** Where the route comes from */
  readonly provenance: Provenance
  /** By which anyone opens it while it is public or unlisted: 32 hex digits. For others than the owner who opened the route by a link, the token of that link */
  readonly shareToken: string
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
  /** When it was moved to the trash */
  readonly deletedAt: string
  /** From when on it is erased: 30 days after `deletedAt` */
  readonly purgedAt: string
}

/** Deletes a link to a route or a collection. */
export interface DeleteLinkOperation {
  /** What to do */
  readonly op: "deleteLink"
  /** The id of a route, or `$` and the index of an earlier operation of the batch, for what that made */
  readonly routeId?: RouteIdOrMade | null | undefined
  /** The id of a collection, or `$` and the index of an earlier operation of the batch, for what that made */
  readonly collectionId?: CollectionIdOrMade | null | undefined
  /** The id of a link */
  readonly linkId: number
}

/** Moves a route to the trash. */
export interface DeleteOperation {
  /** What to do */
  readonly op: "delete"
  /** The id of a route */
  readonly id: number
  /** The `ETag` to be changed, as the header `If-Match` */
  readonly ifMatch?: string | null | undefined
  /** The `version` to be changed, as `GET /sync` has it; not with `ifMatch` */
  readonly ifVersion?: number | null | undefined
}

/** Whether an account is pending deletion. */
export type DeletionStatus = "active" | "pending_hard_delete"

/** What an import leaves out. */
export interface DroppedPart {
  /** What is left out */
  readonly what: string
  /** Why it is left out */
  readonly why: string
  /** How many there are */
  readonly count: number
}

/** What an import would store, and what it would leave out. */
export interface DryRun {
  /** The format of the file */
  readonly format: "gpx" | "geojson" | "tcx" | "kml" | "fit"
  /** The first 100 tracks of the file */
  readonly tracks: ReadonlyArray<ImportTrack>
  /** How many tracks the file has */
  readonly trackCount: number
  /** What would be stored */
  readonly route?: unknown | undefined
  /** Metres */
  readonly distance?: number | undefined
  /** Seconds */
  readonly duration?: number | undefined
  /** West, south, east and north in degrees; east is over 180 across the antimeridian */
  readonly bounds?: readonly [number, number, number, number] | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
  /** What was changed, or could not be done */
  readonly warnings: ReadonlyArray<ImportWarning>
  /** Own routes with the same positions; without `duplicates=allow` an import would be 409 */
  readonly duplicates: ReadonlyArray<Duplicate>
  /** What an import leaves out */
  readonly dropped: ReadonlyArray<DroppedPart>
}

/** A route of a file that an own route repeats. */
export interface Duplicate {
  /** Which of the tracks of the file: 0 for the first, as in `tracks` */
  readonly index: number
  /** The own route that has the same positions */
  readonly routeId: number
}

/** A line with elevations. */
export interface ElevationAnswer {
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry: ReadonlyArray<readonly [number, number] | readonly [number, number, number]>
  /** How many positions got an elevation */
  readonly filled: number
  /** How many still have none */
  readonly missing: number
}

/** The elevations along a line. */
export interface ElevationProfile {
  /** Metres along the line that the caller sees */
  readonly distance: number
  /** Along the line, in order */
  readonly points: ReadonlyArray<ProfilePoint>
}

/** A line whose elevations are to be filled. */
export interface ElevationRequest {
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | null | undefined
  /** At most 100000 positions in place of `geometry`: an encoded polyline with six decimals */
  readonly polyline6?: string | null | undefined
}

/** The token that was mailed to an address, and the password of the sign-up that it was mailed for. */
export interface EmailProof {
  /** The token out of the mail */
  readonly token: string
  /** The password of the sign-up, needed where the address has several */
  readonly password?: string | null | undefined
}

/** An email address with its password. */
export interface EmailSignIn {
  /** 3 to 254 characters after trimming */
  readonly email: string
  /** The password */
  readonly password: string
}

/** The routing engine is unavailable, or gets no requests for a while after failures. */
export interface EngineAway {
  /** Whether it works */
  readonly status: "away" | "circuit-open"
}

/** The routing engine, its version and the date of its map. */
export interface EngineReady {
  /** Whether it works */
  readonly status: "ok"
  /** The version of the engine */
  readonly version: string
  /** The date of the engine's map */
  readonly tiles: string
}

/** The state of the routing engine. */
export type EngineState = EngineReady | EngineAway

/** The one shape of every error. */
export interface ErrorBody {
  /** The status of the response */
  readonly statusCode: number
  /** A stable word for a program */
  readonly code: "VALIDATION_FAILED" | "UNAUTHORIZED" | "FORBIDDEN" | "NOT_FOUND" | "CONFLICT" | "PRECONDITION_REQUIRED" | "RATE_LIMITED" | "INTERNAL"
  /** For people */
  readonly message: string
  readonly details?: ErrorDetails | undefined
}

/** Facts about an error, for a program. */
export interface ErrorDetails {
  /** What is wrong with the request; at most 100 issues */
  readonly issues?: ReadonlyArray<ValidationIssue> | undefined
  readonly impact?: Impact | undefined
  /** What the operations of a batch would do if they were confirmed */
  readonly impacts?: ReadonlyArray<Impact> | undefined
  /** Index of the operation because of which an atomic batch changed nothing */
  readonly operation?: number | undefined
  /** Indexes of the locations concerned */
  readonly locations?: ReadonlyArray<number> | undefined
  /** The own route that has the same positions */
  readonly routeId?: number | undefined
  /** Which routes of a file have the same positions as which own routes */
  readonly duplicates?: ReadonlyArray<Duplicate> | undefined
  /** Routes that were not found */
  readonly routeIds?: ReadonlyArray<number> | undefined
  /** Trace id of the request for an operator (W3C Trace Context) */
  readonly traceId?: string | undefined
  /** The limit in bytes */
  readonly limitBytes?: number | undefined
  /** The limit of requests in a window, or of the quota */
  readonly limit?: number | undefined
  /** The window of the limit in seconds */
  readonly windowSeconds?: number | undefined
  /** Seconds until a retry */
  readonly retryAfterSeconds?: number | undefined
  /** The full quota of the account */
  readonly quota?: "routes" | "storedBytes" | "collections" | undefined
  /** How much of the quota is used */
  readonly used?: number | undefined
  /** The current version */
  readonly version?: number | undefined
  /** The current `ETag` */
  readonly etag?: string | undefined
  /** The route, without its line and cues, or the collection as it is now */
  readonly current?: Readonly<Record<string, unknown>> | undefined
  /** The tracks of the file to choose from; the first 100 */
  readonly tracks?: ReadonlyArray<ImportTrack> | undefined
  /** The methods of the path */
  readonly allowed?: ReadonlyArray<string> | undefined
  /** The cause: each error of the statuses 401, 403, 409, 410 and 429 has one */
  readonly reason?: "too_far" | "too_many_points" | "too_many_locations" | "not_signed_in" | "authorization_malformed" | "session_invalid" | "token_malformed" | "token_unknown" | "token_revoked" | "token_expired" | "account_pending_deletion" | "wrong_credentials" | "sign_in_refused" | "provider_declined" | "sign_in_not_begun" | "insufficient_scope" | "session_required" | "administrator_required" | "cross_site" | "email_unverified" | "provider_email_unverified" | "current_password_wrong" | "password_wrong" | "signup_disabled" | "provider_sign_in_disabled" | "download_not_allowed" | "no_path" | "no_road_near_location" | "stale" | "quota_exceeded" | "duplicate_route" | "collection_full" | "too_many_zones" | "too_many_tokens" | "too_many_links" | "key_in_use" | "key_reused" | "client_id_used" | "source_used" | "handle_taken" | "address_taken" | "nothing_to_cancel" | "another_account" | "own_account" | "import_running" | "linked_elsewhere" | "password_needed" | "cursor_expired" | "rate_limited" | "too_many_at_once" | "too_many_waiting" | undefined
}

/** The line of a route, or a waypoint. */
export interface Feature {
  /** Its type */
  readonly type: "Feature"
  /** The other members of the route or of the waypoint; `role` says which */
  readonly properties: Readonly<Record<string, unknown>>
  /** `null` for a route without a line */
  readonly geometry: LineString | Point | null
}

/** A route as GeoJSON (RFC 7946). */
export interface FeatureCollection {
  /** Its type */
  readonly type: "FeatureCollection"
  /** The line, then the waypoints */
  readonly features: ReadonlyArray<Feature>
}

/** A switch in a query. */
export type Flag = "true" | "false"

/** What of a line is returned. */
export type GeometryForm = "full" | "simplified" | "none" | "polyline6"

/** What of a route a GPX file has. */
export type GpxForm = "track" | "route" | "both"

/** Where the dashboards are. */
export interface GrafanaUrls {
  /** The URL of the dashboard of requests */
  readonly apiOverview?: string | undefined
  /** The URL of the dashboard of response times */
  readonly apiLatency?: string | undefined
  /** The URL of the dashboard of the process */
  readonly runtime?: string | undefined
}

/** What a request would do if it were confirmed. */
export interface Impact {
  /** Such as `route.delete` */
  readonly action: string
  /** Kind of the resource: `route`, `collection`, `link` or `privacy_zones` */
  readonly resource: string
  /** Id of the resource, if it exists */
  readonly id?: number | undefined
  /** Text for people */
  readonly summary: string
}

/** A route that was imported, with what was changed of it. */
export interface ImportedRoute {
  /** The id of a route */
  readonly id: number
  /** The name of the route */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** By which activity */
  readonly activity?: Activity | undefined
  /** Seconds */
  readonly duration?: number | undefined
  /** Metres */
  readonly elevationGain?: number | undefined
  /** Where the route starts, in the client's words */
  readonly startAddress?: string | undefined
  /** Where the route ends, in the client's words */
  readonly endAddress?: string | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The owner's words for it */
  readonly tags: ReadonlyArray<string>
  /** The owner's mark: `false` for other users */
  readonly favourite: boolean
  /** The points that the rider chose, in order */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | undefined
  /** An encoded polyline with six decimals, latitude first */
  readonly polyline6?: string | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | undefined
  /** Turns along the whole line: there with `geometry` `full` and `polyline6` only */
  readonly cues?: ReadonlyArray<Maneuver> | undefined
  /** Metres */
  readonly distance?: number | undefined
  /** How much of the line has each surface; not for others, where a privacy zone cuts the line */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
  readonly source?: RouteSource | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences: RoutingPreferences | null
  /** Where the route comes from */
  readonly provenance: Provenance
  /** By which anyone opens it while it is public or unlisted: 32 hex digits. For others than the owner who opened the route by a link, the token of that link */
  readonly shareToken: string
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
  /** What was changed, or could not be done */
  readonly warnings: ReadonlyArray<ImportWarning>
}

/** The route that was made, or with `split` those that were. */
export type ImportedRoutes = ImportedRoute | ReadonlyArray<ImportedRoute>

/** How many an import created, took out of the trash and left as they were. */
export interface ImportOutcome {
  /** How many are new */
  readonly created: number
  /** How many were taken out of the trash */
  readonly restored: number
  /** How many stayed as they were */
  readonly unchanged: number
}

/** What an import of an archive did. */
export interface ImportReport {
  readonly routes: RouteImportOutcome
  readonly collections: ImportOutcome
  /** What became of the settings */
  readonly preferences: "restored" | "unchanged"
}

/** A track of a file. */
export interface ImportTrack {
  /** What `track` takes: 0 for the first */
  readonly index: number
  /** The name of the track */
  readonly name: string
  /** The file that it is in, where there are several */
  readonly file?: string | undefined
  /** How many positions it has */
  readonly positions: number
  /** Metres, without the gaps between its segments */
  readonly distance: number
  /** West, south, east and north in degrees; east is over 180 across the antimeridian */
  readonly bounds?: readonly [number, number, number, number] | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
}

/** What was changed or left out. */
export interface ImportWarning {
  /** A stable word for a program */
  readonly code: "gap_joined" | "positions_simplified" | "dropped" | "elevation_missing" | "coordinates_swapped"
  /** For people */
  readonly message: string
  /** How many gaps, positions or things of that kind */
  readonly count: number
}

/** The address to invite. */
export interface Invitation {
  /** 3 to 254 characters after trimming */
  readonly email: string
}

/** A language of directions. */
export type Language = "ar-SA" | "bg-BG" | "ca-ES" | "cs-CZ" | "da-DK" | "de-DE" | "el-GR" | "en-AU" | "en-GB" | "en-US" | "es-ES" | "et-EE" | "fi-FI" | "fr-FR" | "he-IL" | "hi-IN" | "hu-HU" | "it-IT" | "ja-JP" | "ko-KR" | "mn-MN" | "nb-NO" | "nl-NL" | "pl-PL" | "pt-BR" | "pt-PT" | "ro-RO" | "ru-RU" | "sk-SK" | "sl-SI" | "sv-SE" | "tr-TR" | "uk-UA" | "vi-VN" | "ar" | "bg" | "ca" | "cs" | "da" | "de" | "el" | "en" | "es" | "et" | "fi" | "fr" | "he" | "hi" | "hu" | "it" | "ja" | "ko" | "mn" | "nb" | "nl" | "pl" | "pt" | "ro" | "ru" | "sk" | "sl" | "sv" | "tr" | "uk" | "vi"

/** A line of two positions or more. */
export interface LineString {
  /** Its type */
  readonly type: "LineString"
  /** The positions */
  readonly coordinates: ReadonlyArray<readonly [number, number] | readonly [number, number, number]>
}

/** The process responds. */
export interface Liveness {
  /** Whether it works */
  readonly status: "ok"
}

/** Something to do on the way, such as a turn. */
export interface Maneuver {
  /** What to do, for people */
  readonly instruction: string
  /** The kind of maneuver, by the numbers of Valhalla: 8 goes on, 10 turns right, 15 left, 4 arrives */
  readonly type: number
  /** The index of its position in the line, from 0 */
  readonly begin_shape_index: number
  /** Kilometres until the next one */
  readonly length: number
  /** Seconds until the next one */
  readonly time: number
}

/** Where a point of a trace was matched. */
export interface MatchedPoint {
  /** The latitude in degrees (WGS 84) */
  readonly lat: number
  /** The longitude in degrees (WGS 84) */
  readonly lon: number
  /** `matched`, `interpolated` or `unmatched` */
  readonly type: string
  /** Which of `edges` it lies on */
  readonly edge_index?: number | undefined
  /** Metres */
  readonly distance_from_trace_point?: number | undefined
}

/** A personal access token with the token itself, which is shown this once. */
export interface MintedToken {
  /** The id of a token */
  readonly id: number
  /** The name of the token */
  readonly name: string
  /** What the token may do */
  readonly scope: TokenScope
  /** The last four characters of the token */
  readonly hint: string
  /** When it was made */
  readonly createdAt: string
  /** When it expires; `null` is never */
  readonly expiresAt: string | null
  /** When it was last used */
  readonly lastUsedAt: string | null
  /** The token itself */
  readonly token: string
}

/** Why an operation was refused. */
export interface OperationError {
  /** The status of the response */
  readonly statusCode: number
  /** A stable word for a program */
  readonly code: string
  /** For people */
  readonly message: string
  readonly details?: ErrorDetails | undefined
}

/** Numbers of accounts, sessions, tokens, routes and collections. */
export interface Overview {
  /** Numbers of accounts */
  readonly users: {
    /** How many there are */
    readonly total: number
    /** How many have a verified address */
    readonly verified: number
    /** How many are pending deletion */
    readonly pendingDeletion: number
    /** How many are of the last 30 days */
    readonly newLast30Days: number
  }
  /** Numbers of sessions */
  readonly sessions: {
    /** How many there are */
    readonly live: number
    /** How many users were seen within 24 hours */
    readonly usersLast24Hours: number
  }
  /** Numbers of personal access tokens */
  readonly tokens: {
    /** How many there are */
    readonly live: number
  }
  /** Numbers of routes */
  readonly routes: {
    /** How many there are */
    readonly total: number
    /** How many are private */
    readonly private: number
    /** How many are unlisted */
    readonly unlisted: number
    /** How many are public */
    readonly public: number
    /** How many are of the last 30 days */
    readonly newLast30Days: number
  }
  /** Numbers of collections */
  readonly collections: {
    /** How many there are */
    readonly total: number
  }
}

/** The current password, where there is one, and the new one. */
export interface PasswordChange {
  /** The current password, where there is one */
  readonly currentPassword?: string | null | undefined
  /** The new password: 12 to 1,024 characters */
  readonly newPassword: string
}

/** The token that was mailed, and the new password. */
export interface PasswordReset {
  /** The token out of the mail */
  readonly token: string
  /** The password: 12 to 1,024 characters */
  readonly password: string
}

/** An account that is pending deletion. */
export interface PendingDeletion {
  /** The id of a user */
  readonly id: number
  /** The email address of the user */
  readonly email: string
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** When the account's deletion was requested */
  readonly deletionRequestedAt: string
  /** From when on the account is erased */
  readonly erasureDueAt: string
}

/** A personal access token, without the token itself. */
export interface PersonalAccessToken {
  /** The id of a token */
  readonly id: number
  /** The name of the token */
  readonly name: string
  /** What the token may do */
  readonly scope: TokenScope
  /** The last four characters of the token */
  readonly hint: string
  /** When it was made */
  readonly createdAt: string
  /** When it expires; `null` is never */
  readonly expiresAt: string | null
  /** When it was last used */
  readonly lastUsedAt: string | null
}

/** The colours of a picture. */
export type PictureTheme = "light" | "dark"

/** A position. */
export interface Point {
  /** Its type */
  readonly type: "Point"
  /** [lng, lat] or [lng, lat, elevation]: degrees (WGS 84), the elevation in metres */
  readonly coordinates: readonly [number, number] | readonly [number, number, number]
}

/** The settings of a user. */
export interface Preferences {
  /** Known: `metric`, `imperial` */
  readonly units?: string | undefined
  /** Whether points of interest are shown */
  readonly showPois?: boolean | undefined
  /** Whether the map shows the terrain */
  readonly terrain3d?: boolean | undefined
  /** Whether new points snap to roads */
  readonly autoSnap?: boolean | undefined
  /** Known: `run`, `cycle`, `walk` */
  readonly defaultActivity?: string | undefined
  /** The activities that the user has chosen */
  readonly selectedSports?: ReadonlyArray<string> | undefined
  /** The name of a style */
  readonly mapStyle?: string | undefined
  /** What pages and imports offer for a new route */
  readonly defaultRouteVisibility?: Visibility | undefined
  /** Usual speeds, by activity */
  readonly sportSpeeds?: {
    /** Kilometres per hour */
    readonly run?: number | undefined
    /** Kilometres per hour */
    readonly cycle?: number | undefined
    /** Kilometres per hour */
    readonly walk?: number | undefined
  } | undefined
  /** The layers of the map */
  readonly overlays?: {
    /** Whether this layer of the map is shown */
    readonly heatmap?: boolean | undefined
    /** Whether this layer of the map is shown */
    readonly contour?: boolean | undefined
    /** Whether this layer of the map is shown */
    readonly bike?: boolean | undefined
    /** Whether surfaces are shown */
    readonly surface?: boolean | undefined
    /** Whether this layer of the map is shown */
    readonly wind?: boolean | undefined
    /** Whether this layer of the map is shown */
    readonly hikingNodes?: boolean | undefined
    /** Whether this layer of the map is shown */
    readonly cyclingNodes?: boolean | undefined
  } | undefined
  /** What new routes ask of the routing engine, by activity */
  readonly routingDefaults?: {
    readonly cycle?: RoutingPreferences | undefined
    readonly run?: RoutingPreferences | undefined
    readonly walk?: RoutingPreferences | undefined
  } | undefined
}

/** What to change of the settings: `null` clears a member, objects are merged, arrays replaced. */
export interface PreferencesPatch {
  /** Known: `metric`, `imperial` */
  readonly units?: string | null | undefined
  /** Whether points of interest are shown */
  readonly showPois?: boolean | null | undefined
  /** Whether the map shows the terrain */
  readonly terrain3d?: boolean | null | undefined
  /** Whether new points snap to roads */
  readonly autoSnap?: boolean | null | undefined
  /** Known: `run`, `cycle`, `walk` */
  readonly defaultActivity?: string | null | undefined
  /** The activities that the user has chosen */
  readonly selectedSports?: ReadonlyArray<string> | null | undefined
  /** The name of a style */
  readonly mapStyle?: string | null | undefined
  /** What pages and imports offer for a new route */
  readonly defaultRouteVisibility?: Visibility | null | undefined
  /** Usual speeds, by activity */
  readonly sportSpeeds?: {
    /** Kilometres per hour */
    readonly run?: number | null | undefined
    /** Kilometres per hour */
    readonly cycle?: number | null | undefined
    /** Kilometres per hour */
    readonly walk?: number | null | undefined
  } | null | undefined
  /** The layers of the map */
  readonly overlays?: {
    /** Whether this layer of the map is shown */
    readonly heatmap?: boolean | null | undefined
    /** Whether this layer of the map is shown */
    readonly contour?: boolean | null | undefined
    /** Whether this layer of the map is shown */
    readonly bike?: boolean | null | undefined
    /** Whether surfaces are shown */
    readonly surface?: boolean | null | undefined
    /** Whether this layer of the map is shown */
    readonly wind?: boolean | null | undefined
    /** Whether this layer of the map is shown */
    readonly hikingNodes?: boolean | null | undefined
    /** Whether this layer of the map is shown */
    readonly cyclingNodes?: boolean | null | undefined
  } | null | undefined
  /** What new routes ask of the routing engine, by activity */
  readonly routingDefaults?: {
    /** For this activity */
    readonly cycle?: {
      /** Known: `paved`, `any`, `unpaved` */
      readonly surfacePreference?: string | null | undefined
      /** Whether to avoid ferries */
      readonly avoidFerries?: boolean | null | undefined
      /** Whether to avoid large roads */
      readonly avoidHighways?: boolean | null | undefined
    } | null | undefined
    /** For this activity */
    readonly run?: {
      /** Known: `paved`, `any`, `unpaved` */
      readonly surfacePreference?: string | null | undefined
      /** Whether to avoid ferries */
      readonly avoidFerries?: boolean | null | undefined
      /** Whether to avoid large roads */
      readonly avoidHighways?: boolean | null | undefined
    } | null | undefined
    /** For this activity */
    readonly walk?: {
      /** Known: `paved`, `any`, `unpaved` */
      readonly surfacePreference?: string | null | undefined
      /** Whether to avoid ferries */
      readonly avoidFerries?: boolean | null | undefined
      /** Whether to avoid large roads */
      readonly avoidHighways?: boolean | null | undefined
    } | null | undefined
  } | null | undefined
}

/** A circle that is hidden from others. */
export interface PrivacyZone {
  /** The middle of the circle: longitude, latitude */
  readonly center: readonly [number, number]
  /** In metres */
  readonly radius: number
  /** 0 to 100 characters after trimming */
  readonly label?: string | null | undefined
}

/** The privacy zones of an account. */
export interface PrivacyZones {
  /** All of them */
  readonly zones: ReadonlyArray<PrivacyZone>
}

/** The caller's account, what it has and what it may have. */
export interface Profile {
  /** The id of a user */
  readonly id: number
  /** The email address of the user */
  readonly email: string
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** The https URL of an image, which the service never fetches */
  readonly avatar?: string | undefined
  /** Whether the address is verified */
  readonly isEmailVerified: boolean
  /** What the account may do */
  readonly role: Role
  /** The settings of the user */
  readonly preferences: Preferences | null
  /** A pseudonym that is the same in all responses */
  readonly idHash: string
  /** Whether the account is pending deletion */
  readonly deletionStatus: DeletionStatus
  /** When the account's deletion was requested */
  readonly deletionRequestedAt: string | null
  /** Whether the account has a password */
  readonly hasPassword: boolean
  /** Figures of the live routes */
  readonly statistics: {
    /** How many live routes there are */
    readonly totalRoutes: number
    /** Metres */
    readonly totalDistance: number
  }
  readonly usage: Usage
}

/** What to change of the account. */
export interface ProfilePatch {
  /** 1 to 100 characters after trimming */
  readonly name?: string | undefined
  /** The public address of the profile */
  readonly handle?: string | undefined
  /** 1 to 2048 characters after trimming */
  readonly avatar?: string | null | undefined
  /** The settings of the user */
  readonly preferences?: PreferencesPatch | null | undefined
}

/** A point of an elevation profile. */
export interface ProfilePoint {
  /** Metres from the start of the line */
  readonly distance: number
  /** Metres; `null` beside positions without an elevation */
  readonly height: number | null
}

/** Where a route comes from. */
export type Provenance = "routing-engine" | "legacy-provider" | "gpx-import" | "generation"

/** An OpenID Connect provider that signs in by redirect. */
export interface Provider {
  /** The name in its paths */
  readonly id: string
  /** What people read */
  readonly name: string
  /** Where a browser begins, by navigation and not by `fetch`; `return` is where it goes then */
  readonly startUrl: string
}

/** What the identity provider gave: exactly one of the three. */
export type ProviderCredential = ProviderCredentialByCode | ProviderCredentialByIdToken | ProviderCredentialByCredential

/** What the identity provider gave: exactly one of the three. This one has `code`. */
export interface ProviderCredentialByCode {
  /** An authorization code of the popup flow */
  readonly code: string
}

/** What the identity provider gave: exactly one of the three. This one has `credential`. */
export interface ProviderCredentialByCredential {
  /** The ID token as one-tap posts it */
  readonly credential: string
}

/** What the identity provider gave: exactly one of the three. This one has `idToken`. */
export interface ProviderCredentialByIdToken {
  /** An ID token */
  readonly idToken: string
}

/** The state of an identity provider. */
export interface ProviderState {
  /** The origin of its issuer */
  readonly issuer: string
  /** `ok` where its document was read within the last hour */
  readonly status: Reachability
}

/** What anyone sees of a user. */
export interface PublicProfile {
  /** The id of a user */
  readonly id: number
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** The https URL of an image, which the service never fetches */
  readonly avatar?: string | undefined
  /** A pseudonym that is the same in all responses */
  readonly idHash: string
  /** When it was made */
  readonly createdAt: string
  /** How many routes the public listing has of the user */
  readonly publicRoutes: number
}

/** How many requests a tier of endpoints allows. */
export interface RateTierLimit {
  /** The kind of endpoint */
  readonly tier: "default" | "moderate" | "strict"
  /** Requests to one endpoint in a window */
  readonly limit: number
  /** The window in seconds */
  readonly windowSeconds: number
}

/** Whether what the service needs responds. */
export type Reachability = "ok" | "away"

/** The service takes requests. */
export interface Readiness {
  /** Whether it works */
  readonly status: "ok"
  /** `read-only`: reads work, and what writes is 503 */
  readonly database: "ok" | "read-only"
  readonly routingEngine: EngineState
}

/** Takes a route out of a collection. */
export interface RemoveFromCollectionOperation {
  /** What to do */
  readonly op: "removeFromCollection"
  readonly collectionId: CollectionIdOrMade
  /** The `ETag` to be changed, as the header `If-Match` */
  readonly ifMatch?: string | null | undefined
  /** The `version` to be changed, as `GET /sync` has it; not with `ifMatch` */
  readonly ifVersion?: number | null | undefined
  readonly routeId: RouteIdOrMade
}

/** The state of a read replica. */
export interface ReplicaState {
  /** Its place in `DATABASE_READ_URL`, from 1 */
  readonly replica: number
  /** `behind` where it lags more than `DATABASE_READ_MAX_LAG`: the primary serves then */
  readonly status: "ok" | "away" | "behind"
  /** The age of the newest commit that it is known to have */
  readonly lagSeconds?: number | undefined
}

/** The address that a link is mailed to. */
export interface ResetRequest {
  /** 3 to 254 characters after trimming */
  readonly email: string
}

/** Restores a route from the trash. */
export interface RestoreOperation {
  /** What to do */
  readonly op: "restore"
  /** The id of a route */
  readonly id: number
}

/** What an account may do. */
export type Role = "user" | "admin"

/** A route. */
export interface Route {
  /** The id of a route */
  readonly id: number
  /** The name of the route */
  readonly name: string
  /** A text of one's own */
  readonly description?: string | undefined
  /** By which activity */
  readonly activity?: Activity | undefined
  /** Seconds */
  readonly duration?: number | undefined
  /** Metres */
  readonly elevationGain?: number | undefined
  /** Where the route starts, in the client's words */
  readonly startAddress?: string | undefined
  /** Where the route ends, in the client's words */
  readonly endAddress?: string | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | undefined
  /** Who may open it beside its owner */
  readonly visibility: Visibility
  /** The owner's words for it */
  readonly tags: ReadonlyArray<string>
  /** The owner's mark: `false` for other users */
  readonly favourite: boolean
  /** The points that the rider chose, in order */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | undefined
  /** An encoded polyline with six decimals, latitude first */
  readonly polyline6?: string | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | undefined
  /** Turns along the whole line: there with `geometry` `full` and `polyline6` only */
  readonly cues?: ReadonlyArray<Maneuver> | undefined
  /** Metres */
  readonly distance?: number | undefined
  /** How much of the line has each surface; not for others, where a privacy zone cuts the line */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | undefined
  /** The city that the route starts in or near */
  readonly placeCity?: string | undefined
  /** The first-level region that the route starts in */
  readonly placeRegion?: string | undefined
  /** The country that the route starts in (ISO 3166-1 alpha-2) */
  readonly placeCountryCode?: string | undefined
  readonly source?: RouteSource | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences: RoutingPreferences | null
  /** Where the route comes from */
  readonly provenance: Provenance
  /** By which anyone opens it while it is public or unlisted: 32 hex digits. For others than the owner who opened the route by a link, the token of that link */
  readonly shareToken: string
  /** `false` where it was opened by a link that does not open files; else absent */
  readonly allowDownload?: boolean | undefined
  readonly user: UserSummary
  /** When it was made */
  readonly createdAt: string
  /** When it was last changed */
  readonly updatedAt: string
  /** The page for people, of a single response; absent while only the owner may see it, and where pages are off */
  readonly url?: string | undefined
}

/** Operations on what the caller has stored. */
export interface RouteBatch {
  /** `true`: all operations or none; the response is the first one's error then */
  readonly atomic?: boolean | null | undefined
  /** What to do, in order */
  readonly operations: ReadonlyArray<BatchOperation>
}

/** The id of a route, or `$` and the index of an earlier operation of the batch, for what that made */
export type RouteIdOrMade = number | string

/** How many routes an import created, took out of the trash and left as they were. */
export interface RouteImportOutcome {
  /** How many are new */
  readonly created: number
  /** How many were taken out of the trash */
  readonly restored: number
  /** How many stayed as they were */
  readonly unchanged: number
  /** How many were skipped: an own route has the same positions */
  readonly duplicates: number
}

/** A route to be stored. `null` is the same as leaving a member out. */
export interface RouteInput {
  /** 1 to 255 characters after trimming */
  readonly name: string
  /** The points that the rider chose, in order */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** Who may open it beside its owner */
  readonly visibility?: Visibility | null | undefined
  /** Where the route comes from */
  readonly provenance?: Provenance | null | undefined
  /** A UUID of the client's own, once in the account, for links once for what they open. A repeat of the call with it makes nothing more and has the first result: the same status and body, also where the route, collection or link was changed since; the `etag` is that of the first version, so that a change that expects it is 409 with `details.current`. With another content it has what is there now. What was moved to the trash since is 409, and a link that was deleted is made again */
  readonly clientId?: string | null | undefined
  /** 0 to 10000 characters after trimming */
  readonly description?: string | null | undefined
  /** By which activity */
  readonly activity?: Activity | null | undefined
  /** Seconds */
  readonly duration?: number | null | undefined
  /** Metres */
  readonly elevationGain?: number | null | undefined
  /** 0 to 255 characters after trimming */
  readonly startAddress?: string | null | undefined
  /** 0 to 255 characters after trimming */
  readonly endAddress?: string | null | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | null | undefined
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | null | undefined
  /** At most 100000 positions in place of `geometry`: an encoded polyline with six decimals */
  readonly polyline6?: string | null | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | null | undefined
  /** Metres */
  readonly distance?: number | null | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences?: {
    /** Known: `paved`, `any`, `unpaved` */
    readonly surfacePreference?: string | null | undefined
    /** Whether to avoid ferries */
    readonly avoidFerries?: boolean | null | undefined
    /** Whether to avoid large roads */
    readonly avoidHighways?: boolean | null | undefined
  } | null | undefined
  /** Turns along the geometry, in the shape of a computed route's `maneuvers`; a new geometry without new cues removes them */
  readonly cues?: ReadonlyArray<Maneuver> | null | undefined
  /** How much of the line has each surface, as a computed route or a matched trace has it; a new geometry without new surfaces removes them */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | null | undefined
  /** The owner's words for it */
  readonly tags?: ReadonlyArray<string> | null | undefined
  /** Where the route is from */
  readonly source?: RouteSource | null | undefined
  /** The owner's mark */
  readonly favourite?: boolean | null | undefined
}

/** A part of a computed route, from a location to the next. */
export interface RouteLeg {
  /** An encoded polyline with six decimals, latitude first */
  readonly shape: string
  /** Length and time */
  readonly summary: {
    /** Kilometres */
    readonly length: number
    /** Seconds */
    readonly time: number
  }
}

/** The routes of a collection in their order. */
export interface RouteOrder {
  /** The ids of routes, in order */
  readonly routeIds: ReadonlyArray<number>
}

/** What to change of a route: an absent member stays as it is, `null` clears an optional one. */
export interface RoutePatch {
  /** 1 to 255 characters after trimming */
  readonly name?: string | undefined
  /** The points that the rider chose, in order */
  readonly waypoints?: ReadonlyArray<Waypoint> | undefined
  /** Who may open it beside its owner */
  readonly visibility?: Visibility | undefined
  /** Where the route comes from */
  readonly provenance?: Provenance | undefined
  /** 0 to 10000 characters after trimming */
  readonly description?: string | null | undefined
  /** By which activity */
  readonly activity?: Activity | null | undefined
  /** Seconds */
  readonly duration?: number | null | undefined
  /** Metres */
  readonly elevationGain?: number | null | undefined
  /** 0 to 255 characters after trimming */
  readonly startAddress?: string | null | undefined
  /** 0 to 255 characters after trimming */
  readonly endAddress?: string | null | undefined
  /** When the recording began that it was made of, for its owner; instants from 1980 to 2199 */
  readonly recordedAt?: string | null | undefined
  /** The line: positions of longitude, latitude, and elevation where there is one */
  readonly geometry?: ReadonlyArray<readonly [number, number] | readonly [number, number, number]> | null | undefined
  /** At most 100000 positions in place of `geometry`: an encoded polyline with six decimals */
  readonly polyline6?: string | null | undefined
  /** The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. Nothing is measured or drawn across a gap; absent or `[0]` without one */
  readonly segments?: ReadonlyArray<number> | null | undefined
  /** Metres */
  readonly distance?: number | null | undefined
  /** What the route asks of the routing engine */
  readonly routingPreferences?: {
    /** Known: `paved`, `any`, `unpaved` */
    readonly surfacePreference?: string | null | undefined
    /** Whether to avoid ferries */
    readonly avoidFerries?: boolean | null | undefined
    /** Whether to avoid large roads */
    readonly avoidHighways?: boolean | null | undefined
  } | null | undefined
  /** Turns along the geometry, in the shape of a computed route's `maneuvers`; a new geometry without new cues removes them */
  readonly cues?: ReadonlyArray<Maneuver> | null | undefined
  /** How much of the line has each surface, as a computed route or a matched trace has it; a new geometry without new surfaces removes them */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | null | undefined
  /** The owner's words for it */
  readonly tags?: ReadonlyArray<string> | null | undefined
  /** Where the route is from */
  readonly source?: RouteSource | null | undefined
  /** The owner's mark */
  readonly favourite?: boolean | null | undefined
}

/** The order of a list of routes; `-` is descending. */
export type RouteSort = "-createdAt" | "createdAt" | "-updatedAt" | "name" | "-distance" | "distance" | "relevance"

/** Where a route is from, for its owner. */
export interface RouteSource {
  /** The service that it was at, such as `strava` */
  readonly provider: string
  /** 1 to 255 characters after trimming */
  readonly externalId: string
  /** 1 to 2048 characters after trimming */
  readonly url?: string | null | undefined
}

/** A computed route. */
export interface RoutingAnswer {
  /** From each location to the next, in order */
  readonly legs: ReadonlyArray<RouteLeg>
  /** Where the route goes through, in order */
  readonly locations: ReadonlyArray<SnappedLocation>
  /** What to do along the line, where `directions` asks for it */
  readonly maneuvers?: ReadonlyArray<Maneuver> | undefined
  /** How much of the line has each surface, where `surfaces` asks for it and the engine responds in time */
  readonly surfaces?: ReadonlyArray<SurfaceShare> | undefined
  /** What the route takes, or could not be done */
  readonly warnings: ReadonlyArray<RoutingWarning>
}

/** Where a route is to go through. */
export interface RoutingLocation {
  /** The latitude in degrees (WGS 84) */
  readonly lat: number
  /** The longitude in degrees (WGS 84) */
  readonly lon: number
}

/** What a route asks of the routing engine. */
export interface RoutingPreferences {
  /** Known: `paved`, `any`, `unpaved` */
  readonly surfacePreference?: string | undefined
  /** Whether to avoid ferries */
  readonly avoidFerries?: boolean | undefined
  /** Whether to avoid large roads */
  readonly avoidHighways?: boolean | undefined
}

/** A route to be computed, through locations in their order. */
export interface RoutingRequest {
  /** By which activity */
  readonly activity: Activity
  /** What the route asks of the routing engine */
  readonly preferences: {
    /** Known: `paved`, `any`, `unpaved` */
    readonly surfacePreference?: string | null | undefined
    /** Whether to avoid ferries */
    readonly avoidFerries?: boolean | null | undefined
    /** Whether to avoid large roads */
    readonly avoidHighways?: boolean | null | undefined
  }
  /** Where the route goes through, in order */
  readonly locations: ReadonlyArray<RoutingLocation>
  /** Kilometres per hour */
  readonly walkingSpeedKmh?: number | null | undefined
  /** `true` for `maneuvers` */
  readonly directions?: boolean | null | undefined
  /** `true` for `surfaces`, which the engine is asked for by another call */
  readonly surfaces?: boolean | null | undefined
  /** The language of the instructions (BCP 47); `en-US` if absent */
  readonly language?: Language | null | undefined
}

/** What a route takes, or could not be done. */
export interface RoutingWarning {
  /** A stable word for a program */
  readonly code: "ferry_used" | "highway_used" | "unpaved_used" | "preference_unknown"
  /** For people */
  readonly message: string
}

/** Where the caller is signed in. */
export interface Session {
  /** The id of a session */
  readonly id: string
  /** When it was made */
  readonly createdAt: string
  /** When it was last used */
  readonly lastSeenAt: string
  /** When it ends at the latest */
  readonly expiresAt: string
  /** The `User-Agent` of the sign-in */
  readonly userAgent: string | null
  /** The address of the last request */
  readonly ipAddress: string | null
  /** Whether the request came with this session */
  readonly current: boolean
}

/** Replaces the privacy zones of the account. */
export interface SetPrivacyZonesOperation {
  /** What to do */
  readonly op: "setPrivacyZones"
  /** All of them */
  readonly zones: ReadonlyArray<PrivacyZone>
}

/** A link to a route or a collection. */
export interface ShareLink {
  /** The id of a link */
  readonly id: number
  /** A name for the link, for its owner only */
  readonly label: string | null
  /** The token itself */
  readonly token: string
  /** Whether the token opens files (GPX and others) too; the line in JSON comes either way */
  readonly allowDownload: boolean
  /** When it expires; `null` is never */
  readonly expiresAt: string | null
  /** When it was made */
  readonly createdAt: string
  /** When others last used it, up to a minute late */
  readonly lastUsedAt: string | null
  /** How many requests of others it opened, without pictures; up to a minute late */
  readonly uses: number
}

/** A link to be made. */
export interface ShareLinkInput {
  /** 0 to 100 characters after trimming */
  readonly label?: string | null | undefined
  /** In the future (RFC 3339); `null` is never */
  readonly expiresAt?: string | null | undefined
  /** Whether the token opens files (GPX and others) too; the line in JSON comes either way */
  readonly allowDownload?: boolean | null | undefined
  /** A UUID of the client's own, once in the account, for links once for what they open. A repeat of the call with it makes nothing more and has the first result: the same status and body, also where the route, collection or link was changed since; the `etag` is that of the first version, so that a change that expects it is 409 with `details.current`. With another content it has what is there now. What was moved to the trash since is 409, and a link that was deleted is made again */
  readonly clientId?: string | null | undefined
}

/** What to change of a link: an absent member stays as it is, `null` clears it. */
export interface ShareLinkPatch {
  /** 0 to 100 characters after trimming */
  readonly label?: string | null | undefined
  /** In the future (RFC 3339); `null` is never */
  readonly expiresAt?: string | null | undefined
  /** Whether the token opens files (GPX and others) too; the line in JSON comes either way */
  readonly allowDownload?: boolean | undefined
}

/** The account that is signed in, and the JWT of its session. */
export interface SignIn {
  /** The JWT of the session, for `Authorization: Bearer`; expires after 15 minutes */
  readonly accessToken: string
  readonly user: User
}

/** A location on the road network. */
export interface SnappedLocation {
  /** The latitude in degrees (WGS 84) */
  readonly lat: number
  /** The longitude in degrees (WGS 84) */
  readonly lon: number
  /** Which of the request's locations it is */
  readonly original_index: number
}

/** How much of a line has a surface. */
export interface SurfaceShare {
  /** The surface, in the engine's words */
  readonly surface: string
  /** Kilometres */
  readonly length: number
  /** The part of the length: 0 to 1 */
  readonly share: number
}

/** The last run of a sweep. */
export interface SweepRun {
  /** What it sweeps */
  readonly name: string
  /** When it ended last */
  readonly lastRunAt: string
}

/** What became of a route, a collection, a link or the account. */
export interface SyncChange {
  /** What changed */
  readonly type: "route" | "collection" | "link" | "account"
  /** The id of the route, collection or link, or of the user */
  readonly id: number
  /** `upserted`: created, changed or restored. `deleted`: moved to the trash or erased */
  readonly change: "upserted" | "deleted"
  /** The version; a change of what it is derived from keeps it. Of a link or the account a number that grows with each change */
  readonly version: number
  /** The `ETag` of a route or collection that is there, which `If-Match` and `ifMatch` take */
  readonly etag?: string | undefined
  /** The `updatedAt` of what is there, or when it was deleted. Of a link or the account when its change was first read, or when it was made */
  readonly at: string
  readonly route?: Route | undefined
  readonly collection?: Collection | undefined
  readonly link?: SyncedLink | undefined
  readonly account?: AccountSettings | undefined
}

/** A link, with the id of the route or of the collection that it opens. */
export interface SyncedLink {
  /** The id of a link */
  readonly id: number
  /** A name for the link, for its owner only */
  readonly label: string | null
  /** The token itself; absent for a personal access token of scope `read` */
  readonly token?: string | undefined
  /** Whether the token opens files (GPX and others) too; the line in JSON comes either way */
  readonly allowDownload: boolean
  /** When it expires; `null` is never */
  readonly expiresAt: string | null
  /** When it was made */
  readonly createdAt: string
  /** When others last used it, up to a minute late */
  readonly lastUsedAt: string | null
  /** How many requests of others it opened, without pictures; up to a minute late */
  readonly uses: number
  /** The route that it opens */
  readonly routeId?: number | undefined
  /** The collection that it opens */
  readonly collectionId?: number | undefined
}

/** The state of the parts of the service. */
export interface SystemStatus {
  /** The process that responds */
  readonly service: {
    /** The version of the service */
    readonly version: string
    /** The commit that runs; `unknown` where nothing says it */
    readonly commit: string
    /** The version of Node.js */
    readonly node: string
    /** When the process started */
    readonly startedAt: string
  }
  /** The database */
  readonly database: {
    /** Whether it works */
    readonly status: Reachability
    /** The version of PostgreSQL */
    readonly version?: string | undefined
    /** Milliseconds until the database responded */
    readonly latencyMillis?: number | undefined
    /** The tables, the largest first */
    readonly tables: ReadonlyArray<TableSize>
  }
  /** The read replicas */
  readonly replicas: ReadonlyArray<ReplicaState>
  readonly routingEngine: EngineState
  /** Those that people sign in by */
  readonly identityProviders: ReadonlyArray<ProviderState>
  /** The rate limits */
  readonly rateLimits: {
    /** Where requests are counted */
    readonly counters: "process" | "redis" | "redis-away"
  }
  /** Mails to be sent */
  readonly outbox: {
    /** Where mails go; `standard-output` sends none */
    readonly sentBy: "provider" | "smtp" | "standard-output"
    /** How many are pending */
    readonly waiting: number
    /** How many of them were tried more than once */
    readonly failing: number
    /** For how many seconds the oldest is pending */
    readonly oldestSeconds: number
  }
  /** Deletions of accounts */
  readonly deletions: {
    /** How many there are */
    readonly pending: number
    /** How many are to be erased now */
    readonly due: number
    /** For how many seconds the oldest of them is due */
    readonly lagSeconds: number
  }
  /** The sweeps of this process */
  readonly sweeps: ReadonlyArray<SweepRun>
  /** The settings that differ from their defaults, without secrets */
  readonly settings: ReadonlyArray<ChangedSetting>
  /** What the host should change */
  readonly warnings: ReadonlyArray<string>
  readonly grafana: GrafanaUrls
}

/** The size of a table. */
export interface TableSize {
  /** The name of the table */
  readonly name: string
  /** What the table and its indexes take on the disk */
  readonly bytes: number
}

/** A tag, and how many of the caller's routes have it. */
export interface TagCount {
  /** The tag */
  readonly tag: string
  /** How many of the caller's routes have it */
  readonly count: number
}

/** A token to be made. */
export interface TokenInput {
  /** 1 to 100 characters after trimming */
  readonly name: string
  /** What the token may do */
  readonly scope: TokenScope
  /** Days until it expires: 90 if absent, `null` never, which needs `currentPassword` */
  readonly expiresInDays?: number | null | undefined
  /** The current password; needed for a token without an end */
  readonly currentPassword?: string | null | undefined
}

/** What a token may do; `write` includes `read`. */
export type TokenScope = "read" | "write"

/** A trace on the road network. */
export interface TraceAnswer {
  /** The part of the trace that was matched, by length: 0 to 1 */
  readonly coverage: number
  /** An encoded polyline with six decimals, latitude first */
  readonly shape: string
  /** The roads, in order */
  readonly edges: ReadonlyArray<TraceEdge>
  /** Where each point of the trace was matched */
  readonly matched_points: ReadonlyArray<MatchedPoint>
  /** How much of the matched trace has each surface */
  readonly surfaces: ReadonlyArray<SurfaceShare>
}

/** A road that a trace follows. */
export interface TraceEdge {
  /** The surface, in the engine's words */
  readonly surface?: string | undefined
  /** Kilometres */
  readonly length: number
  /** The names of the road */
  readonly names?: ReadonlyArray<string> | undefined
  /** The class of the road, in the engine's words */
  readonly road_class?: string | undefined
  /** The use of the road, in the engine's words */
  readonly use?: string | undefined
  /** Whether the road is unpaved */
  readonly unpaved?: boolean | undefined
  /** The id of the road in OpenStreetMap */
  readonly way_id?: number | undefined
  /** Kilometres per hour */
  readonly speed?: number | undefined
  /** Where it begins in `shape` */
  readonly begin_shape_index: number
  /** Where it ends in `shape` */
  readonly end_shape_index: number
}

/** A point of a recorded trace. */
export interface TracePoint {
  /** The latitude in degrees (WGS 84) */
  readonly lat: number
  /** The longitude in degrees (WGS 84) */
  readonly lon: number
  /** Seconds */
  readonly time?: number | null | undefined
}

/** A recorded trace: its points, or the same as a polyline. */
export type TraceRequest = TraceRequestByShape | TraceRequestByEncodedPolyline

/** A recorded trace: its points, or the same as a polyline. This one has `encodedPolyline`. */
export interface TraceRequestByEncodedPolyline {
  /** By which activity */
  readonly activity?: Activity | null | undefined
  /** 2 to 50000 points in place of `shape`: an encoded polyline with six decimals */
  readonly encodedPolyline: string
  /** What the route asks of the routing engine */
  readonly preferences?: {
    /** Known: `paved`, `any`, `unpaved` */
    readonly surfacePreference?: string | null | undefined
    /** Whether to avoid ferries */
    readonly avoidFerries?: boolean | null | undefined
    /** Whether to avoid large roads */
    readonly avoidHighways?: boolean | null | undefined
  } | null | undefined
}

/** A recorded trace: its points, or the same as a polyline. This one has `shape`. */
export interface TraceRequestByShape {
  /** By which activity */
  readonly activity?: Activity | null | undefined
  /** The points, in order */
  readonly shape: ReadonlyArray<TracePoint>
  /** What the route asks of the routing engine */
  readonly preferences?: {
    /** Known: `paved`, `any`, `unpaved` */
    readonly surfacePreference?: string | null | undefined
    /** Whether to avoid ferries */
    readonly avoidFerries?: boolean | null | undefined
    /** Whether to avoid large roads */
    readonly avoidHighways?: boolean | null | undefined
  } | null | undefined
}

/** Changes the profile and the preferences of the account. */
export interface UpdateAccountOperation {
  /** What to do */
  readonly op: "updateAccount"
  readonly changes: ProfilePatch
}

/** Changes a collection. */
export interface UpdateCollectionOperation {
  /** What to do */
  readonly op: "updateCollection"
  readonly collectionId: CollectionIdOrMade
  /** The `ETag` to be changed, as the header `If-Match` */
  readonly ifMatch?: string | null | undefined
  /** The `version` to be changed, as `GET /sync` has it; not with `ifMatch` */
  readonly ifVersion?: number | null | undefined
  readonly changes: BatchCollectionPatch
}

/** Changes a link to a route or a collection. */
export interface UpdateLinkOperation {
  /** What to do */
  readonly op: "updateLink"
  /** The id of a route, or `$` and the index of an earlier operation of the batch, for what that made */
  readonly routeId?: RouteIdOrMade | null | undefined
  /** The id of a collection, or `$` and the index of an earlier operation of the batch, for what that made */
  readonly collectionId?: CollectionIdOrMade | null | undefined
  /** The id of a link */
  readonly linkId: number
  readonly changes: ShareLinkPatch
}

/** Changes a route. */
export interface UpdateOperation {
  /** What to do */
  readonly op: "update"
  /** The id of a route */
  readonly id: number
  /** The `ETag` to be changed, as the header `If-Match` */
  readonly ifMatch?: string | null | undefined
  /** The `version` to be changed, as `GET /sync` has it; not with `ifMatch` */
  readonly ifVersion?: number | null | undefined
  readonly changes: RoutePatch
}

/** What the account stores and may store. */
export interface Usage {
  /** Routes, including those in the trash */
  readonly routes: {
    /** How many there are */
    readonly used: number
    /** How many there may be */
    readonly limit: number
  }
  /** Bytes of the routes' geometry in every stored form, of their waypoints and descriptions, and of the responses kept for `Idempotency-Key` */
  readonly storedBytes: {
    /** How many there are */
    readonly used: number
    /** How many there may be */
    readonly limit: number
  }
  /** Collections, without those in the trash */
  readonly collections: {
    /** How many there are */
    readonly used: number
    /** How many there may be */
    readonly limit: number
  }
}

/** What users see of themselves. */
export interface User {
  /** The id of a user */
  readonly id: number
  /** The email address of the user */
  readonly email: string
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** The https URL of an image, which the service never fetches */
  readonly avatar?: string | undefined
  /** Whether the address is verified */
  readonly isEmailVerified: boolean
  /** What the account may do */
  readonly role: Role
  /** The settings of the user */
  readonly preferences: Preferences | null
  /** A pseudonym that is the same in all responses */
  readonly idHash: string
  /** Whether the account is pending deletion */
  readonly deletionStatus: DeletionStatus
  /** When the account's deletion was requested */
  readonly deletionRequestedAt: string | null
  /** Whether the account has a password */
  readonly hasPassword: boolean
}

/** What others see of a user. */
export interface UserSummary {
  /** The id of a user */
  readonly id: number
  /** The name of the user */
  readonly name: string
  /** The public address of the profile */
  readonly handle: string
  /** The https URL of an image, which the service never fetches */
  readonly avatar?: string | undefined
  /** A pseudonym that is the same in all responses */
  readonly idHash: string
}

/** What is wrong with a request. */
export interface ValidationIssue {
  /** Dotted path, which begins with `body`, `query`, `header` or `path` */
  readonly path: string
  /** What is accepted */
  readonly message: string
}

/** Who may open it beside its owner. */
export type Visibility = "private" | "unlisted" | "public"

/** A point that the rider chose. */
export interface Waypoint {
  /** Where it is: longitude, latitude */
  readonly coord: readonly [number, number]
  /** Known: `routed`, `direct` */
  readonly type?: string | null | undefined
  /** 0 to 255 characters after trimming */
  readonly name?: string | null | undefined
  /** When, in the client's words; only the owner sees it */
  readonly timestamp?: string | null | undefined
}

/** The first line of an import. */
export interface ZipImportBegun {
  /** What this line says */
  readonly outcome: "begun"
  /** How many files the archive has; those of nested archives come on top */
  readonly files: number
}

/** A file that the account has already. */
export interface ZipImportDuplicate {
  /** What this line says */
  readonly outcome: "duplicate"
  /** Its name in the archive; that of a nested archive and a slash come before */
  readonly file: string
  /** The own routes that its tracks repeat */
  readonly duplicateOf: ReadonlyArray<number>
}

/** The last line of an import that read every file. */
export interface ZipImportEnded {
  /** What this line says */
  readonly outcome: "ended"
  /** How many files were imported */
  readonly imported: number
  /** How many files the account had already */
  readonly duplicates: number
  /** How many files were skipped */
  readonly skipped: number
  /** The collection of the routes */
  readonly collectionId?: number | undefined
  /** How many routes it has no room for: a collection has at most 1000 */
  readonly notCollected?: number | undefined
}

/** A line of the response to an archive of route files. */
export type ZipImportLine = ZipImportBegun | ZipImportRoutes | ZipImportDuplicate | ZipImportSkipped | ZipImportEnded | ZipImportStopped

/** A file that is imported. */
export interface ZipImportRoutes {
  /** What this line says */
  readonly outcome: "imported"
  /** Its name in the archive; that of a nested archive and a slash come before */
  readonly file: string
  /** The routes that were made of it */
  readonly routeIds: ReadonlyArray<number>
  /** The own routes that its tracks repeat */
  readonly duplicateOf?: ReadonlyArray<number> | undefined
  /** What was changed or left out, if anything was */
  readonly warnings?: ReadonlyArray<ImportWarning> | undefined
}

/** A file of which nothing is stored. */
export interface ZipImportSkipped {
  /** What this line says */
  readonly outcome: "skipped"
  /** Its name in the archive; that of a nested archive and a slash come before */
  readonly file: string
  /** Why, for people */
  readonly reason: string
}

/** The last line of an import that could not go on: the same archive may be sent again. */
export interface ZipImportStopped {
  /** What this line says */
  readonly outcome: "stopped"
  /** The status that a response would have */
  readonly statusCode: number
  /** Why, for people */
  readonly message: string
  readonly details?: ErrorDetails | undefined
}

/** By operation id: what an endpoint takes, and what it returns. */
export interface Endpoints {
  /** Sign in by the identity provider */
  readonly "auth.google": {
    readonly input: {
      readonly payload: ProviderCredential
    }
    readonly data: SignIn
  }
  /** Sign up by email */
  readonly "auth.signUp": {
    readonly input: {
      readonly payload: AccountInput
    }
    readonly data: Acknowledgement
  }
  /** Verify an email address */
  readonly "auth.verifyEmail": {
    readonly input: {
      readonly payload: EmailProof
    }
    readonly data: SignIn
  }
  /** Sign in by email */
  readonly "auth.logIn": {
    readonly input: {
      readonly payload: EmailSignIn
    }
    readonly data: SignIn
  }
  /** Request a password reset */
  readonly "auth.requestPasswordReset": {
    readonly input: {
      readonly payload: ResetRequest
    }
    readonly data: Acknowledgement
  }
  /** Reset a password */
  readonly "auth.resetPassword": {
    readonly input: {
      readonly payload: PasswordReset
    }
    readonly data: Acknowledgement
  }
  /** Sign out */
  readonly "auth.logOut": {
    readonly input: {}
    readonly data: Acknowledgement
  }
  /** List the identity providers */
  readonly "auth.providers": {
    readonly input: {
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Provider>
  }
  /** List own tokens */
  readonly "tokens.list": {
    readonly input: {
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<PersonalAccessToken>
  }
  /** Make a token */
  readonly "tokens.mint": {
    readonly input: {
      readonly payload: TokenInput
    }
    readonly data: MintedToken
  }
  /** Revoke a token */
  readonly "tokens.revoke": {
    readonly input: {
      readonly params: {
        /** The id of a token */
        readonly id: string | number
      }
    }
    readonly data: Acknowledgement
  }
  /** List own sessions */
  readonly "sessions.list": {
    readonly input: {
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Session>
  }
  /** End a session */
  readonly "sessions.revoke": {
    readonly input: {
      readonly params: {
        /** The id of a session */
        readonly id: string | number
      }
    }
    readonly data: Acknowledgement
  }
  /** End every session */
  readonly "sessions.logOutEverywhere": {
    readonly input: {}
    readonly data: Acknowledgement
  }
  /** Describe the credential */
  readonly "credential.describe": {
    readonly input: {}
    readonly data: Credential
  }
  /** Read own account */
  readonly "users.me": {
    readonly input: {}
    readonly data: Profile
  }
  /** Change own account */
  readonly "users.update": {
    readonly input: {
      readonly payload: ProfilePatch
    }
    readonly data: Profile
  }
  /** Delete own account */
  readonly "users.requestDeletion": {
    readonly input: {}
    readonly data: Acknowledgement
  }
  /** Read own account, by its other name */
  readonly "users.profile": {
    readonly input: {}
    readonly data: Profile
  }
  /** Read own privacy zones */
  readonly "users.privacyZones": {
    readonly input: {}
    readonly data: PrivacyZones
  }
  /** Replace own privacy zones */
  readonly "users.setPrivacyZones": {
    readonly input: {
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
      readonly payload: PrivacyZones
    }
    readonly data: PrivacyZones
  }
  /** Read a public profile */
  readonly "users.publicProfile": {
    readonly input: {
      readonly params: {
        /** The public address of the profile */
        readonly handle: string | number
      }
    }
    readonly data: PublicProfile
  }
  /** Set or change the password */
  readonly "users.changePassword": {
    readonly input: {
      readonly payload: PasswordChange
    }
    readonly data: Acknowledgement
  }
  /** Cancel the deletion */
  readonly "users.cancelDeletion": {
    readonly input: {}
    readonly data: Acknowledgement
  }
  /** Export the account */
  readonly "accountData.export": {
    readonly input: {}
    readonly data: Uint8Array<ArrayBuffer>
  }
  /** Import an archive */
  readonly "accountData.import": {
    readonly input: {
      readonly query?: {
        /** `allow` also imports what has the source or the positions of an own route, which is skipped if absent */
        readonly duplicates?: "skip" | "allow" | undefined
        /** Who may see the routes; `private` if absent */
        readonly visibility?: Visibility | undefined
        /** A tag for all of the routes; repeat it for several */
        readonly tags?: ReadonlyArray<string> | undefined
        /** The name of the own collection for all of the routes, which is made if there is none */
        readonly collection?: string | undefined
      } | undefined
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** Of the file */
        readonly "Content-Type"?: string | undefined
        /** Of the file */
        readonly "Content-Disposition"?: string | undefined
      } | undefined
      readonly payload: FileBody
    }
    readonly data: ReadableStream<Uint8Array<ArrayBuffer>> | ImportReport
  }
  /** List own routes */
  readonly "routes.list": {
    readonly input: {
      readonly query?: {
        /** 1 to 10 words, each the beginning of a word in the text; case and accents do not matter */
        readonly q?: string | undefined
        /** A tag that the route has; of several all */
        readonly tag?: ReadonlyArray<string> | undefined
        /** A viewport that the route's overlaps: minLng,minLat,maxLng,maxLat in degrees */
        readonly bbox?: string | undefined
        /** By which activity */
        readonly activity?: Activity | undefined
        /** The city that the route starts in or near */
        readonly placeCity?: string | undefined
        /** Metres */
        readonly minDistance?: number | undefined
        /** Metres */
        readonly maxDistance?: number | undefined
        /** Who may see the route */
        readonly visibility?: Visibility | undefined
        /** `true` for favourites, `false` for the others */
        readonly favourite?: Flag | undefined
        /** The country that the route starts in (ISO 3166-1 alpha-2) */
        readonly placeCountryCode?: string | undefined
        /** Changed at this instant or later (RFC 3339) */
        readonly updatedSince?: string | undefined
        /** Recorded at this instant or later */
        readonly recordedAfter?: string | undefined
        /** Recorded before this instant */
        readonly recordedBefore?: string | undefined
        /** `-` is descending; `-createdAt` if absent. `name` is by letters, then accents, then case (the root order of Unicode). `relevance` needs `q` */
        readonly sort?: RouteSort | undefined
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Route>
  }
  /** Store a route */
  readonly "routes.create": {
    readonly input: {
      readonly query?: {
        /** `true` takes missing elevations from the routing engine; what it does not have is named by `warnings` */
        readonly elevation?: Flag | undefined
      } | undefined
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** 1 to 255 visible ASCII characters. Within 24 hours the same call with the same bytes gets the first response; it waits for the first for up to 5 seconds, then it is 409. When a route or collection that it shows is erased, so is the response, and the call has its effect again */
        readonly "Idempotency-Key"?: string | undefined
      } | undefined
      readonly payload: RouteInput
    }
    readonly data: CreatedRoute
  }
  /** Change a route */
  readonly "routes.update": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly ref: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
      readonly payload: RoutePatch
    }
    readonly data: Route
  }
  /** Delete a route */
  readonly "routes.remove": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly ref: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Open a route */
  readonly "routes.get": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly query?: {
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: Route
  }
  /** Restore a deleted route */
  readonly "routes.restore": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Route
  }
  /** List deleted routes */
  readonly "routes.listDeleted": {
    readonly input: {
      readonly query?: {
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<DeletedRoute>
  }
  /** Empty the trash of routes */
  readonly "routes.emptyTrash": {
    readonly input: {
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Erase a deleted route */
  readonly "routes.purge": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Read the elevation profile of a route */
  readonly "routes.profile": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly query?: {
        /** At most how many points; 200 if absent */
        readonly points?: number | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ElevationProfile
  }
  /** Change several routes */
  readonly "routes.batch": {
    readonly input: {
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** 1 to 255 visible ASCII characters. Within 24 hours the same call with the same bytes gets the first response; it waits for the first for up to 5 seconds, then it is 409. When a route or collection that it shows is erased, so is the response, and the call has its effect again */
        readonly "Idempotency-Key"?: string | undefined
      } | undefined
      readonly payload: RouteBatch
    }
    readonly data: BatchResults
  }
  /** List own tags */
  readonly "routes.tags": {
    readonly input: {
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<TagCount>
  }
  /** Find public routes */
  readonly "routes.listPublic": {
    readonly input: {
      readonly query?: {
        /** What clears the quality gate, newest-updated first (if absent); or all, newest-published first */
        readonly gate?: "indexable" | "public" | undefined
        /** 1 to 10 words, each the beginning of a word in the text; case and accents do not matter */
        readonly q?: string | undefined
        /** A tag that the route has; of several all */
        readonly tag?: ReadonlyArray<string> | undefined
        /** A viewport that the route's overlaps: minLng,minLat,maxLng,maxLat in degrees */
        readonly bbox?: string | undefined
        /** By which activity */
        readonly activity?: Activity | undefined
        /** The city that the route starts in or near */
        readonly placeCity?: string | undefined
        /** Metres */
        readonly minDistance?: number | undefined
        /** Metres */
        readonly maxDistance?: number | undefined
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Route>
  }
  /** List a user's public routes */
  readonly "routes.listByUser": {
    readonly input: {
      readonly params: {
        /** The id of a user */
        readonly userId: string | number
      }
      readonly query?: {
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Route>
  }
  /** Import a file */
  readonly "files.import": {
    readonly input: {
      readonly query?: {
        /** `true` reports what an import would do, and stores nothing */
        readonly dryRun?: Flag | undefined
        /** `true` makes a route of each track, all of them or none; at most 100 */
        readonly split?: Flag | undefined
        /** `true` makes one route of all tracks; the gaps between them do not count into its distance */
        readonly join?: Flag | undefined
        /** `true` takes missing elevations from the routing engine; what it does not have is named by `warnings` */
        readonly elevation?: Flag | undefined
        /** The index of the track to import, 0 for the first */
        readonly track?: number | undefined
        /** `allow` also imports what has the same positions as an own route, which is 409 otherwise */
        readonly duplicates?: "refuse" | "allow" | undefined
        /** A UUID of the client's own, once in the account, for links once for what they open. A repeat of the call with it makes nothing more and has the first result: the same status and body, also where the route, collection or link was changed since; the `etag` is that of the first version, so that a change that expects it is 409 with `details.current`. With another content it has what is there now. What was moved to the trash since is 409, and a link that was deleted is made again */
        readonly clientId?: string | undefined
        /** The name of the route, in place of what the file says */
        readonly name?: string | undefined
      } | undefined
      readonly headers?: {
        /** 1 to 255 visible ASCII characters. Within 24 hours the same call with the same bytes gets the first response; it waits for the first for up to 5 seconds, then it is 409. When a route or collection that it shows is erased, so is the response, and the call has its effect again */
        readonly "Idempotency-Key"?: string | undefined
        /** Of the file */
        readonly "Content-Type"?: string | undefined
        /** Of the file */
        readonly "Content-Disposition"?: string | undefined
      } | undefined
      readonly payload: FileBody
    }
    readonly data: DryRun | ImportedRoutes
  }
  /** Download as GPX */
  readonly "files.gpx": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly query?: {
        /** `track` (if absent): the line, with waypoints and cues as `wpt`. `route`: the waypoints alone, as a plan for a device that routes between them. `both`: the line, and the waypoints as a plan beside it */
        readonly as?: GpxForm | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: string
  }
  /** Download as GeoJSON */
  readonly "files.geojson": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: FeatureCollection
  }
  /** Download as TCX */
  readonly "files.tcx": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: string
  }
  /** Download as KML */
  readonly "files.kml": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: string
  }
  /** Download as FIT */
  readonly "files.fit": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: Uint8Array<ArrayBuffer>
  }
  /** Draw a route as SVG */
  readonly "pictures.svg": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly query?: {
        /** In pixels; 800 if absent */
        readonly width?: number | undefined
        /** In pixels; 500 if absent */
        readonly height?: number | undefined
        /** The colours; `light` if absent */
        readonly theme?: PictureTheme | undefined
        /** `true` draws the elevation profile below the line, where the positions have elevations */
        readonly profile?: Flag | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: string
  }
  /** Draw a route as PNG */
  readonly "pictures.png": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly query?: {
        /** In pixels; 800 if absent */
        readonly width?: number | undefined
        /** In pixels; 500 if absent */
        readonly height?: number | undefined
        /** The colours; `light` if absent */
        readonly theme?: PictureTheme | undefined
        /** `true` draws the elevation profile below the line, where the positions have elevations */
        readonly profile?: Flag | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: Uint8Array<ArrayBuffer>
  }
  /** List own collections */
  readonly "collections.list": {
    readonly input: {
      readonly query?: {
        /** 1 to 10 words, each the beginning of a word in the text; case and accents do not matter */
        readonly q?: string | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Collection>
  }
  /** Make a collection */
  readonly "collections.create": {
    readonly input: {
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** 1 to 255 visible ASCII characters. Within 24 hours the same call with the same bytes gets the first response; it waits for the first for up to 5 seconds, then it is 409. When a route or collection that it shows is erased, so is the response, and the call has its effect again */
        readonly "Idempotency-Key"?: string | undefined
      } | undefined
      readonly payload: CollectionInput
    }
    readonly data: Collection
  }
  /** Change a collection */
  readonly "collections.update": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly ref: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
      readonly payload: CollectionPatch
    }
    readonly data: Collection
  }
  /** Delete a collection */
  readonly "collections.remove": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly ref: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Open a collection */
  readonly "collections.get": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: Collection
  }
  /** Restore a deleted collection */
  readonly "collections.restore": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Collection
  }
  /** List deleted collections */
  readonly "collections.listDeleted": {
    readonly input: {
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<DeletedCollection>
  }
  /** Empty the trash of collections */
  readonly "collections.emptyTrash": {
    readonly input: {
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Erase a deleted collection */
  readonly "collections.purge": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Set the routes of a collection */
  readonly "collections.setRoutes": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
      readonly payload: RouteOrder
    }
    readonly data: Collection
  }
  /** Add a route to a collection */
  readonly "collections.addRoute": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly ref: string | number
      }
      readonly headers?: {
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
      readonly payload: Addition
    }
    readonly data: Collection
  }
  /** Open the routes of a collection */
  readonly "collections.routes": {
    readonly input: {
      readonly params: {
        /** An id, a share token or the token of a link: 32 hex digits */
        readonly ref: string | number
      }
      readonly query?: {
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<CollectionRoute>
  }
  /** Take a route out of a collection */
  readonly "collections.removeRoute": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
        /** The id of a route */
        readonly routeId: string | number
      }
      readonly headers?: {
        /** The `ETag` to be changed; 409 if it is stale */
        readonly "If-Match"?: string | undefined
      } | undefined
    }
    readonly data: Collection
  }
  /** List a user's public collections */
  readonly "collections.listByUser": {
    readonly input: {
      readonly params: {
        /** The id of a user */
        readonly userId: string | number
      }
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<Collection>
  }
  /** List the links of a route */
  readonly "links.listOfRoute": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
      }
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<ShareLink>
  }
  /** Make a link to a route */
  readonly "links.createForRoute": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
      }
      readonly headers?: {
        /** 1 to 255 visible ASCII characters. Within 24 hours the same call with the same bytes gets the first response; it waits for the first for up to 5 seconds, then it is 409. When a route or collection that it shows is erased, so is the response, and the call has its effect again */
        readonly "Idempotency-Key"?: string | undefined
      } | undefined
      readonly payload: ShareLinkInput
    }
    readonly data: ShareLink
  }
  /** Change a link to a route */
  readonly "links.changeOfRoute": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
        /** The id of a link */
        readonly linkId: string | number
      }
      readonly payload: ShareLinkPatch
    }
    readonly data: ShareLink
  }
  /** Delete a link to a route */
  readonly "links.removeOfRoute": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
        /** The id of a link */
        readonly linkId: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Replace the share token of a route */
  readonly "links.replaceRouteShareToken": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Route
  }
  /** List the links of a collection */
  readonly "links.listOfCollection": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
      }
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<ShareLink>
  }
  /** Make a link to a collection */
  readonly "links.createForCollection": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
      }
      readonly headers?: {
        /** 1 to 255 visible ASCII characters. Within 24 hours the same call with the same bytes gets the first response; it waits for the first for up to 5 seconds, then it is 409. When a route or collection that it shows is erased, so is the response, and the call has its effect again */
        readonly "Idempotency-Key"?: string | undefined
      } | undefined
      readonly payload: ShareLinkInput
    }
    readonly data: ShareLink
  }
  /** Change a link to a collection */
  readonly "links.changeOfCollection": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
        /** The id of a link */
        readonly linkId: string | number
      }
      readonly payload: ShareLinkPatch
    }
    readonly data: ShareLink
  }
  /** Delete a link to a collection */
  readonly "links.removeOfCollection": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
        /** The id of a link */
        readonly linkId: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Acknowledgement
  }
  /** Replace the share token of a collection */
  readonly "links.replaceCollectionShareToken": {
    readonly input: {
      readonly params: {
        /** The id of a collection */
        readonly id: string | number
      }
      readonly headers?: {
        /** `true` confirms what a personal access token must confirm */
        readonly "X-Service-Confirm"?: string | undefined
      } | undefined
    }
    readonly data: Collection
  }
  /** Compute a route */
  readonly "routing.route": {
    readonly input: {
      readonly query?: {
        /** `true` for `maneuvers` */
        readonly directions?: Flag | undefined
        /** `true` for `surfaces`, which the engine is asked for by another call */
        readonly surfaces?: Flag | undefined
        /** The language of the instructions (BCP 47); `en-US` if absent */
        readonly language?: Language | undefined
      } | undefined
      readonly payload: RoutingRequest
    }
    readonly data: RoutingAnswer
  }
  /** Fill elevations */
  readonly "routing.elevation": {
    readonly input: {
      readonly payload: ElevationRequest
    }
    readonly data: ElevationAnswer
  }
  /** Match a trace */
  readonly "routing.traceAttributes": {
    readonly input: {
      readonly payload: TraceRequest
    }
    readonly data: TraceAnswer
  }
  /** Read what changed */
  readonly "sync.list": {
    readonly input: {
      readonly query?: {
        /** The `cursor` of the last response; the whole account without one */
        readonly cursor?: string | undefined
        /** How many changes at most; 100 if absent */
        readonly limit?: number | undefined
        /** What to read: routes, collections, or both as if it is absent; or `everything`, which is also links and the account's profile, preferences and privacy zones */
        readonly include?: "routes" | "collections" | "routes,collections" | "collections,routes" | "everything" | undefined
        /** What of the line: `geometry` whole, at most 200 positions of it, nothing, or `polyline6` in place of `geometry` */
        readonly geometry?: GeometryForm | undefined
        /** For how many seconds to wait where nothing has changed; does not wait if absent */
        readonly wait?: number | undefined
      } | undefined
    }
    readonly data: ChangePage
  }
  /** Count everything */
  readonly "admin.overview": {
    readonly input: {}
    readonly data: Overview
  }
  /** Find accounts */
  readonly "admin.users": {
    readonly input: {
      readonly query?: {
        /** A part of a name, a handle or an email address; case-insensitive */
        readonly query?: string | undefined
        /** The newest first, which is the default, or those first that store most */
        readonly sort?: "-createdAt" | "-storedBytes" | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<AdminUser>
  }
  /** Read an account */
  readonly "admin.user": {
    readonly input: {
      readonly params: {
        /** The id of a user */
        readonly id: string | number
      }
    }
    readonly data: AdminUser
  }
  /** Delete an account */
  readonly "admin.deleteUser": {
    readonly input: {
      readonly params: {
        /** The id of a user */
        readonly id: string | number
      }
    }
    readonly data: Acknowledgement
  }
  /** Invite a person */
  readonly "admin.invite": {
    readonly input: {
      readonly payload: Invitation
    }
    readonly data: Acknowledgement
  }
  /** List pending deletions */
  readonly "admin.deletions": {
    readonly input: {
      readonly query?: {
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<PendingDeletion>
  }
  /** Find routes of all users */
  readonly "admin.routes": {
    readonly input: {
      readonly query?: {
        /** A part of a name, a handle or an email address; case-insensitive */
        readonly query?: string | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<AdminRoute>
  }
  /** Delete a user's route */
  readonly "admin.deleteRoute": {
    readonly input: {
      readonly params: {
        /** The id of a route */
        readonly id: string | number
      }
    }
    readonly data: Acknowledgement
  }
  /** List audit entries */
  readonly "admin.audit": {
    readonly input: {
      readonly query?: {
        /** The id of a user */
        readonly userId?: number | undefined
        /** What happened */
        readonly event?: AuditEvent | undefined
        /** How many; 100 if absent */
        readonly limit?: number | undefined
        /** How many to pass over; none if absent */
        readonly offset?: number | undefined
        /** Where the page begins, from the `next` link of the one before it; not with `offset` */
        readonly cursor?: string | undefined
      } | undefined
      readonly headers?: {
        /** The `ETag` one has; 304 if it is still so */
        readonly "If-None-Match"?: string | undefined
      } | undefined
    }
    readonly data: ReadonlyArray<AuditEntry>
  }
  /** Read the state of the service */
  readonly "admin.system": {
    readonly input: {}
    readonly data: SystemStatus
  }
  /** Probe the service */
  readonly "health.health": {
    readonly input: {}
    readonly data: Readiness
  }
  /** Probe the process */
  readonly "health.live": {
    readonly input: {}
    readonly data: Liveness
  }
  /** Probe readiness */
  readonly "health.ready": {
    readonly input: {}
    readonly data: Readiness
  }
  /** Figures for Prometheus */
  readonly "metrics.metrics": {
    readonly input: {}
    readonly data: string
  }
}

/** The most operations of a batch. */
export const MAX_OPERATIONS = 100

type Call = <Id extends keyof Endpoints>(
  id: Id,
  method: string,
  path: string
) => Endpoint<Endpoints[Id]["input"], Endpoints[Id]["data"]>

export const groupsOf = (call: Call) => ({
  auth: {
    google: call("auth.google", "POST", "/api/v1/auth/google"),
    signUp: call("auth.signUp", "POST", "/api/v1/auth/signup-email"),
    verifyEmail: call("auth.verifyEmail", "POST", "/api/v1/auth/verify-email"),
    logIn: call("auth.logIn", "POST", "/api/v1/auth/login-email"),
    requestPasswordReset: call("auth.requestPasswordReset", "POST", "/api/v1/auth/request-password-reset"),
    resetPassword: call("auth.resetPassword", "POST", "/api/v1/auth/reset-password"),
    logOut: call("auth.logOut", "POST", "/api/v1/auth/logout"),
    providers: call("auth.providers", "GET", "/api/v1/auth/providers")
  },
  tokens: {
    list: call("tokens.list", "GET", "/api/v1/auth/tokens"),
    mint: call("tokens.mint", "POST", "/api/v1/auth/tokens"),
    revoke: call("tokens.revoke", "DELETE", "/api/v1/auth/tokens/{id}")
  },
  sessions: {
    list: call("sessions.list", "GET", "/api/v1/me/sessions"),
    revoke: call("sessions.revoke", "DELETE", "/api/v1/me/sessions/{id}"),
    logOutEverywhere: call("sessions.logOutEverywhere", "POST", "/api/v1/me/sessions/logout-everywhere")
  },
  credential: {
    describe: call("credential.describe", "GET", "/api/v1/me/credential")
  },
  users: {
    me: call("users.me", "GET", "/api/v1/users/me"),
    update: call("users.update", "PATCH", "/api/v1/users/me"),
    requestDeletion: call("users.requestDeletion", "DELETE", "/api/v1/users/me"),
    profile: call("users.profile", "GET", "/api/v1/users/profile"),
    privacyZones: call("users.privacyZones", "GET", "/api/v1/users/me/privacy-zones"),
    setPrivacyZones: call("users.setPrivacyZones", "PUT", "/api/v1/users/me/privacy-zones"),
    publicProfile: call("users.publicProfile", "GET", "/api/v1/users/{handle}"),
    changePassword: call("users.changePassword", "POST", "/api/v1/users/me/password"),
    cancelDeletion: call("users.cancelDeletion", "POST", "/api/v1/users/me/cancel-deletion")
  },
  accountData: {
    export: call("accountData.export", "GET", "/api/v1/users/me/export"),
    import: call("accountData.import", "POST", "/api/v1/users/me/import")
  },
  routes: {
    list: call("routes.list", "GET", "/api/v1/routes"),
    create: call("routes.create", "POST", "/api/v1/routes"),
    update: call("routes.update", "PATCH", "/api/v1/routes/{ref}"),
    remove: call("routes.remove", "DELETE", "/api/v1/routes/{ref}"),
    get: call("routes.get", "GET", "/api/v1/routes/{ref}"),
    restore: call("routes.restore", "POST", "/api/v1/routes/{id}/restore"),
    listDeleted: call("routes.listDeleted", "GET", "/api/v1/routes/deleted"),
    emptyTrash: call("routes.emptyTrash", "DELETE", "/api/v1/routes/deleted"),
    purge: call("routes.purge", "DELETE", "/api/v1/routes/deleted/{id}"),
    profile: call("routes.profile", "GET", "/api/v1/routes/{ref}/profile"),
    batch: call("routes.batch", "POST", "/api/v1/routes/batch"),
    tags: call("routes.tags", "GET", "/api/v1/routes/tags"),
    listPublic: call("routes.listPublic", "GET", "/api/v1/routes/public"),
    listByUser: call("routes.listByUser", "GET", "/api/v1/routes/by-user/{userId}")
  },
  files: {
    import: call("files.import", "POST", "/api/v1/routes/import"),
    gpx: call("files.gpx", "GET", "/api/v1/routes/{ref}/gpx"),
    geojson: call("files.geojson", "GET", "/api/v1/routes/{ref}/geojson"),
    tcx: call("files.tcx", "GET", "/api/v1/routes/{ref}/tcx"),
    kml: call("files.kml", "GET", "/api/v1/routes/{ref}/kml"),
    fit: call("files.fit", "GET", "/api/v1/routes/{ref}/fit")
  },
  pictures: {
    svg: call("pictures.svg", "GET", "/api/v1/routes/{ref}/picture.svg"),
    png: call("pictures.png", "GET", "/api/v1/routes/{ref}/picture.png")
  },
  collections: {
    list: call("collections.list", "GET", "/api/v1/collections"),
    create: call("collections.create", "POST", "/api/v1/collections"),
    update: call("collections.update", "PATCH", "/api/v1/collections/{ref}"),
    remove: call("collections.remove", "DELETE", "/api/v1/collections/{ref}"),
    get: call("collections.get", "GET", "/api/v1/collections/{ref}"),
    restore: call("collections.restore", "POST", "/api/v1/collections/{id}/restore"),
    listDeleted: call("collections.listDeleted", "GET", "/api/v1/collections/deleted"),
    emptyTrash: call("collections.emptyTrash", "DELETE", "/api/v1/collections/deleted"),
    purge: call("collections.purge", "DELETE", "/api/v1/collections/deleted/{id}"),
    setRoutes: call("collections.setRoutes", "PUT", "/api/v1/collections/{ref}/routes"),
    addRoute: call("collections.addRoute", "POST", "/api/v1/collections/{ref}/routes"),
    routes: call("collections.routes", "GET", "/api/v1/collections/{ref}/routes"),
    removeRoute: call("collections.removeRoute", "DELETE", "/api/v1/collections/{id}/routes/{routeId}"),
    listByUser: call("collections.listByUser", "GET", "/api/v1/collections/by-user/{userId}")
  },
  links: {
    listOfRoute: call("links.listOfRoute", "GET", "/api/v1/routes/{id}/links"),
    createForRoute: call("links.createForRoute", "POST", "/api/v1/routes/{id}/links"),
    changeOfRoute: call("links.changeOfRoute", "PATCH", "/api/v1/routes/{id}/links/{linkId}"),
    removeOfRoute: call("links.removeOfRoute", "DELETE", "/api/v1/routes/{id}/links/{linkId}"),
    replaceRouteShareToken: call("links.replaceRouteShareToken", "POST", "/api/v1/routes/{id}/share-token"),
    listOfCollection: call("links.listOfCollection", "GET", "/api/v1/collections/{id}/links"),
    createForCollection: call("links.createForCollection", "POST", "/api/v1/collections/{id}/links"),
    changeOfCollection: call("links.changeOfCollection", "PATCH", "/api/v1/collections/{id}/links/{linkId}"),
    removeOfCollection: call("links.removeOfCollection", "DELETE", "/api/v1/collections/{id}/links/{linkId}"),
    replaceCollectionShareToken: call("links.replaceCollectionShareToken", "POST", "/api/v1/collections/{id}/share-token")
  },
  routing: {
    route: call("routing.route", "POST", "/api/v1/routing/route"),
    elevation: call("routing.elevation", "POST", "/api/v1/routing/elevation"),
    traceAttributes: call("routing.traceAttributes", "POST", "/api/v1/routing/trace-attributes")
  },
  sync: {
    list: call("sync.list", "GET", "/api/v1/sync")
  },
  admin: {
    overview: call("admin.overview", "GET", "/api/v1/admin/overview"),
    users: call("admin.users", "GET", "/api/v1/admin/users"),
    user: call("admin.user", "GET", "/api/v1/admin/users/{id}"),
    deleteUser: call("admin.deleteUser", "DELETE", "/api/v1/admin/users/{id}"),
    invite: call("admin.invite", "POST", "/api/v1/admin/invitations"),
    deletions: call("admin.deletions", "GET", "/api/v1/admin/deletions"),
    routes: call("admin.routes", "GET", "/api/v1/admin/routes"),
    deleteRoute: call("admin.deleteRoute", "DELETE", "/api/v1/admin/routes/{id}"),
    audit: call("admin.audit", "GET", "/api/v1/admin/audit"),
    system: call("admin.system", "GET", "/api/v1/admin/system")
  },
  health: {
    health: call("health.health", "GET", "/health"),
    live: call("health.live", "GET", "/health/live"),
    ready: call("health.ready", "GET", "/health/ready")
  },
  metrics: {
    metrics: call("metrics.metrics", "GET", "/metrics")
  }
})
