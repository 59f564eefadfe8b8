import { Context, Effect, Layer, Scope } from "effect"
import type { AddressLimit, TokensRefused } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import type {
  AdminAuthentication,
  CallerAuthentication,
  OptionalAuthentication,
  SessionAuthentication,
  StaleCookie
} from "../api/Authentication.ts"
import type {
  CommonFailures,
  Deadline,
  JsonBody,
  NoParameters,
  RoomForWrites,
  SameSite,
  TracedFaults
} from "../api/Requests.ts"

type Middleware =
  | AddressLimit
  | AdminAuthentication
  | CallerAuthentication
  | CommonFailures
  | Deadline
  | JsonBody
  | NoParameters
  | OptionalAuthentication
  | RoomForWrites
  | SameSite
  | SessionAuthentication
  | StaleCookie
  | TokensRefused
  | TracedFaults

type Group = keyof typeof Api.groups

/** The keys of the middleware of its endpoints. */
const middlewareOf = (group: Group) =>
  Object.values(Api.groups[group].endpoints).flatMap(({ middlewares }) => [...middlewares].map(({ key }) => key))

const restrictedTo = (keys: ReadonlySet<string>) => <S>(context: Context.Context<S>) =>
  Context.makeUnsafe<S>(new Map([...context.mapUnsafe].filter(([key]) => keys.has(key))))

/**
 * Builds a group of handlers that have taken what they need in a context of its middleware alone, which Effect merges into
 * that of each request (decision 0015). One that asks for another service while it runs does not compile.
 */
export const handlersOf = <A, E, R>(group: Group, handlers: Effect.Effect<Layer.Layer<A, never, Middleware>, E, R>) => {
  const needed = restrictedTo(new Set([Scope.Scope.key, ...middlewareOf(group)]))
  return Layer.unwrap(
    Effect.map(handlers, (layer) =>
      Layer.effectContext(
        Effect.updateContext(
          Layer.build(layer),
          (context: Context.Context<Middleware | Scope.Scope>) => needed(context)
        )
      ))
  )
}
