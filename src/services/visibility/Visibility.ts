import { Option, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { LinkIdColumn } from "../../schema/Columns.ts"
import type { UserId } from "../../schema/Ids.ts"
import type { Visibility } from "../../schema/Preferences.ts"

/** The user who makes a request; none for an anonymous client. */
export type Viewer = Option.Option<UserId>

/** No user has this id. */
export const NOBODY = 0

export const idOf = (viewer: Viewer): number => Option.getOrElse(viewer, () => NOBODY)

/** The id of a user, or the column that has it. */
type UserIdOrColumn = number | Statement.Fragment

/** An id, or a share token. */
type Ref = number | string

/** Of what a link opened; null for what was opened by its id or share token. */
export const OpenedFields = {
  linkId: Schema.NullOr(LinkIdColumn),
  allowDownload: Schema.NullOr(Schema.Boolean)
}

/** Selects `OpenedFields` from `opened`. */
export const openedColumns = `o.link_id AS "linkId", o.allow_download AS "allowDownload"`

const TABLES = {
  c: { table: "collections", linked: "collection_id" },
  r: { table: "routes", linked: "route_id" }
}

/** On `share_links`: those that are not expired. */
export const isLinkLive = (sql: SqlClient.SqlClient, now: Date) => sql`(expires_at IS NULL OR expires_at > ${now})`

/** The rules that routes and collections share, on a row by its alias and its owner `users u`. */
const rulesOn = (sql: SqlClient.SqlClient, alias: "c" | "r") => {
  const row = sql.literal(alias)
  const { linked, table } = TABLES[alias]
  const isLive = sql`${row}.deleted_at IS NULL`
  const isOwnerActive = sql`u.deletion_requested_at IS NULL`
  const isPublic = sql`${row}.visibility = 'public'`

  /** Live rows of the viewer, and of active owners those on which `others` is true. */
  const isOwnOr = (viewer: UserIdOrColumn, others: Statement.Fragment) =>
    sql`${isLive} AND (${row}.user_id = ${viewer} OR (${isOwnerActive} AND ${others}))`

  /** To a viewer who knows its id: their own, or public. */
  const visible = (viewer: UserIdOrColumn) => isOwnOr(viewer, isPublic)

  /** To a viewer who knows its share token: their own, public or unlisted. */
  const shared = (viewer: UserIdOrColumn) => isOwnOr(viewer, sql`${row}.visibility <> 'private'`)

  /** The row that a ref names, as `o (id, link_id, allow_download)`: by its share token, or by a link until it expires. */
  const opened = (ref: Ref, now: Date) =>
    typeof ref === "number"
      ? sql`(SELECT ${ref}::bigint AS id, NULL::bigint AS link_id, NULL::boolean AS allow_download) o`
      : sql`(
          SELECT id, NULL::bigint AS link_id, NULL::boolean AS allow_download
          FROM ${sql(table)} WHERE share_token = ${ref}
          UNION ALL
          SELECT ${sql(linked)}, id, allow_download FROM share_links
          WHERE token = ${ref} AND ${sql(linked)} IS NOT NULL AND ${isLinkLive(sql, now)}
        ) o`

  return {
    isOwnOr,
    visible,
    shared,

    /** Tables, with more of them, and the condition on what a viewer may see by a ref. */
    openedBy: (ref: Ref, viewer: UserIdOrColumn, now: Date, joined = sql``) =>
      sql`
        ${opened(ref, now)} JOIN ${
        sql(table)
      } ${row} ON ${row}.id = o.id JOIN users u ON u.id = ${row}.user_id ${joined}
        WHERE ${typeof ref === "number" ? visible(viewer) : shared(viewer)}`,

    /** What anyone may find. */
    public: sql`${isPublic} AND ${isLive} AND ${isOwnerActive}`,

    /** Live rows of an owner; needs no `users u`. */
    own: (owner: UserIdOrColumn) => sql`${row}.user_id = ${owner} AND ${isLive}`
  }
}

/** Who sees what of `routes r`, and of the routes in `collections c`, with the owner of the route as `users u`. */
export const routeVisibility = (sql: SqlClient.SqlClient) => {
  const { isOwnOr, ...rules } = rulesOn(sql, "r")
  const publicOrUnlistedIf = (condition: Statement.Fragment) =>
    sql`(r.visibility = 'public' OR (r.visibility = 'unlisted' AND ${condition}))`

  return {
    ...rules,

    /** Of a list of one's own routes. */
    of: (visibility: Visibility) => sql`r.visibility = ${visibility}`,

    /** Whose ids are listed in a collection. The ids of unlisted routes are no secret: they open nothing. */
    listed: rules.shared,

    /**
     * Whose content a collection shows. Ids of collections can be counted, so an unlisted route needs more than one of
     * them: to be the collection's owner, or its share token, by which its owner shares their own routes. A route of
     * another user that became unlisted is for its owner to share.
     */
    shownIn: (ref: Ref, viewer: number) =>
      isOwnOr(
        viewer,
        publicOrUnlistedIf(
          typeof ref === "number" ? sql`c.user_id = ${viewer}` : sql`(c.user_id = ${viewer} OR c.user_id = r.user_id)`
        )
      ),

    /**
     * What an owner may put into a collection: their own routes, public ones, and unlisted ones that are in it already, so
     * that an order that was read can be written.
     */
    addable: (owner: number, collection: number | undefined) =>
      isOwnOr(
        owner,
        publicOrUnlistedIf(
          sql`r.id IN (SELECT route_id FROM collection_routes WHERE collection_id = ${collection ?? null})`
        )
      )
  }
}

/** Who sees what of `collections c` with their owners `users u`. */
export const collectionVisibility = (sql: SqlClient.SqlClient) => {
  const { openedBy, own, public: isPublic } = rulesOn(sql, "c")
  return { openedBy, own, public: isPublic }
}
