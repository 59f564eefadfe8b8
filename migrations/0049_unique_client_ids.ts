import { Effect } from "effect"
import { builtBesideRequests } from "./steps.ts"

/** Databases of later versions have these indexes already. */
export default Effect.forEach(
  ["routes", "collections"],
  (table) => builtBesideRequests(`${table}_client_key`, `${table} (user_id, client_id) WHERE client_id IS NOT NULL`),
  { discard: true }
)
