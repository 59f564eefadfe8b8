import { Effect, Option, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { LinkId, type UserId } from "../../schema/Ids.ts"
import type { Visibility } from "../../schema/Resource.ts"

export type Viewer = Option.Option<UserId>

export const ANONYMOUS = 0

export const idOf = (viewer: Viewer): number => Option.getOrElse(viewer, () => ANONYMOUS)

type UserIdOrColumn = number | Statement.Fragment

type Ref = number | string

export type Opening =
  | { readonly by: "id"; readonly id: number }
  | { readonly by: "shareToken"; readonly token: string }
  | { readonly by: "link"; readonly token: string; readonly now: Date }

export type OpeningColumn =
  | { readonly by: "id"; readonly id: Statement.Fragment }
  | { readonly by: "shareToken"; readonly token: Statement.Fragment }

/** Finds the row of a ref by id or share token, else by a link: one statement for both made all reads dearer. */
export const firstOpened = <A, E, R>(
  ref: Ref,
  now: Date,
  select: (opening: Opening) => Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  typeof ref === "number"
    ? select({ by: "id", id: ref })
    : Effect.flatMap(
      select({ by: "shareToken", token: ref }),
      (rows) => rows.length > 0 ? Effect.succeed(rows) : select({ by: "link", token: ref, now })
    )

/** `linkId` is the link that was opened; it is null for an id or a share token. */
export const OpenedFields = {
  linkId: Schema.NullOr(LinkId),
  allowDownload: Schema.NullOr(Schema.Boolean)
}

/** A link, which has the column, is of a row of the table, which queries name by the alias. */
export const SHARED = {
  route: { table: "routes", alias: "r", column: "route_id" },
  collection: { table: "collections", alias: "c", column: "collection_id" }
}

/** Returns the condition for share links and personal access tokens, which need no expiry. */
export const isUnexpired = (sql: SqlClient.SqlClient, now: Date) => sql`(expires_at IS NULL OR expires_at > ${now})`

/** Routes and collections share these rules, on a row by its alias and its owner `users u`. */
const rulesOn = (sql: SqlClient.SqlClient, kind: keyof typeof SHARED) => {
  const { alias, column, table } = SHARED[kind]
  const row = sql.literal(alias)
  const isLive = sql`${row}.deleted_at IS NULL`
  const isOwnerActive = sql`u.deletion_requested_at IS NULL`
  const isPublic = sql`${row}.visibility = 'public'`

  /** Returns the condition for live rows of the viewer, and those of active owners for which `others` is true. */
  const isOwnOr = (viewer: UserIdOrColumn, others: Statement.Fragment) =>
    sql`${isLive} AND (${row}.user_id = ${viewer} OR (${isOwnerActive} AND ${others}))`

  /** Returns the condition for a row that a viewer who knows its id may see: their own, or public. */
  const visible = (viewer: UserIdOrColumn) => isOwnOr(viewer, isPublic)

  /** Returns the condition for a row that a viewer with its share token may see: their own, public or unlisted. */
  const shared = (viewer: UserIdOrColumn) => isOwnOr(viewer, sql`${row}.visibility <> 'private'`)

  const opened = (opening: Opening | OpeningColumn) =>
    opening.by === "link"
      ? {
        fields: sql`l.id AS "linkId", l.allow_download AS "allowDownload"`,
        from: sql`share_links l JOIN ${sql(table)} ${row} ON ${row}.id = l.${sql.literal(column)}`,
        where: sql`l.token = ${opening.token} AND ${isUnexpired(sql, opening.now)}`
      }
      : {
        fields: sql`NULL::bigint AS "linkId", NULL::boolean AS "allowDownload"`,
        from: sql`${sql(table)} ${row}`,
        where: opening.by === "id" ? sql`${row}.id = ${opening.id}` : sql`${row}.share_token = ${opening.token}`
      }

  return {
    isOwnOr,
    visible,
    shared,

    /** Selects columns and `OpenedFields` of the row that a viewer may see, from the row, its owner and more tables. */
    selectOpened: (
      columns: Statement.Fragment,
      opening: Opening | OpeningColumn,
      viewer: UserIdOrColumn,
      joined = sql``
    ) => {
      const { fields, from, where } = opened(opening)
      return sql`
        SELECT ${columns}, ${fields} FROM ${from} JOIN users u ON u.id = ${row}.user_id ${joined}
        WHERE ${where} AND ${opening.by === "id" ? visible(viewer) : shared(viewer)}`
    },

    public: sql`${isPublic} AND ${isLive} AND ${isOwnerActive}`,

    /** Returns the condition for live rows of an owner; it needs no `users u`. */
    own: (owner: UserIdOrColumn) => sql`${row}.user_id = ${owner} AND ${isLive}`
  }
}

/** The rules are for `routes r`, and for the routes in `collections c`, with the owner of the route as `users u`. */
export const routeVisibility = (sql: SqlClient.SqlClient) => {
  const { isOwnOr, ...rules } = rulesOn(sql, "route")
  const publicOrUnlistedIf = (condition: Statement.Fragment) =>
    sql`(r.visibility = 'public' OR (r.visibility = 'unlisted' AND ${condition}))`

  return {
    ...rules,

    of: (visibility: Visibility) => sql`r.visibility = ${visibility}`,

    /** A collection lists ids on this condition. Ids of unlisted routes are no secret: they open nothing. */
    listed: rules.shared,

    /**
     * Returns the condition for routes whose content a collection shows. Ids of collections can be counted, so an
     * unlisted route is shown only to the collection's owner, or by its share token, by which its owner shares their
     * own routes. Only its owner shares a route of another user that became unlisted.
     */
    shownIn: (ref: Ref, viewer: number) =>
      isOwnOr(
        viewer,
        publicOrUnlistedIf(
          typeof ref === "number" ? sql`c.user_id = ${viewer}` : sql`(c.user_id = ${viewer} OR c.user_id = r.user_id)`
        )
      ),

    /** An owner may add own and public routes, and keep unlisted ones: an order that was read can be written. */
    addable: (owner: number, collection: number | undefined) =>
      isOwnOr(
        owner,
        publicOrUnlistedIf(
          sql`r.id IN (SELECT route_id FROM collection_routes WHERE collection_id = ${collection ?? null})`
        )
      )
  }
}

export const collectionVisibility = (sql: SqlClient.SqlClient) => {
  const { own, public: isPublic, selectOpened } = rulesOn(sql, "collection")
  return { selectOpened, own, public: isPublic }
}
