import { Cause, Config, Context, Effect, Layer, Predicate, Schema, SchemaAST } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, HttpApiError, HttpApiMiddleware } from "effect/http-api"
import { SqlError } from "effect/sql"
import {
  MethodNotAllowed,
  NotFound,
  PayloadTooLarge,
  ServiceError,
  Unavailable,
  ValidationFailed
} from "../../schema/Errors.ts"
import { inPart, issuesOf, MAX_ISSUES, summaryOf, type ValidationIssue } from "../../schema/Issues.ts"
import { NoFreeConnection } from "../../services/admission/ConnectionQueue.ts"
import {
  DatabaseReadOnly,
  isReadOnly,
  isServerState,
  sqlStateOf,
  UnknownCommit
} from "../../services/db/DatabaseErrors.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { headerName } from "../api/Headers.ts"
import { CommonFailures, NoParameters, TracedFaults } from "../api/Requests.ts"
import {
  endsInSlash,
  isExactPath,
  isOtherThanUtf8,
  meantPath,
  methodsAt,
  pathOf,
  shadowed,
  wantsPage
} from "../request/RouteTemplates.ts"
import {
  DATABASE_RETRY_AFTER,
  databaseUnavailable,
  internalError,
  isFault,
  noteCause,
  noteError,
  respond,
  unknownPath
} from "../response/ErrorResponse.ts"
import { isDomainError, publicError } from "../response/PublicErrors.ts"

const inHeader = ({ message, path }: ValidationIssue): ValidationIssue => ({ path: headerName(path), message })

/** A path whose parameters do not match the endpoint's schema gets 404, as an unknown path does. */
const noSuchResource = (cause: Schema.SchemaError) => {
  const issues = issuesOf(cause).map(inPart("path"))
  return new NotFound({ message: `No such resource: ${summaryOf(issues)}`, details: { issues } })
}

const isServiceError = Schema.is(ServiceError)

const takesSeveral = ({ query }: HttpApiEndpoint.Top, name: string) =>
  query !== undefined && SchemaAST.isObjects(query.ast)
  && query.ast.propertySignatures.some((parameter) => parameter.name === name && SchemaAST.isArrays(parameter.type))

/** The decoder only reports that two values of one parameter are no string. */
const refuseQuery = Effect.fnUntraced(function*(cause: Schema.SchemaError, endpoint: HttpApiEndpoint.Top) {
  const query = yield* HttpServerRequest.ParsedSearchParams
  const issues = issuesOf(cause).map(({ message, path }) => ({
    path,
    message: Array.isArray(query[path]) && !takesSeveral(endpoint, path) ? "Expected the parameter once" : message
  }))
  return yield* ValidationFailed.of("query", issues)
})

/** A response that does not match its schema is a defect. */
export const commonFailuresLayer = HttpApiMiddleware.layerSchemaErrorTransform(
  CommonFailures,
  (
    error,
    { endpoint }
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, ValidationFailed, HttpServerRequest.ParsedSearchParams> => {
    switch (error.kind) {
      case "Params":
        return respond(noSuchResource(error.cause))
      case "Body":
      case "ResponseHeaders":
        return Effect.die(error.cause)
      case "Headers":
        return Effect.fail(ValidationFailed.of("header", issuesOf(error.cause).map(inHeader)))
      case "Query":
        return refuseQuery(error.cause, endpoint)
      default:
        return Effect.fail(ValidationFailed.of("body", issuesOf(error.cause)))
    }
  }
)

const isBusy = Schema.is(NoFreeConnection)
const isUnknownCommit = Schema.is(UnknownCommit)

const takesNoWrites = () => Unavailable.retryAfter("The database takes no writes at the moment", DATABASE_RETRY_AFTER)

/** Maps the errors after which a retry may succeed. */
const fromSql = (error: SqlError.SqlError) => {
  const { reason } = error
  if (isReadOnly(error)) return takesNoWrites()
  switch (reason._tag) {
    case "ConnectionError":
      if (isUnknownCommit(reason.cause)) {
        return Unavailable.retryAfter(
          "The database did not confirm the change, which may be stored: repeat it with its Idempotency-Key, or read first",
          DATABASE_RETRY_AFTER
        )
      }
      return isBusy(reason.cause)
        ? Unavailable.retryAfter("The service is busy: try again", DATABASE_RETRY_AFTER)
        : Unavailable.retryAfter("The database is not reachable", DATABASE_RETRY_AFTER)
    case "StatementTimeoutError":
    case "LockTimeoutError":
    case "DeadlockError":
    case "SerializationError":
      return Unavailable.retryAfter("The database is busy: try again", DATABASE_RETRY_AFTER)
    default:
      // The server may refuse the role or the database of the service.
      return reason.operation === "connect" || isServerState(reason) ? databaseUnavailable() : undefined
  }
}

const fromHttpServer = (error: HttpServerError.HttpServerError) => {
  switch (error.reason._tag) {
    case "RequestParseError":
      return error.reason.reason === "BodyTooLarge"
        ? new PayloadTooLarge({ message: "The body is too large" })
        : ValidationFailed.at("body", "", "The request could not be read")
    default:
      return undefined
  }
}

const publicFailureOf = (failure: unknown): ServiceError | undefined => {
  if (HttpServerError.isHttpServerError(failure)) return fromHttpServer(failure)
  if (HttpApiError.HttpApiSchemaError.is(failure)) return undefined
  return SqlError.isSqlError(failure) ? fromSql(failure) : undefined
}

const failureOf = (cause: Cause.Cause<unknown>): unknown => {
  const reason = cause.reasons.find((reason) => reason._tag !== "Interrupt")
  if (reason === undefined) return undefined
  return reason._tag === "Fail" ? reason.error : reason.defect
}

const nameOf = (failure: unknown): string => {
  const cause = SqlError.isSqlError(failure) ? failure.reason.cause : failure
  if (Predicate.hasProperty(cause, "_tag")) return String(cause._tag)
  if (SqlError.isSqlError(failure)) return failure.reason._tag
  return failure instanceof Error ? failure.name : typeof failure
}

const noteFailure = (failure: unknown) =>
  Effect.map(RequestNotes, (notes) => {
    const cause = SqlError.isSqlError(failure) ? failure.reason.cause : undefined
    const sqlState = sqlStateOf(cause)
    notes.fault = {
      cause: nameOf(failure),
      ...isBusy(cause) ? { limit: "connections" } : {},
      ...sqlState === undefined ? {} : { sqlState }
    }
  })

const toServiceError = (failure: unknown): Effect.Effect<ServiceError | undefined> => {
  if (isServiceError(failure)) return Effect.succeed(failure)
  return isDomainError(failure) ? publicError(failure) : Effect.as(noteFailure(failure), publicFailureOf(failure))
}

const renderUnknown = Effect.fnUntraced(function*(cause: Cause.Cause<unknown>) {
  yield* Effect.logError("request failed", cause)
  return internalError()
})

/** nginx uses this status too; only logs and metrics have it. */
const CLIENT_CLOSED_REQUEST = 499

const isAbandoned = (cause: Cause.Cause<unknown>) =>
  cause.reasons.some(
    (reason) => reason._tag === "Interrupt" && reason.annotations.has(HttpServerError.ClientAbort.key)
  )

const shuttingDown = Effect.as(
  noteCause("Stopping"),
  new Unavailable({ message: "The service is shutting down" })
)

/** Logs causes without a public error, and maps them to `Internal`. */
export const serviceErrorOf = Effect.fnUntraced(function*(cause: Cause.Cause<unknown>) {
  const known = Cause.hasInterruptsOnly(cause) ? yield* shuttingDown : yield* toServiceError(failureOf(cause))
  return yield* noteError(known ?? (yield* renderUnknown(cause)))
})

const render = (cause: Cause.Cause<unknown>) =>
  isAbandoned(cause)
    ? Effect.succeed(HttpServerResponse.empty({ status: CLIENT_CLOSED_REQUEST }))
    : Effect.flatMap(serviceErrorOf(cause), respond)

/** These refusals depend on whether the database knows the credential. */
const BY_CREDENTIAL = new Set(["session_invalid", "token_unknown"])

/** A standby may lack what another stored as the new primary: a client would forget a resource or its credential. */
const isDoubtful = ({ details, statusCode }: ServiceError) =>
  statusCode === 404 || statusCode === 401 && BY_CREDENTIAL.has(details?.reason ?? "")

/** Returns the error of the response: a different one if a standby may have caused the given error. */
export const undoubted = (error: ServiceError, isReadOnly: Effect.Effect<boolean>, wasReadOnly: boolean) =>
  isDoubtful(error)
    ? Effect.flatMap(
      isReadOnly,
      (isStill) =>
        wasReadOnly || isStill ? Effect.as(noteCause("DatabaseReadOnly"), takesNoWrites()) : Effect.succeed(error)
    )
    : Effect.succeed(error)

/** The framework would encode declared 5xx errors without a trace id. */
export const tracedFaultsLayer = Layer.effect(
  TracedFaults,
  Effect.map(
    DatabaseReadOnly,
    (isReadOnly) => (httpEffect) =>
      Effect.flatMap(isReadOnly, (wasReadOnly) =>
        httpEffect.pipe(Effect.catch((error) =>
          isServiceError(error)
            ? Effect.flatMap(
              undoubted(error, isReadOnly, wasReadOnly),
              (certain) => isFault(certain) ? respond(certain) : Effect.andThen(noteError(error), Effect.fail(error))
            )
            : Effect.fail(error)
        )))
  )
)

const isRouteNotFound = (failure: unknown) =>
  HttpServerError.isHttpServerError(failure) && failure.reason._tag === "RouteNotFound"

/** A path that has other methods responds with 405 (RFC 9110, 15.5.6). */
const notRouted = (method: string, allowed: ReadonlyArray<string>, meant: string | undefined) =>
  allowed.length === 0 || allowed.includes(method)
    ? unknownPath(meant)
    : new MethodNotAllowed({
      message: `Expected one of the methods ${allowed.join(", ")}`,
      details: { allowed: [...allowed] }
    })

const isOfApi = (part: string) => part === "api"

/** Covers errors of the router and the body reader, and defects. */
export const errorShapeLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const isOn = yield* Config.all({
      api: Config.succeed(true),
      docs: settings.API_DOCS_ENABLED,
      pages: settings.PAGES_ENABLED
    })
    const isPart = (part: keyof typeof isOn) => isOn[part]
    const refuse = Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ method, url }) => respond(notRouted(method, methodsAt(url, isPart), meantPath(url, isPart)))
    )
    return (httpEffect) =>
      Effect.catchCause(httpEffect, (cause) => {
        if (cause.reasons.length === 0) return Effect.failCause(cause)
        return isRouteNotFound(failureOf(cause)) ? refuse : render(cause)
      })
  }),
  { global: true }
)

/** Replaces the path by an unknown one of the same depth, so that a browser gets the page of unknown paths. */
const nowhere = (request: HttpServerRequest.HttpServerRequest) =>
  request.modify({ url: "/_".repeat(pathOf(request.url).split("/").length - 1) })

const otherThanUtf8 = ValidationFailed.at("query", "", "Expected UTF-8, percent-encoded")

export const exactPathsLayer = HttpRouter.middleware(
  (httpEffect) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) => {
        const { url } = request
        // The router would take the slash at the end of a list for a resource without an id.
        if (isExactPath(url) && !endsInSlash(url)) return isOtherThanUtf8(url) ? respond(otherThanUtf8) : httpEffect
        return wantsPage(request)
          ? Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, nowhere(request))
          : respond(unknownPath(isExactPath(url) ? meantPath(url, isOfApi) : undefined))
      }
    ),
  { global: true }
)

/** The router would take `PATCH /routes/public` for the change of a route named `public`. */
export const shadowedPathsLayer = Layer.mergeAll(
  Layer.empty,
  ...shadowed.map(({ method, path }) =>
    HttpRouter.add(method, path, respond(notRouted(method, methodsAt(path, isOfApi), undefined)))
  )
)

/** These violations of HTTP are checked before the path, such as a second `Host` header. */
export const TransportRules = Context.Reference<
  (request: HttpServerRequest.HttpServerRequest) => ServiceError | undefined
>("route-planning-service/TransportRules", { defaultValue: () => () => undefined })

export const Refusal = Context.Reference<ServiceError | undefined>("route-planning-service/Refusal", {
  defaultValue: () => undefined
})

/** Closes the connection: the bytes after such a request cannot be trusted. */
const closing = (error: ServiceError) => Effect.map(respond(error), HttpServerResponse.setHeader("connection", "close"))

export const refusalLayer = HttpRouter.middleware(
  (httpEffect) => Effect.flatMap(Refusal, (error) => error === undefined ? httpEffect : closing(error)),
  { global: true }
)

export const refuseParameters = Effect.flatMap(HttpServerRequest.ParsedSearchParams, (query) => {
  const issues = Object.keys(query).map((path) => ({ path, message: "Unknown parameter: Expected none" }))
  return issues.length === 0 ? Effect.void : Effect.fail(ValidationFailed.of("query", issues.slice(0, MAX_ISSUES)))
})

/** An ignored parameter may be a misspelt one: an ignored `dryRun` would import. */
export const noParametersLayer = Layer.succeed(
  NoParameters,
  (httpEffect, { endpoint }) => endpoint.query === undefined ? Effect.andThen(refuseParameters, httpEffect) : httpEffect
)
