import { Option } from "effect"
import type { SqlClient } from "effect/sql"
import type { CollectionRef, UserId } from "../../schema/Ids.ts"

export type Viewer = Option.Option<UserId>

/** No user has this id. */
export const NOBODY = 0

export const idOf = (viewer: Viewer): number => Option.getOrElse(viewer, () => NOBODY)

/**
 * Who sees what of a collection, as conditions on `collections c` with their owners `u`, and on the routes in them, `r`
 * with their owners `o`.
 */
export const collectionAccess = (sql: SqlClient.SqlClient) => ({
  /** By id: the viewer's own, or public. By share token: public and unlisted to anyone, private to the owner. */
  isOpened: (ref: CollectionRef, viewer: number) =>
    typeof ref === "number"
      ? sql`
          c.id = ${ref} AND c.deleted_at IS NULL
          AND (c.user_id = ${viewer} OR (c.visibility = 'public' AND u.deletion_requested_at IS NULL))`
      : sql`
          c.share_token = ${ref} AND c.deleted_at IS NULL
          AND (c.user_id = ${viewer} OR (c.visibility <> 'private' AND u.deletion_requested_at IS NULL))`,

  /** The ids of unlisted routes are no secret: they open nothing. */
  isListed: (viewer: number) =>
    sql`
      r.deleted_at IS NULL
      AND (r.user_id = ${viewer} OR (r.visibility <> 'private' AND o.deletion_requested_at IS NULL))`,

  /**
   * Ids of collections can be counted, so the content of an unlisted route needs more than one of them: to be the
   * collection's owner, or its share token, by which its owner shares the routes of their own. A route of somebody else
   * that became unlisted is for its owner to share.
   */
  isShown: (ref: CollectionRef, viewer: number) => {
    const isUnlistedShown = typeof ref === "number"
      ? sql`c.user_id = ${viewer}`
      : sql`(c.user_id = ${viewer} OR c.user_id = r.user_id)`
    return sql`
      r.deleted_at IS NULL AND (r.user_id = ${viewer} OR (
        o.deletion_requested_at IS NULL
        AND (r.visibility = 'public' OR (r.visibility = 'unlisted' AND ${isUnlistedShown}))
      ))`
  }
})
