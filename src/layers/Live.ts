import { NodeFileSystem, NodeHttpClient } from "@effect/platform-node"
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { serverLayer } from "../http/Server.ts"
import { AccountDeletion } from "../services/accounts/AccountDeletion.ts"
import { AccountErasure, erasureLayer } from "../services/accounts/AccountErasure.ts"
import { Accounts } from "../services/accounts/Accounts.ts"
import { Handles } from "../services/accounts/Handles.ts"
import { Profiles } from "../services/accounts/Profiles.ts"
import { Pseudonyms } from "../services/accounts/Pseudonyms.ts"
import { Roles } from "../services/accounts/Roles.ts"
import { AccountExport } from "../services/archive/AccountExport.ts"
import { AccountImport } from "../services/archive/AccountImport.ts"
import { MailedTokens } from "../services/credentials/MailedTokens.ts"
import { PasswordChanges } from "../services/credentials/PasswordChanges.ts"
import { PasswordPolicy } from "../services/credentials/PasswordPolicy.ts"
import { Passwords } from "../services/credentials/Passwords.ts"
import { PersonalAccessTokens } from "../services/credentials/PersonalAccessTokens.ts"
import { Sessions } from "../services/credentials/Sessions.ts"
import { SessionTokens } from "../services/credentials/SessionTokens.ts"
import { IdempotencyKeys } from "../services/IdempotencyKeys.ts"
import { Quotas } from "../services/limits/Quotas.ts"
import { RateLimits } from "../services/limits/RateLimits.ts"
import { Outbox } from "../services/mail/Outbox.ts"
import { Metrics } from "../services/metrics/Metrics.ts"
import { Administration } from "../services/operations/Administration.ts"
import { Audit } from "../services/operations/Audit.ts"
import { Draining } from "../services/operations/Draining.ts"
import { Health } from "../services/operations/Health.ts"
import { purgeLayer } from "../services/operations/Purge.ts"
import { SystemStatus } from "../services/operations/SystemStatus.ts"
import { IdentityProvider } from "../services/provider/IdentityProvider.ts"
import { ProviderSignIn } from "../services/provider/ProviderSignIn.ts"
import { Collections } from "../services/routes/Collections.ts"
import { PublicRoutes } from "../services/routes/PublicRoutes.ts"
import { RouteBin } from "../services/routes/RouteBin.ts"
import { RouteFiles } from "../services/routes/RouteFiles.ts"
import { Routes } from "../services/routes/Routes.ts"
import { Routing } from "../services/routing/Routing.ts"
import { RoutingEngine } from "../services/routing/RoutingEngine.ts"
import { TraceMatching } from "../services/routing/TraceMatching.ts"
import { listenLayer } from "./NodeServer.ts"
import { drainLayer } from "./process/Shutdown.ts"
import { rateCountersLayer } from "./Redis.ts"
import { telemetryLayer } from "./telemetry/Telemetry.ts"

/** What signs people in, and scripts. */
const identityLayer = Layer.mergeAll(Accounts.layer, PasswordChanges.layer, ProviderSignIn.layer, Administration.layer)
  .pipe(
    Layer.provideMerge(AccountDeletion.layer),
    Layer.provideMerge(Layer.mergeAll(Outbox.layer, PersonalAccessTokens.layer, Profiles.layer, Sessions.layer)),
    Layer.provideMerge(Layer.mergeAll(
      Handles.layer,
      IdentityProvider.layer.pipe(Layer.provide(NodeHttpClient.layerUndici)),
      MailedTokens.layer,
      PasswordPolicy.layer,
      Passwords.layer,
      SessionTokens.layer
    ))
  )

/** What the routing engine is asked for. */
const routingLayer = Layer.mergeAll(Routing.layer, SystemStatus.layer, TraceMatching.layer).pipe(
  Layer.provideMerge(RoutingEngine.layer),
  Layer.provide(NodeHttpClient.layerUndici)
)

/** What takes an account out as a whole, and in again. */
const accountDataLayer = Layer.mergeAll(
  AccountExport.layer,
  AccountImport.layer.pipe(Layer.provide(NodeFileSystem.layer))
)

/** The capabilities, on a database, a mailer and places. */
const servicesLayer = Layer.mergeAll(
  accountDataLayer.pipe(Layer.provideMerge(identityLayer)),
  Collections.layer,
  erasureLayer.pipe(Layer.provide(AccountErasure.layer)),
  Health.layer,
  IdempotencyKeys.layer,
  Metrics.layer,
  PublicRoutes.layer,
  purgeLayer,
  RateLimits.layer,
  RouteBin.layer,
  routingLayer,
  RouteFiles.layer.pipe(Layer.provideMerge(Routes.layer))
).pipe(
  Layer.provideMerge(Audit.layer),
  Layer.provideMerge(Draining.layer),
  Layer.provideMerge(Quotas.layer),
  Layer.provide([Pseudonyms.layer, Roles.layer, rateCountersLayer]),
  Layer.provideMerge(SecureRandom.layerWebCrypto)
)

/** The application, all but its database, mailer and places: what production, development and tests have in common. */
export const applicationLayer = drainLayer.pipe(
  Layer.provideMerge(serverLayer),
  Layer.provideMerge(listenLayer),
  Layer.provide(servicesLayer),
  Layer.provide(telemetryLayer)
)
