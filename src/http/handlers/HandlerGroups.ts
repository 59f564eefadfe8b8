import { Context, Effect, Layer, Scope } from "effect"
import { AddressLimit, TokensRefused } from "../api/Access.ts"
import {
  AdminAuthentication,
  CallerAuthentication,
  OptionalAuthentication,
  SessionAuthentication,
  StaleCookie
} from "../api/Authentication.ts"
import { CommonFailures, Deadline, JsonBody, RoomForWrites, SameSite, TracedFaults } from "../api/Requests.ts"

const MIDDLEWARE = [
  AddressLimit,
  AdminAuthentication,
  CallerAuthentication,
  CommonFailures,
  Deadline,
  JsonBody,
  OptionalAuthentication,
  RoomForWrites,
  SameSite,
  SessionAuthentication,
  StaleCookie,
  TokensRefused,
  TracedFaults
] as const

type Middleware = Context.Service.Identifier<(typeof MIDDLEWARE)[number]>

const middlewareOf = (context: Context.Context<Middleware | Scope.Scope>) =>
  Context.pick(Scope.Scope, ...MIDDLEWARE)(context)

/**
 * Builds a group of handlers that have taken what they need in a context of the middleware alone, which Effect merges into
 * that of each request (decision 0015). One that asks for another service while it runs does not compile.
 */
export const handlersOf = <A, E, R>(group: Effect.Effect<Layer.Layer<A, never, Middleware>, E, R>) =>
  Layer.unwrap(
    Effect.map(group, (layer) => Layer.effectContext(Effect.updateContext(Layer.build(layer), middlewareOf)))
  )
