import { Config, Effect, Result } from "effect"
import { corsOrigins } from "../http/middleware/CrossSite.ts"
import { maxRunning } from "../http/middleware/Gate.ts"
import { trustedProxies } from "../http/request/ClientAddress.ts"
import { insideNetworks } from "../http/request/PrivateNetworks.ts"
import { bodyMemoryBudget } from "../http/request/RequestBodies.ts"
import { erasureInterval } from "../services/accounts/AccountErasure.ts"
import { signUpEnabled } from "../services/accounts/SignUpPolicy.ts"
import { grafanaUrls } from "../services/admin/SystemStatus.ts"
import { minStrength } from "../services/credentials/PasswordPolicy.ts"
import { firstPoll } from "../services/delivery/OutboxDelivery.ts"
import { adminEmails } from "../services/identity/Roles.ts"
import { queueLength, queueTimeout } from "../services/limits/ConnectionQueue.ts"
import { QUOTA_SETTINGS } from "../services/limits/Quotas.ts"
import { rateLimitsEnabled } from "../services/limits/RateLimits.ts"
import { mailApiUrl } from "../services/mail/Mailer.ts"
import { mailSender } from "../services/mail/MailText.ts"
import { smtpUrl } from "../services/mail/SmtpMailer.ts"
import { poolSize } from "../services/metrics/DatabasePool.ts"
import { metricsSwitch, telemetryEnabled } from "../services/metrics/Metrics.ts"
import { drainDelay } from "../services/operations/Draining.ts"
import { purgeInterval } from "../services/operations/Purge.ts"
import { pictureCacheBytes } from "../services/pictures/PictureCache.ts"
import { issuerUrl, providerSignInEnabled } from "../services/provider/IdentityProvider.ts"
import { engineTimeout, engineUrl } from "../services/routing/RoutingEngine.ts"
import { appUrl, baseUrl, docsEnabled, mapStyleUrl, pagesEnabled, port } from "../services/settings/Addresses.ts"
import { importDiskBudget } from "../services/spool/ImportDisk.ts"
import { databaseWait } from "./Database.ts"
import { maxConnections } from "./NodeServer.ts"
import { redisUrl } from "./Redis.ts"
import { problemOf, SettingsRefused } from "./Refusal.ts"
import { logChecks } from "./telemetry/Logging.ts"
import { traceChecks } from "./telemetry/TraceSettings.ts"

/** Earlier versions started several processes by it. */
const RETIRED = "WORKERS"

const noWorkers = Effect.flatMap(
  Config.String(RETIRED).pipe(Config.withDefault("")),
  (workers) =>
    workers === "" ? Effect.void : Effect.fail(
      new SettingsRefused({
        message: `${RETIRED} is no setting any more: start replicas instead, see Replicas in docs/operations.md`
      })
    )
)

/** Checked at once at the start: their layers would report them one by one, and some only with a database. */
const CHECKED: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
  adminEmails,
  appUrl,
  baseUrl,
  bodyMemoryBudget,
  corsOrigins,
  databaseWait,
  docsEnabled,
  drainDelay,
  engineTimeout,
  engineUrl,
  erasureInterval,
  firstPoll,
  grafanaUrls,
  importDiskBudget,
  insideNetworks,
  issuerUrl,
  mailApiUrl,
  mailSender,
  mapStyleUrl,
  maxConnections,
  maxRunning,
  metricsSwitch,
  Config.option(minStrength),
  pagesEnabled,
  pictureCacheBytes,
  poolSize,
  port,
  providerSignInEnabled,
  purgeInterval,
  queueLength,
  queueTimeout,
  rateLimitsEnabled,
  redisUrl,
  signUpEnabled,
  Config.option(smtpUrl),
  telemetryEnabled,
  trustedProxies,
  noWorkers,
  ...Object.values(QUOTA_SETTINGS),
  ...logChecks,
  ...traceChecks
]

export const problemsOf = Effect.fnUntraced(function*(settings: ReadonlyArray<Effect.Effect<unknown, unknown>>) {
  const results = yield* Effect.forEach(settings, (setting) => Effect.result(setting))
  const problems = results.filter(Result.isFailure).map(({ failure }) => problemOf(failure))
  return [...new Set(problems)]
})

export const settingProblems = problemsOf(CHECKED)
