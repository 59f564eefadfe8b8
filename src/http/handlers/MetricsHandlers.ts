import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { Metrics } from "../../services/metrics/Metrics.ts"
import { Api } from "../api/Api.ts"
import { insideNetworks, isInside } from "../Inside.ts"

/** What any unknown path is answered with. */
const unknown = () => new NotFound({ message: "No such path" })

export const MetricsHandlers = HttpApiBuilder.group(
  Api,
  "metrics",
  Effect.fn(function*(handlers) {
    const metrics = yield* Metrics
    const networks = yield* insideNetworks
    return handlers.handle(
      "metrics",
      Effect.fnUntraced(function*({ request }) {
        if (!isInside(request, networks)) return yield* unknown()
        return yield* metrics.text
      })
    )
  })
)
