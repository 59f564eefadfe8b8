import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Metrics } from "../../services/operations/Metrics.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { Api } from "../api/Api.ts"
import { CrossSite } from "../middleware/CrossSite.ts"
import { refuseParameters } from "../middleware/ErrorShape.ts"
import { isInside } from "../request/ClientAddress.ts"
import { unknownPath } from "../response/ErrorResponse.ts"
import { worded } from "../response/PublicErrors.ts"

export const MetricsHandlers = HttpApiBuilder.group(
  Api,
  "metrics",
  Effect.fn(function*(handlers) {
    const metrics = yield* Metrics
    const networks = yield* settings.METRICS_ALLOWED_CIDRS
    const crossSite = yield* CrossSite
    return handlers.handle(
      "metrics",
      Effect.fnUntraced(function*({ request }) {
        // A page of another site could send the request from inside the networks, where the browser is.
        if (!isInside(request, networks) || crossSite.isForeignRead(request)) return yield* unknownPath()
        yield* refuseParameters
        return yield* worded(metrics.text)
      })
    )
  })
)
