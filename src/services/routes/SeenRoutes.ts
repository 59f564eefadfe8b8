import { Duration, Effect, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { GeometryForm } from "../../schema/Geometry.ts"
import type { RouteRef } from "../../schema/Ids.ts"
import type { DatabaseError } from "../db/DatabaseErrors.ts"
import { gatheredRead } from "../db/GatheredReads.ts"
import { Missing, Overloaded } from "../DomainErrors.ts"
import { firstOpened, OpenedFields, type Opening, type OpeningColumn, routeVisibility } from "../sharing/Visibility.ts"
import { asSeenBy, byForm, RouteRow, seenColumns, shortSeenColumns } from "./RouteRows.ts"
import { RouteViews } from "./RouteViews.ts"

interface Request {
  readonly ref: RouteRef
  readonly viewer: number
  readonly now: Date
  readonly form: GeometryForm
}

/** `cutRevision` is set if a privacy zone cuts the route for the viewer. */
const SeenRow = Schema.Struct({
  ...RouteRow.fields,
  ...OpenedFields,
  cutRevision: Schema.NullOr(Schema.Int),
  isDue: Schema.Boolean
})

const ShortRow = Schema.Struct({ ...SeenRow.fields, isLong: Schema.Boolean })

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(SeenRow))

const MAX_TRIES = 3

const RETRY_AFTER = Duration.seconds(1)

/** Reads a route as a viewer may see it. Its view is made first if there is none. */
export const seenRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews
  const { selectOpened } = routeVisibility(sql)

  const select = (columns: string, opening: Opening | OpeningColumn, viewer: number | Statement.Fragment) =>
    selectOpened(sql.literal(columns), opening, viewer, asSeenBy(sql, viewer))

  const shortBy = <const T extends { readonly id: "bigint" } | { readonly token: "text" }>(
    key: T,
    opening: OpeningColumn
  ) =>
    byForm((form) =>
      gatheredRead(sql, {
        key: { ...key, viewer: "bigint" },
        select: select(shortSeenColumns(form), opening, sql.literal("k.viewer")),
        Result: ShortRow
      })
    )

  const shortById = shortBy({ id: "bigint" }, { by: "id", id: sql.literal("k.id") })
  const shortByToken = shortBy({ token: "text" }, { by: "shareToken", token: sql.literal("k.token") })

  const short = (opening: Exclude<Opening, { readonly by: "link" }>, { form, viewer }: Request) =>
    opening.by === "id"
      ? shortById[form]({ id: opening.id, viewer })
      : shortByToken[form]({ token: opening.token, viewer })

  const opened = Effect.fnUntraced(function*(opening: Opening, request: Request) {
    if (opening.by !== "link") {
      const row = yield* short(opening, request)
      if (Option.isNone(row)) return []
      if (!row.value.isLong) return [row.value]
    }
    return yield* decodeRows(yield* select(seenColumns(request.form), opening, request.viewer))
  })

  const find = (request: Request) =>
    Effect.map(
      firstOpened(request.ref, request.now, (opening) => opened(opening, request)),
      (rows) => Option.fromUndefinedOr(rows[0])
    )

  // A route that changes while its view is made needs another view.
  const seen: (
    request: Request,
    tries?: number
  ) => Effect.Effect<typeof SeenRow.Type, Missing | Overloaded | DatabaseError> = Effect.fnUntraced(function*(
    request,
    tries = MAX_TRIES
  ) {
    const row = yield* find(request)
    if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
    if (!row.value.isDue) return row.value
    if (tries === 0) return yield* Overloaded.retryAfter("route_changes", RETRY_AFTER)
    yield* views.make(row.value.id)
    return yield* seen(request, tries - 1)
  })

  return seen
})
