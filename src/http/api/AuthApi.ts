import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { BadGateway, Conflict, Forbidden, GatewayTimeout, Unauthorized } from "../../schema/Errors.ts"
import { oneOfMembers, optionalMember } from "../../schema/Optional.ts"
import { isCodePointLength, WellFormedString } from "../../schema/Text.ts"
import { DisplayName, Email, MailedToken, NewEmail, NewPassword, PasswordAttempt, User } from "../../schema/User.ts"
import { AddressLimit, Tier, TokensRefused } from "./Access.ts"
import { HEADERS, OwnHeaders } from "./Headers.ts"
import { JsonBody, NoParameters, SameSite } from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/AuthTexts.ts"

const Secret = Schema.RedactedFromValue(WellFormedString.check(isCodePointLength(1, 8192)))

/** `accessToken` is also the value of the session cookie. */
const SignIn = Schema.Struct({ accessToken: Schema.String, user: User }).annotate({ identifier: "SignIn" })

/** `code` is of the popup flow, `credential` of One Tap. */
const ProviderCredential = Schema.Struct({
  code: optionalMember(Secret),
  idToken: optionalMember(Secret),
  credential: optionalMember(Secret)
}).check(
  Schema.makeFilter(
    ({ code, credential, idToken }) =>
      [code, credential, idToken].filter((value) => value !== undefined).length === 1
      || "Expected exactly one of code, idToken and credential",
    { toJsonSchema: () => oneOfMembers("code", "idToken", "credential") }
  )
).annotate({ identifier: "ProviderCredential" })

const providerErrors = [Unauthorized, Forbidden, Conflict, BadGateway, GatewayTimeout]

export class AuthApi extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.post("google", "/google", {
      payload: ProviderCredential,
      success: SignIn,
      error: providerErrors
    })
      .annotate(Tier, "auth")
      .annotateMerge(texts.google),
    HttpApiEndpoint.post("signUp", "/signup-email", {
      payload: Schema.Struct({
        email: NewEmail,
        password: Schema.RedactedFromValue(NewPassword),
        name: Schema.optionalKey(Schema.NullOr(DisplayName))
      }).annotate({ identifier: "AccountInput" }),
      success: Success.pipe(HttpApiSchema.status("Created")),
      error: Forbidden
    })
      .annotate(Tier, "auth")
      .annotateMerge(texts.signUp),
    HttpApiEndpoint.post("verifyEmail", "/verify-email", {
      payload: Schema.Struct({
        token: Schema.RedactedFromValue(MailedToken),
        password: optionalMember(Schema.RedactedFromValue(PasswordAttempt))
      }).annotate({ identifier: "EmailProof" }),
      success: SignIn,
      error: [Forbidden, Conflict]
    })
      .annotate(Tier, "auth")
      .annotateMerge(texts.verifyEmail),
    HttpApiEndpoint.post("logIn", "/login-email", {
      payload: Schema.Struct({ email: Email, password: Schema.RedactedFromValue(PasswordAttempt) }).annotate({
        identifier: "EmailSignIn"
      }),
      success: SignIn,
      error: [Unauthorized, Forbidden]
    })
      .annotate(Tier, "auth")
      .annotateMerge(texts.logIn),
    HttpApiEndpoint.post("requestPasswordReset", "/request-password-reset", {
      payload: Schema.Struct({ email: Email }).annotate({ identifier: "ResetRequest" }),
      success: Success
    })
      .annotate(Tier, "auth")
      .annotateMerge(texts.requestPasswordReset),
    HttpApiEndpoint.post("resetPassword", "/reset-password", {
      payload: Schema.Struct({
        token: Schema.RedactedFromValue(MailedToken),
        password: Schema.RedactedFromValue(NewPassword)
      }).annotate({ identifier: "PasswordReset" }),
      success: Success,
      error: Forbidden
    })
      .annotate(Tier, "auth")
      .annotateMerge(texts.resetPassword),
    HttpApiEndpoint.post("logOut", "/logout", { success: Success })
      .annotate(OwnHeaders, [HEADERS.setCookie.name])
      .annotateMerge(texts.logOut)
      .annotate(
        OpenApi.Override,
        { security: [{}, { sessionCookie: [] }, { sessionToken: [] }] }
      )
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(TokensRefused)
  .middleware(SameSite)
  .middleware(AddressLimit)
  .prefix("/auth")
  .annotateMerge(texts.group)
{}
