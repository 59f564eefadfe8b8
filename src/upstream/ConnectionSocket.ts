/**
 * `@effect/sql-pg` 4.0 cannot end a connection whose server does not respond: an interrupted statement waits for the
 * response to its cancellation. To see it, return undefined from `socketOf` and run `test/http/databaseFaults.test.ts`.
 * This ends when `PgConnection` has a way to destroy its socket.
 */
import type { PgConnection } from "@effect/sql-pg"
import { Predicate } from "effect"
import { Socket } from "node:net"

const socketOf = (connection: PgConnection.PgConnection): Socket | undefined => {
  const session = Predicate.hasProperty(connection, "base") ? connection.base : connection
  if (!Predicate.hasProperty(session, "session") || !Predicate.hasProperty(session.session, "socket")) return undefined
  return session.session.socket instanceof Socket ? session.session.socket : undefined
}

export const dropConnection = (connection: PgConnection.PgConnection): void => void socketOf(connection)?.destroy()
