import { HttpApi, OpenApi } from "effect/http-api"
import manifest from "../../../package.json" with { type: "json" }
import { grouped, JSON_LIMITS } from "../../schema/Limits.ts"
import { SERVICE_NAME, SERVICE_TITLE } from "../../schema/ServiceName.ts"
import { AccountDataApi } from "./AccountDataApi.ts"
import { AdminApi } from "./AdminApi.ts"
import { AuthApi } from "./AuthApi.ts"
import { CollectionsApi } from "./CollectionsApi.ts"
import { FilesApi } from "./FilesApi.ts"
import { HealthApi } from "./HealthApi.ts"
import { LinksApi } from "./LinksApi.ts"
import { MetricsApi } from "./MetricsApi.ts"
import { PicturesApi } from "./PicturesApi.ts"
import { CommonFailures, Deadline, TracedFaults } from "./Requests.ts"
import { RoutesApi } from "./RoutesApi.ts"
import { RoutingApi } from "./RoutingApi.ts"
import { SessionsApi } from "./SessionsApi.ts"
import { SyncApi } from "./SyncApi.ts"
import { CredentialApi, TokensApi } from "./TokensApi.ts"
import { UsersApi } from "./UsersApi.ts"

/** Clients can import the contract without server code. */
export class Api extends HttpApi.make(SERVICE_NAME)
  .add(
    AuthApi,
    TokensApi,
    SessionsApi,
    CredentialApi,
    UsersApi,
    AccountDataApi,
    RoutesApi,
    FilesApi,
    PicturesApi,
    CollectionsApi,
    LinksApi,
    RoutingApi,
    SyncApi
  )
  .add(AdminApi)
  .prefix("/api/v1")
  .add(HealthApi, MetricsApi)
  .middleware(CommonFailures)
  .middleware(Deadline)
  .middleware(TracedFaults)
  .annotate(HttpApi.QueryParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotate(HttpApi.HeadersParseOptions, { errors: "all" })
  .annotateMerge(OpenApi.annotations({
    title: SERVICE_TITLE,
    version: manifest.version,
    license: { name: "MIT", identifier: "MIT" },
    servers: [{ url: "/", description: "This service" }],
    description:
      "Planned routes: store them, share them. Distances are in metres, durations in seconds, coordinates are "
      + "[longitude, latitude] in degrees (WGS 84), with the elevation in metres behind them where there is one. "
      + "Instants are ISO 8601 in UTC. Members that a body's schema does not name are ignored; a query parameter that the endpoint "
      + "does not name is 400. A body has "
      + `at most ${JSON_LIMITS.depth} levels, ${grouped(JSON_LIMITS.members)} members in one object, and in all `
      + `${
        grouped(JSON_LIMITS.spareValues)
      } values more than its schema has room for, whichever members they are in.\n\n`
      + "Every error has one shape: `statusCode`, a stable `code`, a `message` for people, and `details`. An "
      + "unknown path is 404, and a method that a path does not have is 405 with `Allow`.\n\n"
      + "Browsers have a session by its cookie. Others send `Authorization: Bearer` with the session's JWT, or with a "
      + "personal access token; what such a token must confirm takes `X-Service-Confirm: true`, and is 428 without. "
      + "Scripts of any origin may read what comes without a cookie. Of an origin that the operator has not listed, a "
      + "cookie is ignored by a read and refused by a write."
  }))
{}
