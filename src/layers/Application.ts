import { Layer } from "effect"
import { Listening, RequestHandler, serverLayer } from "../http/Server.ts"
import { AccountDeletion } from "../services/accounts/AccountDeletion.ts"
import { AccountErasure, erasureLayer } from "../services/accounts/AccountErasure.ts"
import { accountMailsLayer } from "../services/accounts/AccountMails.ts"
import { Accounts } from "../services/accounts/Accounts.ts"
import { Invitations } from "../services/accounts/Invitations.ts"
import { NewAccounts } from "../services/accounts/NewAccounts.ts"
import { PasswordChanges } from "../services/accounts/PasswordChanges.ts"
import { PrivacyZones } from "../services/accounts/PrivacyZones.ts"
import { Profiles } from "../services/accounts/Profiles.ts"
import { SignUps } from "../services/accounts/SignUps.ts"
import { Administration } from "../services/admin/Administration.ts"
import { SystemStatus } from "../services/admin/SystemStatus.ts"
import { AccountExport } from "../services/archive/Export.ts"
import { AccountImport, ImportTurns } from "../services/archive/Import.ts"
import { Audit } from "../services/audit/Audit.ts"
import { Batches } from "../services/batches/Batches.ts"
import { ChangeFeed } from "../services/changes/ChangeFeed.ts"
import { ChangeSignals } from "../services/changes/ChangeSignals.ts"
import { changeSweepLayer } from "../services/changes/ChangeSweep.ts"
import { ChangeWaits } from "../services/changes/ChangeWaits.ts"
import { Collections } from "../services/collections/Collections.ts"
import { CollectionTrash } from "../services/collections/CollectionTrash.ts"
import { PublicAddresses } from "../services/collections/PublicAddresses.ts"
import { CallerCredential } from "../services/credentials/CallerCredential.ts"
import { Devices } from "../services/credentials/Devices.ts"
import { MailedTokens } from "../services/credentials/MailedTokens.ts"
import { PasswordPolicy } from "../services/credentials/PasswordPolicy.ts"
import { Passwords } from "../services/credentials/Passwords.ts"
import { PersonalAccessTokens } from "../services/credentials/PersonalAccessTokens.ts"
import { Sessions } from "../services/credentials/Sessions.ts"
import { SessionTokens } from "../services/credentials/SessionTokens.ts"
import { outboxDeliveryLayer } from "../services/delivery/OutboxDelivery.ts"
import { HeavyWork } from "../services/heavy/HeavyWork.ts"
import { IdempotencyKeys } from "../services/idempotency/IdempotencyKeys.ts"
import { Handles } from "../services/identity/Handles.ts"
import { Pseudonyms } from "../services/identity/Pseudonyms.ts"
import { Roles } from "../services/identity/Roles.ts"
import { Bulkheads } from "../services/limits/Bulkheads.ts"
import { Quotas } from "../services/limits/Quotas.ts"
import { RateLimits } from "../services/limits/RateLimits.ts"
import { WriterTurns } from "../services/limits/WriterTurns.ts"
import { LinkUses } from "../services/links/LinkUses.ts"
import { ShareLinks } from "../services/links/ShareLinks.ts"
import { MailQuota } from "../services/mail/MailQuota.ts"
import { Outbox } from "../services/mail/Outbox.ts"
import { Metrics } from "../services/metrics/Metrics.ts"
import { Draining } from "../services/operations/Draining.ts"
import { Health } from "../services/operations/Health.ts"
import { purgeLayer } from "../services/operations/Purge.ts"
import { tokenExpiryMailsLayer } from "../services/operations/TokenExpiryMails.ts"
import { Pictures } from "../services/pictures/Pictures.ts"
import { ProviderSignIn } from "../services/provider/ProviderSignIn.ts"
import { PlaceSweep, placeSweepLayer } from "../services/routes/PlaceSweep.ts"
import { PublicRoutes } from "../services/routes/PublicRoutes.ts"
import { RouteDuplicates } from "../services/routes/RouteDuplicates.ts"
import { RouteFiles } from "../services/routes/RouteFiles.ts"
import { RouteProfiles } from "../services/routes/RouteProfiles.ts"
import { Routes } from "../services/routes/Routes.ts"
import { RouteSearch } from "../services/routes/RouteSearch.ts"
import { RouteTrash } from "../services/routes/RouteTrash.ts"
import { RouteViews } from "../services/routes/RouteViews.ts"
import { routeViewSweepLayer } from "../services/routes/RouteViewSweep.ts"
import { Elevations } from "../services/routing/Elevations.ts"
import { Routing } from "../services/routing/Routing.ts"
import { TraceMatching } from "../services/routing/TraceMatching.ts"
import { ImportDisk, Spool } from "../services/spool/Spool.ts"
import { drainLayer } from "./process/Shutdown.ts"
import { telemetryLayer } from "./telemetry/Telemetry.ts"

const identityLayer = Layer.mergeAll(
  Accounts.layer,
  PasswordChanges.layer,
  PrivacyZones.layer,
  ProviderSignIn.layer,
  Administration.layer
)
  .pipe(
    Layer.provideMerge(AccountDeletion.layer),
    Layer.provideMerge(Layer.mergeAll(PersonalAccessTokens.layer, Profiles.layer, Sessions.layer)),
    Layer.provideMerge(Outbox.layer),
    Layer.provideMerge(NewAccounts.layer),
    Layer.provideMerge(Layer.mergeAll(
      Devices.layer,
      Handles.layer,
      MailedTokens.layer,
      PasswordPolicy.layer,
      Passwords.layer,
      SessionTokens.layer,
      SignUps.layer
    ))
  )

export const invitationsLayer = Invitations.layer.pipe(
  Layer.provide(NewAccounts.layer),
  Layer.provide([Audit.layer, Handles.layer, MailedTokens.layer, Outbox.layer, SignUps.layer])
)

const routingLayer = Layer.mergeAll(Elevations.layer, Routing.layer, SystemStatus.layer, TraceMatching.layer)

const accountDataLayer = Layer.mergeAll(
  AccountExport.layer,
  AccountImport.layer.pipe(Layer.provide([ImportDisk.layer, ImportTurns.layer]))
)

const changesLayer = ChangeWaits.layer.pipe(Layer.provideMerge(ChangeFeed.layer), Layer.provide(ChangeSignals.layer))

const servicesLayer = Layer.mergeAll(
  CallerCredential.layer,
  accountDataLayer.pipe(Layer.provideMerge(identityLayer)),
  Batches.layer,
  changesLayer,
  Collections.layer,
  CollectionTrash.layer,
  Health.layer,
  IdempotencyKeys.layer,
  invitationsLayer,
  Metrics.layer,
  RouteSearch.layer,
  PublicAddresses.layer,
  PublicRoutes.layer,
  RateLimits.layer,
  RouteTrash.layer,
  ShareLinks.layer,
  routingLayer,
  Layer.mergeAll(Pictures.layer, RouteDuplicates.layer, RouteFiles.layer, RouteProfiles.layer).pipe(
    Layer.provideMerge(Routes.layer)
  )
).pipe(
  Layer.provide(LinkUses.layer),
  Layer.provideMerge(RouteViews.layer),
  Layer.provideMerge(Audit.layer),
  Layer.provideMerge(Draining.layer),
  Layer.provideMerge(HeavyWork.layer),
  Layer.provideMerge(Layer.merge(Bulkheads.layer, WriterTurns.layer)),
  Layer.provide(Spool.layer),
  Layer.provideMerge(Quotas.layer),
  Layer.provide([Pseudonyms.layer, Roles.layer])
)

const requestHandlerLayer = RequestHandler.layer.pipe(Layer.provide(servicesLayer))

/** Build it first, so that a process responds while it waits for its database. */
export const listeningLayer = Listening.layer.pipe(Layer.provide(Draining.layer), Layer.provide(telemetryLayer))

/** The whole service. What is outside of it is a requirement; `Live.ts` has that of production. */
export const applicationLayer = drainLayer.pipe(
  Layer.provide(servicesLayer),
  Layer.provideMerge(serverLayer.pipe(Layer.provide(requestHandlerLayer))),
  Layer.provide(listeningLayer),
  Layer.provide(telemetryLayer)
)

const composingLayer = accountMailsLayer.pipe(Layer.provide([Audit.layer, MailedTokens.layer, SignUps.layer]))

/** Share one `Outbox` with the application, so that a mail is sent as soon as it is written. */
export const mailDeliveryLayer = outboxDeliveryLayer.pipe(
  Layer.provide([Outbox.layer, composingLayer, MailQuota.layer]),
  Layer.provide(telemetryLayer)
)

export const backgroundLayer = Layer.mergeAll(
  mailDeliveryLayer,
  erasureLayer.pipe(
    Layer.provide(AccountErasure.layer),
    Layer.provide([Audit.layer, MailQuota.layer]),
    Layer.provide(telemetryLayer)
  ),
  Layer.merge(purgeLayer, changeSweepLayer).pipe(Layer.provide(telemetryLayer)),
  tokenExpiryMailsLayer.pipe(Layer.provide(Outbox.layer), Layer.provide(telemetryLayer)),
  placeSweepLayer.pipe(Layer.provide(PlaceSweep.layer), Layer.provide(telemetryLayer)),
  routeViewSweepLayer.pipe(
    Layer.provide(RouteViews.layer),
    Layer.provide(HeavyWork.layer),
    Layer.provide(telemetryLayer)
  )
)
