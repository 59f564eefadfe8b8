import { Clock, Context, Duration, Effect, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { LinkId, ShareToken } from "../../schema/Ids.ts"
import { bigints } from "../db/Tables.ts"

interface Opened {
  readonly linkId: LinkId | null
  readonly allowDownload: boolean | null
}

interface Followed {
  readonly shareToken?: ShareToken
  readonly allowDownload?: boolean
}

interface Use {
  readonly uses: number
  readonly lastUsedAt: number
}

/** A read counts as a use where this is true: a page counts, its pictures do not. A file counts if the link opens it. */
export const CountsUses = Context.Reference<boolean | "files">("route-planning-service/CountsUses", {
  defaultValue: () => true
})

const PRECISION = Duration.minutes(1)

/**
 * Counts the uses of links in this process and adds them up in the database after a minute, so that no read writes. A
 * killed process loses its last minute at most; one that shuts down loses none.
 */
export class LinkUses extends Context.Service<LinkUses, {
  /** Counts a use if a link was opened, and returns the link's token to show in place of the share token. */
  readonly follow: (ref: number | ShareToken, opened: Opened) => Effect.Effect<Followed>
}>()("route-planning-service/LinkUses") {
  static readonly layer = Layer.effect(
    LinkUses,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const hasUses = yield* Latch.make()
      const pending = new Map<LinkId, Use>()

      const add = (id: LinkId, { lastUsedAt, uses }: Use) => {
        const before = pending.get(id) ?? { uses: 0, lastUsedAt }
        pending.set(id, { uses: before.uses + uses, lastUsedAt: Math.max(before.lastUsedAt, lastUsedAt) })
        hasUses.openUnsafe()
      }

      // Links are locked in order of their ids, so that two processes do not wait for each other.
      const write = (uses: ReadonlyArray<readonly [LinkId, Use]>) =>
        sql`
          WITH added AS (
            SELECT * FROM unnest(
              ${bigints(uses.map(([id]) => id))}::bigint[], ${bigints(uses.map(([, use]) => use.uses))}::bigint[],
              ${uses.map(([, { lastUsedAt }]) => new Date(lastUsedAt).toISOString())}::timestamptz[]
            ) AS added (id, uses, last_used_at)
          ), locked AS (
            SELECT id FROM share_links WHERE id IN (SELECT id FROM added) ORDER BY id FOR NO KEY UPDATE
          )
          UPDATE share_links l SET uses = l.uses + a.uses, last_used_at = greatest(l.last_used_at, a.last_used_at)
          FROM added a JOIN locked USING (id) WHERE l.id = a.id`

      const flush = Effect.suspend(() => {
        const taken = [...pending]
        pending.clear()
        hasUses.closeUnsafe()
        return taken.length === 0 ? Effect.void : write(taken).pipe(
          Effect.catchCause((cause) =>
            Effect.andThen(
              Effect.logWarning("uses of links not written", cause),
              Effect.sync(() => taken.forEach(([id, use]) => add(id, use)))
            )
          )
        )
      }).pipe(Effect.uninterruptible)

      yield* Effect.addFinalizer(() => flush)
      // The loop sleeps without a timer until there are uses: a timer would wake a test clock each minute.
      yield* hasUses.await.pipe(
        Effect.andThen(Effect.sleep(PRECISION)),
        Effect.andThen(flush),
        Effect.forever,
        Effect.forkScoped
      )

      return LinkUses.of({
        follow: Effect.fnUntraced(function*(ref, { allowDownload, linkId }) {
          if (linkId === null || typeof ref === "number") return {}
          const counts = yield* CountsUses
          if (counts === "files" ? allowDownload : counts) {
            add(linkId, { uses: 1, lastUsedAt: yield* Clock.currentTimeMillis })
          }
          return { shareToken: ref, ...(allowDownload === false ? { allowDownload } : {}) }
        })
      })
    })
  )
}
