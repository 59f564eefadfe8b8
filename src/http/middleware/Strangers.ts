import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { isSafe } from "../../schema/Http.ts"
import { IsStranger } from "../../services/db/ReadReplicas.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { SESSION_COOKIE } from "../api/Access.ts"

const isFromStranger = ({ cookies, headers, method }: HttpServerRequest.HttpServerRequest) =>
  isSafe(method) && headers["authorization"] === undefined && cookies[SESSION_COOKIE] === undefined

/** Reads without a credential, valid or not, may be served by read replicas. */
export const strangersLayer = Layer.unwrap(
  Effect.map(settings.DATABASE_READ_URL, (urls) =>
    Option.isNone(urls)
      ? Layer.empty
      : HttpRouter.middleware(
        (httpEffect) =>
          Effect.flatMap(
            HttpServerRequest.HttpServerRequest,
            (request) => Effect.provideService(httpEffect, IsStranger, isFromStranger(request))
          ),
        { global: true }
      ))
)
