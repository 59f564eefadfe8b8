import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { BadGateway, Conflict, Forbidden, GatewayTimeout, Unauthorized } from "../../schema/Errors.ts"
import { inWords, LINK_LIFETIME, MAIL_LIMIT, UNPROVEN_LIFETIME } from "../../schema/Limits.ts"
import { oneOfMembers, optionalMember } from "../../schema/Optional.ts"
import { isCodePointLength, WellFormedString } from "../../schema/Text.ts"
import { DisplayName, Email, MailedToken, NewPassword, PasswordAttempt, User } from "../../schema/User.ts"
import { AddressLimit, Tier, TokensRefused } from "./Access.ts"
import { JsonBody, SameSite } from "./Requests.ts"
import { Success } from "./Success.ts"

const Secret = Schema.RedactedFromValue(WellFormedString.check(isCodePointLength(1, 8192)))

/** `accessToken` is the JWT that the session cookie carries too. */
const SignIn = Schema.Struct({ accessToken: Schema.String, user: User }).annotate({ identifier: "SignIn" })

/** One of the three: an authorization code of the popup flow, an ID token, or the field that one-tap posts. */
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
    }).annotate(Tier, "auth").annotate(OpenApi.Summary, "Sign in by the identity provider").annotate(
      OpenApi.Description,
      "Signs in by the identity provider; makes an account at the first sign-in. An account with the same proven email "
        + "address is linked. An ID token may be sent again until it expires, an authorization code once. Sets the session "
        + "cookie. 403 with the reason `signup_disabled` at a first sign-in without an invitation where sign-up is "
        + "closed, and `provider_sign_in_disabled` where this sign-in is switched off."
    ),
    HttpApiEndpoint.post("signUp", "/signup-email", {
      payload: Schema.Struct({
        email: Email,
        password: Schema.RedactedFromValue(NewPassword),
        name: Schema.optionalKey(Schema.NullOr(DisplayName))
      }).annotate({ identifier: "AccountInput" }),
      success: Success.pipe(HttpApiSchema.status("Created")),
      error: Forbidden
    }).annotate(Tier, "auth").annotate(OpenApi.Summary, "Sign up by email").annotate(
      OpenApi.Description,
      `Mails a verification link, which expires after ${
        inWords(LINK_LIFETIME["verify-email"])
      }; the account is made when the link is used, with the name, `
        + "the password and the spelling of the address of its own sign-up, and until then has no profile and no handle. The "
        + "response is the same for an address that has an account already; its owner gets a mail that says so. A sign-up "
        + `whose address nobody proves is deleted after ${
          inWords(UNPROVEN_LIFETIME)
        }. One address gets ${MAIL_LIMIT} at most. A `
        + "password of 12 to 1,024 characters is accepted, unless the operator asks for a strength: then a common one, and "
        + "one that contains the email address or name, is refused."
    ),
    HttpApiEndpoint.post("verifyEmail", "/verify-email", {
      payload: Schema.Struct({ token: Schema.RedactedFromValue(MailedToken) }).annotate({ identifier: "EmailProof" }),
      success: SignIn,
      error: Forbidden
    }).annotate(Tier, "auth").annotate(OpenApi.Summary, "Prove an email address").annotate(
      OpenApi.Description,
      "Consumes the token of a verification link: makes the account, ends every other sign-up of the address, and signs in."
    ),
    HttpApiEndpoint.post("logIn", "/login-email", {
      payload: Schema.Struct({ email: Email, password: Schema.RedactedFromValue(PasswordAttempt) }).annotate({
        identifier: "EmailSignIn"
      }),
      success: SignIn,
      error: [Unauthorized, Forbidden]
    }).annotate(Tier, "auth").annotate(OpenApi.Summary, "Sign in by email").annotate(
      OpenApi.Description,
      "Signs in by email and password; sets the session cookie, and a cookie by which the device is known again. Wrong "
        + "passwords are counted for the email address, and apart from that for each device that signed in before, so that "
        + "others cannot lock its owner out. The password of the newest sign-up that is not proven gets 403 and another mail, "
        + "whether or not the address has an account."
    ),
    HttpApiEndpoint.post("requestPasswordReset", "/request-password-reset", {
      payload: Schema.Struct({ email: Email }).annotate({ identifier: "ResetRequest" }),
      success: Success
    }).annotate(Tier, "auth").annotate(OpenApi.Summary, "Ask for a password reset").annotate(
      OpenApi.Description,
      `Mails a link, which expires after ${
        inWords(LINK_LIFETIME["reset-password"])
      }, if the address has an account or a sign-up that waits for its proof. `
        + `The response is the same, in the same time, if not. One address gets ${MAIL_LIMIT} at most.`
    ),
    HttpApiEndpoint.post("resetPassword", "/reset-password", {
      payload: Schema.Struct({
        token: Schema.RedactedFromValue(MailedToken),
        password: Schema.RedactedFromValue(NewPassword)
      }).annotate({ identifier: "PasswordReset" }),
      success: Success,
      error: Forbidden
    }).annotate(Tier, "auth").annotate(OpenApi.Summary, "Reset a password").annotate(
      OpenApi.Description,
      "Uses a reset link's token up: sets the password, proves the address, and ends every session. Signs nobody in."
    ),
    HttpApiEndpoint.post("logOut", "/logout", { success: Success }).annotate(OpenApi.Summary, "Sign out").annotate(
      OpenApi.Override,
      { security: [{}, { sessionCookie: [] }, { sessionToken: [] }] }
    ).annotate(
      OpenApi.Description,
      "Ends the session, if there is one, and clears the cookie. Personal access tokens are refused."
    )
  )
  .middleware(JsonBody)
  .middleware(TokensRefused)
  .middleware(SameSite)
  .middleware(AddressLimit)
  .prefix("/auth")
  .annotate(OpenApi.Title, "Sign-in")
  .annotate(OpenApi.Description, "Sign-up and sign-in.")
{}
