import { Duration, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { VersionColumn } from "../../schema/Columns.ts"
import { Missing, Overloaded } from "../../schema/DomainErrors.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { RouteRef } from "../../schema/Ids.ts"
import type { DatabaseError } from "../sql/DatabaseDefects.ts"
import { firstOpened, OpenedFields, routeVisibility } from "../visibility/Visibility.ts"
import { asSeenBy, RouteRow, seenColumns } from "./RouteRows.ts"
import { RouteViews } from "./RouteViews.ts"

interface Request {
  readonly ref: RouteRef
  readonly viewer: number
  readonly now: Date
  readonly form: GeometryForm
}

/** `cutRevision` where a privacy zone cuts the route for the viewer. */
const SeenRow = Schema.Struct({
  ...RouteRow.fields,
  ...OpenedFields,
  cutRevision: Schema.NullOr(VersionColumn),
  isDue: Schema.Boolean
})

const decodeRow = Schema.decodeUnknownEffect(SeenRow)

const MAX_TRIES = 3

const RETRY_AFTER = Duration.seconds(1)

/** Reads a route as a viewer may see it, whose view is made first where it has none. */
export const seenRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews
  const { selectOpened } = routeVisibility(sql)
  const columns = (form: GeometryForm) => sql.literal(seenColumns(form))

  const find = Effect.fnUntraced(function*({ form, now, ref, viewer }: Request) {
    const joined = asSeenBy(sql, viewer)
    const [row] = yield* firstOpened(ref, (opening) => selectOpened(columns(form), opening, { viewer, now }, joined))
    return row === undefined ? Option.none() : Option.some(yield* decodeRow(row))
  })

  // What is changed while its view is made has to be made again.
  const seen = (
    request: Request,
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
