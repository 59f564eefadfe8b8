import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
DECLARE
  tiny bigint[] := (
    SELECT array_agg(id) FROM routes WHERE EXISTS (
      SELECT FROM unnest(ARRAY[(bounds[0])[0], (bounds[0])[1], (bounds[1])[0], (bounds[1])[1]]) AS side
      WHERE side <> 0 AND abs(side) < 1e-12
    )
  );
BEGIN
  IF tiny IS NULL THEN
    RETURN;
  END IF;
  DROP INDEX routes_bounds_idx;
  UPDATE routes SET bounds = (
    SELECT box(point(sides[1], sides[2]), point(sides[3], sides[4])) FROM (
      SELECT array_agg(CASE WHEN abs(side) < 1e-12 THEN 0 ELSE side END ORDER BY place) AS sides
      FROM unnest(ARRAY[(bounds[0])[0], (bounds[0])[1], (bounds[1])[0], (bounds[1])[1]]) WITH ORDINALITY AS given(side, place)
    ) snapped
  ) WHERE id = ANY (tiny);
END`

/**
 * The index of boxes multiplies their sides, and refuses each new box once the products of its own are below the least
 * double. Where there are such boxes the next migration builds it again, once they are gone.
 */
export default SqlClient.SqlClient.use((sql) => Effect.asVoid(sql.unsafe(`DO $step$ ${STEP} $step$`)))
