import { Duration, Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { VersionColumn } from "../../schema/Columns.ts"
import { Missing, Overloaded } from "../../schema/DomainErrors.ts"
import { GeometryForm } from "../../schema/Geometry.ts"
import type { DatabaseError } from "../sql/DatabaseDefects.ts"
import { openedColumns, OpenedFields, routeVisibility } from "../visibility/Visibility.ts"
import { asSeenBy, RouteRow, seenColumns } from "./RouteRows.ts"
import { RouteViews } from "./RouteViews.ts"

const Request = Schema.Struct({
  ref: Schema.Union([Schema.String, Schema.Finite]),
  viewer: Schema.Finite,
  now: Schema.Date,
  form: GeometryForm
})

/** `cutRevision` where a privacy zone cuts the route for the viewer. */
const SeenRow = Schema.Struct({
  ...RouteRow.fields,
  ...OpenedFields,
  cutRevision: Schema.NullOr(VersionColumn),
  isDue: Schema.Boolean
})

const MAX_TRIES = 3

const RETRY_AFTER = Duration.seconds(1)

/** Reads a route as a viewer may see it, whose view is made first where it has none. */
export const seenRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews
  const { openedBy } = routeVisibility(sql)

  const find = SqlSchema.findOneOption({
    Request,
    Result: SeenRow,
    execute: ({ form, now, ref, viewer }) =>
      sql`
        SELECT ${sql.literal(seenColumns(form))}, ${sql.literal(openedColumns)}
        FROM ${openedBy(ref, viewer, now, asSeenBy(sql, viewer))}`
  })

  // What is changed while its view is made has to be made again.
  const seen = (
    request: typeof Request.Type,
    tries = MAX_TRIES
  ): Effect.Effect<typeof SeenRow.Type, Missing | Overloaded | DatabaseError> =>
    Effect.gen(function*() {
      const row = yield* find(request)
      if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
      if (!row.value.isDue) return row.value
      if (tries === 0) return yield* Overloaded.retryAfter("route_changes", RETRY_AFTER)
      yield* views.make(row.value.id)
      return yield* seen(request, tries - 1)
    })

  return seen
})
