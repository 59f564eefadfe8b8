import { HttpApi, OpenApi } from "effect/http-api"
import { AccountDataApi } from "./AccountDataApi.ts"
import { AuthApi } from "./AuthApi.ts"
import { CollectionsApi } from "./CollectionsApi.ts"
import { FilesApi } from "./FilesApi.ts"
import { HealthApi } from "./HealthApi.ts"
import { CommonFailures, Deadline } from "./Requests.ts"
import { RoutesApi } from "./RoutesApi.ts"
import { RoutingApi } from "./RoutingApi.ts"
import { SessionsApi } from "./SessionsApi.ts"
import { TokensApi } from "./TokensApi.ts"
import { UsersApi } from "./UsersApi.ts"

/** The contract: what clients may import without a line of the server. */
export class Api extends HttpApi.make("route-planning-service")
  .add(AuthApi, TokensApi, SessionsApi, UsersApi, AccountDataApi, RoutesApi, FilesApi, CollectionsApi, RoutingApi)
  .prefix("/api/v1")
  .add(HealthApi)
  .middleware(CommonFailures)
  .middleware(Deadline)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(OpenApi.annotations({
    title: "Route Planning Service",
    version: "1",
    description:
      "Planned routes: store them, share them. Distances are in metres, durations in seconds, coordinates are "
      + "[longitude, latitude] in degrees (WGS 84)."
  }))
{}
