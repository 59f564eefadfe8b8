import { Layer } from "effect"
import { Listening, RequestHandler, serverLayer } from "../http/Server.ts"
import { accountMailsLayer, tokenExpiryMailsLayer } from "../services/accounts/AccountMails.ts"
import { Administration } from "../services/accounts/Admin.ts"
import { AccountDeletion, AccountErasure, erasureLayer } from "../services/accounts/Deletion.ts"
import { MailedTokens } from "../services/accounts/MailedLinks.ts"
import { PasswordChanges } from "../services/accounts/PasswordChanges.ts"
import { PasswordPolicy, Passwords } from "../services/accounts/Passwords.ts"
import { Profiles } from "../services/accounts/Profile.ts"
import { ProviderSignIn } from "../services/accounts/ProviderSignIn.ts"
import { Devices, Sessions, SessionTokens } from "../services/accounts/Sessions.ts"
import { Accounts } from "../services/accounts/SignIn.ts"
import { NewAccounts, SignUps } from "../services/accounts/SignUp.ts"
import { SystemStatus } from "../services/accounts/SystemStatus.ts"
import { CallerCredential, PersonalAccessTokens } from "../services/accounts/Tokens.ts"
import { PrivacyZones } from "../services/accounts/Zones.ts"
import { Draining, Health } from "../services/admission/Health.ts"
import { HeavyWork } from "../services/admission/HeavyWork.ts"
import { IdempotencyKeys } from "../services/admission/IdempotencyKeys.ts"
import { ImportTurns } from "../services/admission/ImportTurns.ts"
import { Lanes } from "../services/admission/Lanes.ts"
import { Quotas } from "../services/admission/Quotas.ts"
import { RateLimits } from "../services/admission/RateLimits.ts"
import { AccountExport } from "../services/archive/Export.ts"
import { AccountImport } from "../services/archive/Import.ts"
import { ZipImports } from "../services/archive/ZipImport.ts"
import { CollectionTrash } from "../services/collections/CollectionRows.ts"
import { Collections } from "../services/collections/Collections.ts"
import { PublicAddresses } from "../services/collections/PublicAddresses.ts"
import { purgeLayer } from "../services/db/Sweeps.ts"
import { ImportDisk, Spool } from "../services/files/Spool.ts"
import { Audit } from "../services/identity/Audit.ts"
import { Handles, Pseudonyms } from "../services/identity/Names.ts"
import { Roles } from "../services/identity/Users.ts"
import { outboxDeliveryLayer } from "../services/mail/Delivery.ts"
import { MailQuota, Outbox } from "../services/mail/Outbox.ts"
import { Metrics, Warnings } from "../services/operations/Metrics.ts"
import { Pictures } from "../services/pictures/Pictures.ts"
import { PlaceSweep, placeSweepLayer } from "../services/routes/PlaceSweep.ts"
import { PublicRoutes } from "../services/routes/PublicRoutes.ts"
import { RouteDuplicates } from "../services/routes/RouteDuplicates.ts"
import { RouteFiles } from "../services/routes/RouteFiles.ts"
import { OwnRoutes } from "../services/routes/RouteLists.ts"
import { Routes } from "../services/routes/Routes.ts"
import { RouteProfiles, RouteSheets } from "../services/routes/RouteSheets.ts"
import { RouteTrash } from "../services/routes/RouteTrash.ts"
import { RouteViews, routeViewSweepLayer } from "../services/routes/RouteViews.ts"
import { Elevations, Routing, TraceMatching } from "../services/routing/Routing.ts"
import { LinkUses } from "../services/sharing/LinkUses.ts"
import { ShareLinks } from "../services/sharing/ShareLinks.ts"
import { Batches } from "../services/sync/Batches.ts"
import { ChangeFeed, ChangeSignals, ChangeWaits } from "../services/sync/ChangeFeed.ts"
import { changeSweepLayer } from "../services/sync/ChangeNumbers.ts"
import { invitationsLayer } from "./Invitations.ts"
import { drainLayer } from "./Shutdown.ts"
import { telemetryLayer } from "./telemetry/Tracing.ts"

const servicesLayer = Layer.mergeAll(
  AccountExport.layer,
  Accounts.layer,
  Administration.layer,
  Batches.layer,
  CallerCredential.layer,
  ChangeWaits.layer,
  CollectionTrash.layer,
  Elevations.layer,
  Health.layer,
  IdempotencyKeys.layer,
  invitationsLayer,
  Metrics.layer,
  OwnRoutes.layer,
  PasswordChanges.layer,
  Pictures.layer,
  ProviderSignIn.layer,
  PublicAddresses.layer,
  PublicRoutes.layer,
  RateLimits.layer,
  RouteFiles.layer,
  RouteProfiles.layer,
  RouteSheets.layer,
  RouteTrash.layer,
  Routing.layer,
  ShareLinks.layer,
  SystemStatus.layer,
  TraceMatching.layer,
  ZipImports.layer
).pipe(
  Layer.provide(AccountImport.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      AccountDeletion.layer,
      ChangeFeed.layer,
      Collections.layer,
      PrivacyZones.layer,
      RouteDuplicates.layer
    )
  ),
  Layer.provideMerge(Layer.mergeAll(PersonalAccessTokens.layer, Profiles.layer, Routes.layer, Sessions.layer)),
  Layer.provide([ChangeSignals.layer, ImportDisk.layer, ImportTurns.layer, LinkUses.layer, NewAccounts.layer]),
  Layer.provide(Spool.layer),
  Layer.provideMerge(Layer.mergeAll(Devices.layer, Outbox.layer, RouteViews.layer, SessionTokens.layer)),
  Layer.provideMerge(Layer.mergeAll(Audit.layer, Draining.layer, HeavyWork.layer, Lanes.layer, Quotas.layer)),
  Layer.provide([
    Handles.layer,
    MailedTokens.layer,
    PasswordPolicy.layer,
    Passwords.layer,
    Pseudonyms.layer,
    Roles.layer,
    SignUps.layer
  ])
)

const requestHandlerLayer = RequestHandler.layer.pipe(Layer.provide(servicesLayer))

/** Build this layer first, so that a process responds while it waits for its database. */
export const listeningLayer = Listening.layer.pipe(
  Layer.provide([Draining.layer, Warnings.layer]),
  Layer.provide(telemetryLayer)
)

/** The layer is the whole service. `Live.ts` has its requirements for production. */
export const applicationLayer = drainLayer.pipe(
  Layer.provide(servicesLayer),
  Layer.provideMerge(serverLayer.pipe(Layer.provide(requestHandlerLayer))),
  Layer.provide(listeningLayer),
  Layer.provide(Warnings.layer),
  Layer.provide(telemetryLayer)
)

const composingLayer = accountMailsLayer.pipe(Layer.provide([Audit.layer, MailedTokens.layer, SignUps.layer]))

/** Share one `Outbox` with the application, so that a mail is sent as soon as it is written. */
export const mailDeliveryLayer = outboxDeliveryLayer.pipe(
  Layer.provide([Draining.layer, Outbox.layer, composingLayer, MailQuota.layer]),
  Layer.provide(telemetryLayer)
)

export const backgroundLayer = Layer.mergeAll(
  mailDeliveryLayer,
  changeSweepLayer,
  purgeLayer,
  tokenExpiryMailsLayer,
  erasureLayer.pipe(Layer.provide(AccountErasure.layer)),
  placeSweepLayer.pipe(Layer.provide(PlaceSweep.layer)),
  routeViewSweepLayer.pipe(Layer.provide(RouteViews.layer))
).pipe(
  Layer.provide([Audit.layer, HeavyWork.layer, MailQuota.layer, Outbox.layer]),
  Layer.provide(telemetryLayer)
)
