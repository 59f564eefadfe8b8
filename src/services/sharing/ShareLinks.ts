import { Context, DateTime, Effect, Layer, Schema, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { CollectionId, LinkId, RouteId, ShareToken, type UserId } from "../../schema/Ids.ts"
import { MAX_LINKS, type NewShareLink, type ShareLink, type ShareLinkPatch } from "../../schema/ShareLink.ts"
import { textOrNull } from "../../schema/Text.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { countRows, findReadable } from "../db/Lists.ts"
import {
  clientColumns,
  columnsOf,
  InstantOnce,
  NullableInstant,
  readOnly,
  tableOf,
  TimestampColumn,
  writtenOnce
} from "../db/Tables.ts"
import { AlreadyPast, Missing, type Overloaded, TooManyLinks } from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { collectionVisibility, isUnexpired, routeVisibility, SHARED } from "./Visibility.ts"

const BYTES = 16

/** Makes share tokens: 128 random bits in hexadecimal digits. */
export const shareTokens = Effect.map(
  SecureRandom.SecureRandom,
  (random) => Effect.map(random.randomBytes(BYTES), (bytes) => ShareToken.make(Buffer.from(bytes).toString("hex")))
)

class LinkRecord extends Model.Class<LinkRecord>("LinkRecord")({
  id: readOnly(LinkId),
  routeId: writtenOnce(Schema.NullOr(RouteId)),
  collectionId: writtenOnce(Schema.NullOr(CollectionId)),
  label: Schema.NullOr(Schema.String),
  token: writtenOnce(ShareToken),
  allowDownload: Schema.Boolean,
  expiresAt: NullableInstant,
  clientId: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  clientDigest: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  createdAt: InstantOnce,
  lastUsedAt: readOnly(Schema.NullOr(TimestampColumn)),
  uses: readOnly(Schema.Int)
}) {}

const shareLinks = tableOf("share_links", LinkRecord)

export const LinkRow = LinkRecord.select.mapFields(Struct.omit(["routeId", "collectionId"]))

export type Shared =
  | { readonly kind: "route"; readonly id: RouteId }
  | { readonly kind: "collection"; readonly id: CollectionId }

const instantOf = (text: string | null | undefined) => typeof text === "string" ? new Date(text) : text

/**
 * A link opens what the share token of its route or collection opens, until it expires or is deleted. The owner can
 * read its token again. An expired link is `Missing`.
 */
export class ShareLinks extends Context.Service<ShareLinks, {
  readonly list: (owner: UserId, shared: Shared) => Effect.Effect<ReadonlyArray<ShareLink>, Missing>
  readonly get: (owner: UserId, shared: Shared, link: LinkId) => Effect.Effect<ShareLink, Missing>
  /** Makes a link; a repeat with its `clientId` is as that of a route. */
  readonly create: (
    owner: UserId,
    shared: Shared,
    link: NewShareLink
  ) => Effect.Effect<ShareLink, AlreadyPast | Missing | TooManyLinks | Overloaded>
  readonly change: (
    owner: UserId,
    shared: Shared,
    link: LinkId,
    patch: ShareLinkPatch
  ) => Effect.Effect<ShareLink, AlreadyPast | Missing | Overloaded>
  readonly remove: (owner: UserId, shared: Shared, link: LinkId) => Effect.Effect<void, Missing | Overloaded>
  /**
   * Voids the share token; links stay. This changes the route or collection. Returns the result of `read`, which runs
   * after the change in its transaction.
   */
  readonly replaceShareToken: <A, E>(
    owner: UserId,
    shared: Shared,
    read: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | Missing | Overloaded>
}>()("route-planning-service/ShareLinks") {
  static readonly layer = Layer.effect(
    ShareLinks,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const { writes } = yield* Lanes
      const shareToken = yield* shareTokens
      const own = { route: routeVisibility(sql).own, collection: collectionVisibility(sql).own }

      const linksOf = ({ id, kind }: Shared, now: Date) =>
        sql`share_links WHERE ${sql(SHARED[kind].column)} = ${id} AND ${isUnexpired(sql, now)}`

      const requireOwn = Effect.fnUntraced(function*(owner: UserId, { id, kind }: Shared, locked = sql``) {
        const { alias, table } = SHARED[kind]
        const row = sql.literal(alias)
        const rows = yield* sql`
          SELECT id FROM ${sql(table)} ${row} WHERE ${row}.id = ${id} AND ${own[kind](owner)} ${locked}`
        if (rows.length === 0) return yield* new Missing({ kind })
      })

      /** The route or collection is locked, so that concurrent requests do not exceed the limit. */
      const lockOwn = (owner: UserId, shared: Shared) => requireOwn(owner, shared, sql`FOR NO KEY UPDATE`)

      const inTurn = <A, E, R>(change: Effect.Effect<A, E, R>, owner: UserId) =>
        databaseDefects(writes(owner, sql.withTransaction(change)))

      const columns = sql.literal(columnsOf(LinkRow))

      const insert = SqlSchema.findOne({
        Request: Schema.toType(LinkRecord.insert),
        Result: LinkRow,
        execute: (values) => sql`${shareLinks.insert(sql, values)} RETURNING ${columns}`
      })

      const decodeRow = Schema.decodeUnknownEffect(LinkRow)
      const decodeMade = Schema.decodeUnknownEffect(
        Schema.Struct({ ...LinkRow.fields, clientDigest: Schema.NullOr(Schema.String) })
      )

      const findMade = Effect.fnUntraced(
        function*(shared: Shared, { clientId }: ReturnType<typeof clientColumns>, now: Date) {
          if (clientId === null) return undefined
          const [row] = yield* sql`
            SELECT ${columns}, client_digest AS "clientDigest" FROM ${linksOf(shared, now)}
            AND client_id = ${clientId}::uuid`
          return row === undefined ? undefined : yield* decodeMade(row)
        }
      )

      const requireFuture = Effect.fnUntraced(function*(expiresAt: Date | null | undefined, now: Date) {
        if (expiresAt instanceof Date && expiresAt <= now) return yield* new AlreadyPast({ member: "expiresAt" })
      })

      const findLinks = (shared: Shared, now: Date) =>
        findReadable({
          table: "share_links",
          Request: Schema.Void,
          Result: LinkRow,
          execute: () => sql`SELECT ${columns} FROM ${linksOf(shared, now)} ORDER BY id DESC`
        })()

      return ShareLinks.of({
        list: Effect.fnUntraced(
          function*(owner, shared) {
            yield* requireOwn(owner, shared)
            return yield* findLinks(shared, yield* DateTime.nowAsDate)
          },
          databaseDefects
        ),

        get: Effect.fnUntraced(
          function*(owner, shared, link) {
            yield* requireOwn(owner, shared)
            const [row] = yield* sql`
              SELECT ${columns} FROM ${linksOf(shared, yield* DateTime.nowAsDate)} AND id = ${link}`
            return row === undefined ? yield* new Missing({ kind: "link" }) : yield* decodeRow(row)
          },
          databaseDefects
        ),

        create: Effect.fnUntraced(
          function*(owner, shared, { allowDownload, clientId, expiresAt, label }) {
            const now = yield* DateTime.nowAsDate
            const values = {
              label: textOrNull(label) ?? null,
              allowDownload: allowDownload ?? true,
              expiresAt: instantOf(expiresAt) ?? null
            }
            const client = clientColumns(clientId, values)
            yield* lockOwn(owner, shared)
            const made = yield* findMade(shared, client, now)
            if (made !== undefined) {
              const { clientDigest, ...present } = made
              const first = { ...values, expiresAt: values.expiresAt?.toISOString() ?? null, uses: 0, lastUsedAt: null }
              return clientDigest === client.clientDigest ? { ...present, ...first } : present
            }
            yield* requireFuture(values.expiresAt, now)
            if ((yield* countRows(sql, linksOf(shared, now))) >= MAX_LINKS) {
              return yield* new TooManyLinks({ limit: MAX_LINKS })
            }
            const link = yield* insert({
              routeId: shared.kind === "route" ? shared.id : null,
              collectionId: shared.kind === "collection" ? shared.id : null,
              ...values,
              ...client,
              token: yield* shareToken,
              createdAt: now
            })
            yield* audit.record("link.created", { userId: owner })
            return link
          },
          inTurn
        ),

        change: Effect.fnUntraced(
          function*(owner, shared, link, { allowDownload, expiresAt, label }) {
            const now = yield* DateTime.nowAsDate
            const expiry = instantOf(expiresAt)
            yield* requireFuture(expiry, now)
            yield* lockOwn(owner, shared)
            const changes = { allowDownload, expiresAt: expiry, label: textOrNull(label) }
            const found = sql`${linksOf(shared, now)} AND id = ${link}`
            const isEmpty = Object.values(changes).every((value) => value === undefined)
            const [changed] = isEmpty ? [] : yield* sql`
              UPDATE share_links SET ${shareLinks.set(sql, changes)}
              WHERE id = (SELECT id FROM ${found}) AND ${shareLinks.differs(changes)} RETURNING ${columns}`
            if (changed !== undefined) {
              yield* audit.record("link.changed", { userId: owner })
              return yield* decodeRow(changed)
            }
            const [row] = yield* sql`SELECT ${columns} FROM ${found}`
            return row === undefined ? yield* new Missing({ kind: "link" }) : yield* decodeRow(row)
          },
          inTurn
        ),

        remove: Effect.fnUntraced(
          function*(owner, shared, link) {
            yield* lockOwn(owner, shared)
            const rows = yield* sql`
              DELETE FROM share_links
              WHERE id = (SELECT id FROM ${linksOf(shared, yield* DateTime.nowAsDate)} AND id = ${link}) RETURNING id`
            if (rows.length === 0) return yield* new Missing({ kind: "link" })
            yield* audit.record("link.deleted", { userId: owner })
          },
          inTurn
        ),

        replaceShareToken: Effect.fnUntraced(
          function*<A, E>(owner: UserId, { id, kind }: Shared, read: Effect.Effect<A, E>) {
            const { alias, table } = SHARED[kind]
            const row = sql.literal(alias)
            // Exports identify a route by its first share token, which `imported_from` keeps.
            const rows = yield* sql`
              UPDATE ${sql(table)} ${row} SET share_token = ${yield* shareToken}, version = version + 1,
                updated_at = ${yield* DateTime.nowAsDate}, imported_from = coalesce(imported_from, share_token)
              WHERE ${row}.id = ${id} AND ${own[kind](owner)} RETURNING id`
            if (rows.length === 0) return yield* new Missing({ kind })
            yield* audit.record("share_token.replaced", { userId: owner })
            return yield* read
          },
          inTurn
        )
      })
    })
  )
}
