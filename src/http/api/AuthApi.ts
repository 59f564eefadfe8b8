import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { BadGateway, Conflict, Forbidden, GatewayTimeout, Unauthorized } from "../../schema/Errors.ts"
import { inWords, LINK_LIFETIME, MAIL_LIMIT, SESSION_TOKEN_LIFETIME, UNVERIFIED_LIFETIME } from "../../schema/Limits.ts"
import { named } from "../../schema/Named.ts"
import { oneOfMembers, optionalMember } from "../../schema/Optional.ts"
import { isCodePointLength, WellFormedString } from "../../schema/Text.ts"
import {
  DisplayName,
  Email,
  MAILED_TOKEN,
  MailedToken,
  NewEmail,
  NewPassword,
  PASSWORD,
  PASSWORD_RULE,
  PasswordAttempt,
  USER,
  User
} from "../../schema/User.ts"
import { AddressLimit, Tier, TokensRefused } from "./Access.ts"
import { described, titled } from "./Described.ts"
import { HEADERS, OwnHeaders } from "./Headers.ts"
import { JsonBody, NoParameters, SameSite } from "./Requests.ts"
import { Success } from "./Success.ts"

const secret = (description: string) =>
  Schema.RedactedFromValue(WellFormedString.check(isCodePointLength(1, 8192)).annotate({ description }))

/** `accessToken` is also the value of the session cookie. */
const SignIn = Schema.Struct({
  accessToken: Schema.String.annotate({
    description: `The JWT of the session, for \`Authorization: Bearer\`; expires after ${
      inWords(SESSION_TOKEN_LIFETIME)
    }`
  }),
  user: User
}).annotate(named("SignIn", "The account that is signed in, and the JWT of its session.", {
  accessToken: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
  user: USER
}))

const CODE = "4/0AdQt8qh..."

const ID_TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6Ij..."

const ProviderCredential = Schema.Struct({
  code: optionalMember(secret("An authorization code of the popup flow")),
  idToken: optionalMember(secret("An ID token")),
  credential: optionalMember(secret("The ID token as one-tap posts it"))
}).pipe(
  Schema.annotateEncoded({ examples: [{ code: CODE }, { idToken: ID_TOKEN }, { credential: ID_TOKEN }] })
).check(
  Schema.makeFilter(
    ({ code, credential, idToken }) =>
      [code, credential, idToken].filter((value) => value !== undefined).length === 1
      || "Expected exactly one of code, idToken and credential",
    { toJsonSchema: () => oneOfMembers("code", "idToken", "credential") }
  )
).annotate({
  identifier: "ProviderCredential",
  description: "What the identity provider gave: exactly one of the three."
})

const PROVIDER = {
  id: "club",
  name: "The club",
  startUrl: "https://routes.example.com/api/v1/auth/oidc/club/start"
}

const Provider = Schema.Struct({
  id: Schema.String.annotate({ description: "The name in its paths" }),
  name: Schema.String.annotate({ description: "What people read" }),
  startUrl: Schema.String.annotate({
    description: "Where a browser begins, by navigation and not by `fetch`; `return` is where it goes then"
  })
}).annotate(named("Provider", "An OpenID Connect provider that signs in by redirect.", PROVIDER))

const providerErrors = [Unauthorized, Forbidden, Conflict, BadGateway, GatewayTimeout]

export class AuthApi extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.post("google", "/google", {
      payload: ProviderCredential,
      success: SignIn,
      error: providerErrors
    })
      .annotate(Tier, "auth")
      .annotateMerge(described(
        "Sign in by the identity provider",
        "Signs in by the identity provider; makes an account at the first sign-in. An account with the same verified email "
          + "address is linked, and keeps that address where the provider's changes. An ID token may be sent again until it "
          + "expires, an authorization code once. Sets the session "
          + "cookie. 403 with the reason `signup_disabled` at a first sign-in without an invitation where sign-up is "
          + "closed, and `provider_sign_in_disabled` where this sign-in is switched off."
      )),
    HttpApiEndpoint.post("signUp", "/signup-email", {
      payload: Schema.Struct({
        email: NewEmail,
        password: Schema.RedactedFromValue(NewPassword),
        name: Schema.optionalKey(Schema.NullOr(DisplayName))
      }).annotate({ identifier: "AccountInput", description: "An account to be made." }).pipe(
        Schema.annotateEncoded({ examples: [{ email: USER.email, password: PASSWORD, name: USER.name }] })
      ),
      success: Success.pipe(HttpApiSchema.status("Created")),
      error: Forbidden
    })
      .annotate(Tier, "auth")
      .annotateMerge(described(
        "Sign up by email",
        `Mails a verification link, which expires after ${
          inWords(LINK_LIFETIME["verify-email"])
        }; the account is made when the link is used, with the name, `
          + "the password and the spelling of the address of its own sign-up, and until then there is no profile and no handle. The "
          + "response is the same for an address that has an account already; its owner gets a mail that says so. A sign-up "
          + `whose address is not verified is deleted after ${
            inWords(UNVERIFIED_LIFETIME)
          }. One address gets ${MAIL_LIMIT}, at most; each mail says when and from which network it was asked for. A `
          + `password of ${PASSWORD_RULE} is accepted, unless the operator asks for a strength: then a common one, and `
          + "one that contains the email address or name, is refused."
      )),
    HttpApiEndpoint.post("verifyEmail", "/verify-email", {
      payload: Schema.Struct({
        token: Schema.RedactedFromValue(MailedToken),
        password: optionalMember(Schema.RedactedFromValue(
          PasswordAttempt.annotate({
            description: "The password of the sign-up, needed where the address has several"
          })
        ))
      }).annotate({
        identifier: "EmailProof",
        description: "The token that was mailed to an address, and the password of the sign-up that it was mailed for."
      }).pipe(Schema.annotateEncoded({ examples: [{ token: MAILED_TOKEN, password: PASSWORD }] })),
      success: SignIn,
      error: [Forbidden, Conflict]
    })
      .annotate(Tier, "auth")
      .annotateMerge(described(
        "Verify an email address",
        "Consumes the token of a verification link: makes the account, deletes every other sign-up of the address, and signs in. "
          + "Anyone may sign up any address, so with `password` the sign-up that the link was mailed for must have that one, "
          + "else 403 with the reason `password_wrong`. Without it the link is enough only while the address has no other "
          + "sign-up, else 409 with the reason `password_needed`. Who does not know the password chooses one by a "
          + "password reset, or on the page `/verify-email`."
      )),
    HttpApiEndpoint.post("logIn", "/login-email", {
      payload: Schema.Struct({ email: Email, password: Schema.RedactedFromValue(PasswordAttempt) }).annotate({
        identifier: "EmailSignIn",
        description: "An email address with its password."
      }).pipe(Schema.annotateEncoded({ examples: [{ email: USER.email, password: PASSWORD }] })),
      success: SignIn,
      error: [Unauthorized, Forbidden]
    })
      .annotate(Tier, "auth")
      .annotateMerge(described(
        "Sign in by email",
        "Signs in by email and password; sets the session cookie, and a cookie that identifies the device. Wrong passwords "
          + "are counted for the email address, and separately for each device that signed in before, so that others cannot lock "
          + "the owner out. The password of the newest unverified sign-up gets 403 and another mail, whether or not the address "
          + "has an account."
      )),
    HttpApiEndpoint.post("requestPasswordReset", "/request-password-reset", {
      payload: Schema.Struct({ email: Email }).annotate(
        named("ResetRequest", "The address that a link is mailed to.", { email: USER.email })
      ),
      success: Success
    })
      .annotate(Tier, "auth")
      .annotateMerge(described(
        "Request a password reset",
        `Mails a link, which expires after ${
          inWords(LINK_LIFETIME["reset-password"])
        }, if the address has an account or an unverified sign-up. `
          + `The response is the same, in the same time, if not. One address gets ${MAIL_LIMIT}, at most.`
      )),
    HttpApiEndpoint.post("resetPassword", "/reset-password", {
      payload: Schema.Struct({
        token: Schema.RedactedFromValue(MailedToken),
        password: Schema.RedactedFromValue(NewPassword)
      }).annotate({ identifier: "PasswordReset", description: "The token that was mailed, and the new password." })
        .pipe(Schema.annotateEncoded({ examples: [{ token: MAILED_TOKEN, password: "another long password" }] })),
      success: Success,
      error: Forbidden
    })
      .annotate(Tier, "auth")
      .annotateMerge(described(
        "Reset a password",
        "Consumes the token of a reset link: sets the password, verifies the address and ends every session. Does not sign in."
      )),
    HttpApiEndpoint.post("logOut", "/logout", { success: Success })
      .annotate(OwnHeaders, [HEADERS.setCookie.name])
      .annotateMerge(described(
        "Sign out",
        "Ends the session, if there is one, and clears the cookie. Personal access tokens are refused."
      ))
      .annotate(
        OpenApi.Override,
        { security: [{ sessionToken: [] }, { sessionCookie: [] }, {}] }
      )
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(TokensRefused)
  .middleware(SameSite)
  // Pages of other sites read this endpoint, so it is added after the middleware that refuses them.
  .add(
    HttpApiEndpoint.get("providers", "/providers", {
      success: Schema.Array(Provider)
    }).middleware(NoParameters).annotate(OwnHeaders, [HEADERS.etag.name]).annotateMerge(described(
      "List the identity providers",
      "The OpenID Connect providers that sign in by redirect, as the operator lists them. A browser that navigates to "
        + "`startUrl` is sent to the provider, and from there to `/auth/oidc/{id}/callback`, which sets the session cookie "
        + "and redirects to the `return` that `startUrl` was given: a path of this service, or an address at its origin, that of "
        + "its front end or one in `CORS_ORIGINS`. Without `return` that is the front end. Accounts are found, linked and made as by "
        + "`POST /auth/google`; what fails ends on a page that says why."
    ))
  )
  .middleware(AddressLimit)
  .prefix("/auth")
  .annotateMerge(titled("Sign-in", "Sign-up and sign-in."))
{}
