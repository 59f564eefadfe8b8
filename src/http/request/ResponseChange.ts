import { Effect } from "effect"
import { HttpEffect, type HttpServerResponse } from "effect/http"

type Change = (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse

/** Changes the response of the request, whatever makes it. */
export const changeResponse = (change: Change) =>
  HttpEffect.appendPreResponseHandler((_request, response) => Effect.succeed(change(response)))
