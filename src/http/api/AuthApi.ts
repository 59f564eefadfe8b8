import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Forbidden, Unauthorized } from "../../schema/Errors.ts"
import { DisplayName, Email, MailedToken, NewPassword, PasswordAttempt, User } from "../../schema/User.ts"
import { JsonBody, SameSite } from "./Requests.ts"
import { Success } from "./Success.ts"

/** `accessToken` is the JWT that the session cookie carries too. */
const SignIn = Schema.Struct({ accessToken: Schema.String, user: User })

export class AuthApi extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.post("signUp", "/signup-email", {
      payload: Schema.Struct({
        email: Email,
        password: Schema.RedactedFromValue(NewPassword),
        name: Schema.optionalKey(Schema.NullOr(DisplayName))
      }),
      success: Success.pipe(HttpApiSchema.status("Created"))
    }).annotate(
      OpenApi.Description,
      "Registers an account and mails a verification link, good for 24 hours. The answer is the same for an address "
        + "that has an account already; its owner is told by mail."
    ),
    HttpApiEndpoint.post("verifyEmail", "/verify-email", {
      payload: Schema.Struct({ token: Schema.RedactedFromValue(MailedToken) }),
      success: SignIn
    }).annotate(OpenApi.Description, "Uses a verification link's token up and signs in."),
    HttpApiEndpoint.post("logIn", "/login-email", {
      payload: Schema.Struct({ email: Email, password: Schema.RedactedFromValue(PasswordAttempt) }),
      success: SignIn,
      error: [Unauthorized, Forbidden]
    }).annotate(OpenApi.Description, "Signs in by email and password; sets the session cookie."),
    HttpApiEndpoint.post("logOut", "/logout", { success: Success }).annotate(
      OpenApi.Description,
      "Ends the session, if there is one, and clears the cookie."
    )
  )
  .middleware(JsonBody)
  .middleware(SameSite)
  .prefix("/auth")
  .annotate(OpenApi.Description, "Sign-up and sign-in.")
{}
