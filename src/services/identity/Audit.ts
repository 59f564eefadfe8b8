import { Context, DateTime, Effect, flow, Layer, Option, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql"
import { type AuditEntry, AuditEvent } from "../../schema/Admin.ts"
import { UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { ifThereIsRoom } from "../db/DatabaseErrors.ts"
import { newest, readableRows, selectPage } from "../db/Lists.ts"
import { columnsOf, Instant, readOnly, tableOf, writtenOnce } from "../db/Tables.ts"
import { traceIdsOf } from "../operations/RequestNotes.ts"

class AuditRecord extends Model.Class<AuditRecord>("AuditRecord")({
  id: readOnly(Schema.Int),
  createdAt: Instant,
  event: AuditEvent,
  userId: writtenOnce(Schema.NullOr(UserId)),
  subjectId: writtenOnce(Schema.NullOr(UserId)),
  traceId: Schema.NullOr(Schema.String)
}) {}

const auditEvents = tableOf("audit_events", AuditRecord)

interface Named {
  readonly userId?: UserId | undefined
  readonly subjectId?: UserId | undefined
}

export const actedOn = (owner: UserId, actor: UserId): Named =>
  actor === owner ? { userId: owner } : { userId: actor, subjectId: owner }

export interface AuditFilter {
  readonly userId?: UserId | undefined
  readonly event?: AuditEvent | undefined
}

/** Entries have ids, event and trace, no secrets (OWASP Logging Cheat Sheet), until they expire or their user goes. */
export class Audit extends Context.Service<Audit, {
  /** Records in the transaction of the caller. */
  readonly record: (event: AuditEvent, named?: Named) => Effect.Effect<void>
  /** Records a read and waits for no lock: later if a named user is locked, in the log if it cannot be written. */
  readonly recordRead: (event: AuditEvent, named: Named) => Effect.Effect<void>
  /** Lists entries, newest first. Records itself, after the entries are read. */
  readonly list: (admin: UserId, filter: AuditFilter, page: Page) => Effect.Effect<PageOf<AuditEntry>>
}>()("route-planning-service/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const scope = yield* Effect.scope

      const decodeRows = readableRows("audit_events", AuditRecord.select)

      const matches = ({ event, userId }: AuditFilter) =>
        sql.and([
          ...(userId === undefined ? [] : [sql`(user_id = ${userId} OR subject_id = ${userId})`]),
          ...(event === undefined ? [] : [sql`event = ${event}`])
        ])

      const insert = Effect.fnUntraced(function*(event: AuditEvent, { subjectId, userId }: Named) {
        const trace = traceIdsOf(yield* Effect.context<never>())
        yield* auditEvents.insert(sql, {
          createdAt: yield* DateTime.nowAsDate,
          event,
          userId: userId ?? null,
          subjectId: subjectId ?? null,
          traceId: Option.getOrNull(Option.map(trace, ({ traceId }) => traceId))
        })
      })

      const record = flow(
        (event: AuditEvent, named: Named = {}) => insert(event, named),
        Effect.orDie
      )

      // An entry refers to its users, which locks them.
      const insertUnlessLocked = Effect.fnUntraced(function*(event: AuditEvent, named: Named) {
        const ids = [named.userId, named.subjectId].filter((id) => id !== undefined)
        const unlocked = yield* sql`SELECT FROM users WHERE ${sql.in("id", ids)} FOR KEY SHARE SKIP LOCKED`
        if (unlocked.length < new Set(ids).size) return false
        yield* insert(event, named)
        return true
      }, sql.withTransaction)

      const insertLater = (event: AuditEvent, named: Named) =>
        insert(event, named).pipe(
          Effect.catchCause((cause) => Effect.logWarning("audit entry not written", { event, ...named }, cause)),
          Effect.uninterruptible,
          Effect.forkIn(scope)
        )

      const recordRead = flow(
        (event: AuditEvent, named: Named) =>
          ifThereIsRoom(
            Effect.flatMap(insertUnlessLocked(event, named), (isWritten) =>
              isWritten ? Effect.void : insertLater(event, named)),
            Effect.logWarning("audit entry not written", { event, ...named })
          ),
        Effect.orDie
      )

      return Audit.of({
        record,
        recordRead,

        list: Effect.fnUntraced(function*(admin, filter, page) {
          const found = yield* selectPage(sql, {
            columns: sql.literal(columnsOf(AuditRecord.select)),
            tables: sql`audit_events`,
            where: matches(filter),
            order: newest("id"),
            decode: decodeRows
          }, page)
          yield* recordRead("admin.audit_read", { userId: admin })
          return found
        }, Effect.orDie)
      })
    })
  )
}
