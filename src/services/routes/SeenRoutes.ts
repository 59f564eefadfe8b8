import { Duration, Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { VersionColumn } from "../../schema/Columns.ts"
import { Missing } from "../../schema/DomainErrors.ts"
import { Unavailable } from "../../schema/Errors.ts"
import { GeometryForm } from "../../schema/Geometry.ts"
import type { DatabaseError } from "../sql/DatabaseDefects.ts"
import { routeVisibility } from "../visibility/Visibility.ts"
import { asSeenBy, RouteRow, seenColumns } from "./RouteRows.ts"
import { RouteViews } from "./RouteViews.ts"

const Request = Schema.Struct({
  ref: Schema.Union([Schema.String, Schema.Finite]),
  viewer: Schema.Finite,
  form: GeometryForm
})

/** `cutRevision` where a privacy zone cuts the route for the viewer. */
const SeenRow = Schema.Struct({
  ...RouteRow.fields,
  cutRevision: Schema.NullOr(VersionColumn),
  isDue: Schema.Boolean
})

const MAX_TRIES = 3

const RETRY_AFTER = Duration.seconds(1)

/** Reads a route as a viewer may see it, whose view is made first where it has none. */
export const seenRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews
  const { visibleBy } = routeVisibility(sql)

  const find = SqlSchema.findOneOption({
    Request,
    Result: SeenRow,
    execute: ({ form, ref, viewer }) =>
      sql`
        SELECT ${sql.literal(seenColumns(form))} FROM routes r JOIN users u ON u.id = r.user_id ${asSeenBy(sql, viewer)}
        WHERE ${visibleBy(ref, viewer)}`
  })

  // What is changed while its view is made has to be made again.
  const seen = (
    request: typeof Request.Type,
    tries = MAX_TRIES
  ): Effect.Effect<typeof SeenRow.Type, Missing | Unavailable | DatabaseError> =>
    Effect.gen(function*() {
      const row = yield* find(request)
      if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
      if (!row.value.isDue) return row.value
      if (tries === 0) return yield* Unavailable.retryAfter("The route is being changed: try again", RETRY_AFTER)
      yield* views.make(row.value.id)
      return yield* seen(request, tries - 1)
    })

  return seen
})
