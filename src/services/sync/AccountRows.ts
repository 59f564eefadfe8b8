import { DateTime, Effect, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import type { AccountSettings, SyncedLink } from "../../schema/Change.ts"
import { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import { PrivacyZone } from "../../schema/PrivacyZone.ts"
import { readableRows } from "../db/Lists.ts"
import { columnsOf, TimestampColumn } from "../db/Tables.ts"
import { UserRecord } from "../identity/Users.ts"
import { LinkRow } from "../sharing/ShareLinks.ts"
import { collectionVisibility, isUnexpired, routeVisibility } from "../sharing/Visibility.ts"

/** A thing without a version has the number of its change, 0 where it has not changed since changes are numbered. */
interface Numbered {
  readonly version: number
  readonly at: string
}

export interface LinkChange extends Numbered {
  readonly type: "link"
  readonly link: SyncedLink
}

export interface AccountChange extends Numbered {
  readonly type: "account"
  readonly id: UserId
  readonly account: AccountSettings
}

const NumberedColumns = { version: Schema.Int, at: TimestampColumn }

const ChangedLink = Schema.Struct({
  ...LinkRow.fields,
  routeId: Schema.NullOr(RouteId),
  collectionId: Schema.NullOr(CollectionId),
  ...NumberedColumns
})

const AccountColumns = UserRecord.select.mapFields(Struct.pick(["name", "handle", "avatar", "preferences"]))

const ChangedAccount = Schema.Struct({
  ...AccountColumns.fields,
  zones: Schema.Array(PrivacyZone),
  ...NumberedColumns
})

const linkChange = (
  { at, collectionId, routeId, version, ...link }: typeof ChangedLink.Type
): LinkChange => ({
  type: "link",
  version,
  at,
  link: {
    ...link,
    ...(routeId === null ? {} : { routeId }),
    ...(collectionId === null ? {} : { collectionId })
  }
})

const accountChange =
  (id: UserId) => ({ at, avatar, version, ...settings }: typeof ChangedAccount.Type): AccountChange => ({
    type: "account",
    id,
    version,
    at,
    account: { ...settings, ...(avatar === null ? {} : { avatar }) }
  })

const decodeLinks = readableRows("share_links", ChangedLink)

const decodeId = Schema.decodeUnknownEffect(Schema.Struct({ id: Schema.Int }))

/** Links, profile, preferences and privacy zones of an account, each with its newest change. */
export const accountRows = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofRoutes = routeVisibility(sql)
  const ofCollections = collectionVisibility(sql)

  const newestOf = (owner: number, type: "account" | "link", id: Statement.Fragment) =>
    sql`LEFT JOIN changes n ON n.user_id = ${owner} AND n.type = ${type} AND n.id = ${id}`

  const numbered = (madeAt: string) =>
    sql.literal(`coalesce(n.number, 0) AS version, coalesce(n.numbered_at, ${madeAt}) AS at`)

  const linkColumns = sql.literal(
    `${columnsOf(LinkRow, "l")}, l.route_id AS "routeId", l.collection_id AS "collectionId"`
  )

  const selectLinks = (owner: UserId, links: Statement.Fragment) =>
    sql`SELECT ${linkColumns}, ${numbered("l.created_at")} FROM ${links} ${newestOf(owner, "link", sql`l.id`)}`

  const findAccount = SqlSchema.findOneOption({
    Request: UserId,
    Result: ChangedAccount,
    execute: (owner) =>
      sql`
        SELECT ${sql.literal(columnsOf(AccountColumns, "u"))}, ${numbered("u.created_at")}, (
          SELECT coalesce(json_agg(json_strip_nulls(json_build_object(
            'center', json_build_array(z.lng, z.lat), 'radius', z.radius, 'label', z.label)) ORDER BY z.position), '[]')
          FROM privacy_zones z WHERE z.user_id = u.id
        ) AS zones
        FROM users u ${newestOf(owner, "account", sql`u.id`)} WHERE u.id = ${owner}`
  })

  return {
    /** Reads a page of links that are unchanged since the number, newest first; `last` is its last one where more follow. */
    linksAfter: Effect.fnUntraced(function*(owner: UserId, number: number, after: number, limit: number) {
      const links = sql`(
        SELECT l.* FROM routes r JOIN share_links l ON l.route_id = r.id WHERE ${ofRoutes.own(owner)}
        UNION ALL
        SELECT l.* FROM collections c JOIN share_links l ON l.collection_id = c.id WHERE ${ofCollections.own(owner)}
      ) l`
      const rows = yield* sql`
        ${selectLinks(owner, links)}
        WHERE ${after === 0 ? sql`true` : sql`l.id < ${after}`} AND ${isUnexpired(sql, yield* DateTime.nowAsDate)}
          AND coalesce(n.number, 0) <= ${number}
        ORDER BY l.id DESC LIMIT ${limit + 1}`
      const shown = rows.slice(0, limit)
      return {
        changes: (yield* decodeLinks(shown)).map(linkChange),
        last: rows.length > limit ? (yield* Effect.orDie(decodeId(shown.at(-1)))).id : undefined
      }
    }),

    links: Effect.fnUntraced(function*(owner: UserId, ids: ReadonlyArray<number>) {
      if (ids.length === 0) return []
      const links = sql`
        share_links l LEFT JOIN routes r ON r.id = l.route_id LEFT JOIN collections c ON c.id = l.collection_id`
      const rows = yield* sql`
        ${selectLinks(owner, links)}
        WHERE ${sql.in("l.id", ids)} AND ${isUnexpired(sql, yield* DateTime.nowAsDate)}
          AND ((${ofRoutes.own(owner)}) OR (${ofCollections.own(owner)}))`
      return (yield* decodeLinks(rows)).map(linkChange)
    }),

    account: (owner: UserId) =>
      Effect.map(findAccount(owner), (found) => Option.toArray(Option.map(found, accountChange(owner))))
  }
})
