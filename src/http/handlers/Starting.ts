import { Duration, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Unavailable } from "../../schema/Errors.ts"
import { Api } from "../api/Api.ts"
import { templateOf } from "../request/RouteTemplates.ts"
import { noteCause, respond } from "../response/ErrorResponse.ts"

const notReady = () => Unavailable.retryAfter("The service is starting: it waits for the database", Duration.seconds(1))

const { live } = Api.groups.health.endpoints

const isForLive = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
  templateOf(method, url) === live.path && (method === live.method || method === "HEAD")

/** Responds to every request until the application is built: live, and not ready. */
export const startingLayer = HttpRouter.add(
  "*",
  "*",
  Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request) =>
      isForLive(request)
        ? Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" }))
        : Effect.andThen(noteCause("Starting"), respond(notReady()))
  )
)
