import { Effect } from "effect"
import { signedUp } from "./Actors.ts"
import { clonedDatabase } from "./Databases.ts"
import { MailProvider } from "./MailProvider.ts"
import { monitoredWith } from "./MonitoredProcess.ts"
import { replica } from "./Replica.ts"
import { TestServer } from "./TestServer.ts"

/** The production program with a heap of so many MiB, which measures itself and does nothing beside, and an account there. */
export const monitoredProgram = Effect.fnUntraced(function*(heapMiB: number) {
  const url = yield* clonedDatabase
  const process = yield* replica({
    ...yield* MailProvider,
    ...monitoredWith(heapMiB),
    DATABASE_URL: url,
    NODE_ENV: "test",
    LOG_LEVEL: "error",
    RATE_LIMITS_ENABLED: "false",
    TELEMETRY_ENABLED: "false"
  })
  yield* process.ready
  return { process, rider: yield* Effect.provideService(signedUp, TestServer, process.server), url }
})
