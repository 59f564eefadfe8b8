import { inWords, LINK_LIFETIME, MAIL_LIMIT, UNPROVEN_LIFETIME } from "../../../schema/Limits.ts"
import { PASSWORD_RULE } from "../../../schema/User.ts"
import { described, titled } from "./Described.ts"

export const texts = {
  google: described(
    "Sign in by the identity provider",
    "Signs in by the identity provider; makes an account at the first sign-in. An account with the same proven email "
      + "address is linked. An ID token may be sent again until it expires, an authorization code once. Sets the session "
      + "cookie. 403 with the reason `signup_disabled` at a first sign-in without an invitation where sign-up is "
      + "closed, and `provider_sign_in_disabled` where this sign-in is switched off."
  ),
  signUp: described(
    "Sign up by email",
    `Mails a verification link, which expires after ${
      inWords(LINK_LIFETIME["verify-email"])
    }; the account is made when the link is used, with the name, `
      + "the password and the spelling of the address of its own sign-up, and until then has no profile and no handle. The "
      + "response is the same for an address that has an account already; its owner gets a mail that says so. A sign-up "
      + `whose address nobody proves is deleted after ${
        inWords(UNPROVEN_LIFETIME)
      }. One address gets ${MAIL_LIMIT} at most. A `
      + `password of ${PASSWORD_RULE} is accepted, unless the operator asks for a strength: then a common one, and `
      + "one that contains the email address or name, is refused."
  ),
  verifyEmail: described(
    "Prove an email address",
    "Consumes the token of a verification link: makes the account, ends every other sign-up of the address, and signs in."
  ),
  logIn: described(
    "Sign in by email",
    "Signs in by email and password; sets the session cookie, and a cookie by which the device is known again. Wrong "
      + "passwords are counted for the email address, and apart from that for each device that signed in before, so that "
      + "others cannot lock its owner out. The password of the newest sign-up that is not proven gets 403 and another mail, "
      + "whether or not the address has an account."
  ),
  requestPasswordReset: described(
    "Ask for a password reset",
    `Mails a link, which expires after ${
      inWords(LINK_LIFETIME["reset-password"])
    }, if the address has an account or a sign-up that waits for its proof. `
      + `The response is the same, in the same time, if not. One address gets ${MAIL_LIMIT} at most.`
  ),
  resetPassword: described(
    "Reset a password",
    "Uses a reset link's token up: sets the password, proves the address, and ends every session. Signs nobody in."
  ),
  logOut: described(
    "Sign out",
    "Ends the session, if there is one, and clears the cookie. Personal access tokens are refused."
  ),
  group: titled("Sign-in", "Sign-up and sign-in.")
}
