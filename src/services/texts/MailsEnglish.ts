import type { Scope } from "../../schema/Credential.ts"
import { INVITATION_LIFETIME, LINK_LIFETIME, TOKEN_EXPIRY_MAILED } from "../../schema/Limits.ts"
import { wordingIn } from "./Wording.ts"

const { date, duration, time } = wordingIn("en")

const MAY = { read: "read", write: "read and change" } as const

/** A mail is its subject, what it says before its link, and what to do about an unexpected one. */
export const mailsEnglish = {
  asked: (at: Date, network: string | undefined) =>
    `This mail was asked for on ${time(at)} from ${
      network === undefined ? "an unknown network" : `the network ${network}`
    }.`,
  verification: {
    subject: "Verify your email address",
    text: `Open this link within ${duration(LINK_LIFETIME["verify-email"])} to verify your email address and sign in:`,
    linkText: "Verify the address",
    ifNotYou: "If you did not sign up, ignore this mail: there is no account until the link is used."
  },
  invitation: {
    subject: "You are invited",
    text: (name: string, host: string) =>
      `Welcome! An administrator of ${name} at ${host} invites you to keep, plan and share your routes there. Open this link `
      + `within ${duration(INVITATION_LIFETIME)} and choose a name and a password: then your account is ready.`,
    linkText: "Accept the invitation",
    ifNotYou: "If you do not want an account, ignore this mail: there is none until the link is used."
  },
  reset: {
    subject: "Reset your password",
    text: `Open this link within ${duration(LINK_LIFETIME["reset-password"])} to choose a new password:`,
    linkText: "Choose a new password",
    ifNotYou: "If you did not ask for it, ignore this mail: your password stays as it is."
  },
  known: {
    subject: "You already have an account",
    text:
      "Somebody, probably you, tried to sign up with this address. It already has an account: sign in instead, or request a "
      + "password reset.",
    ifNotYou: "If it was not you, ignore this mail: nothing has changed."
  },
  passwordChanged: {
    subject: "Your password was changed",
    byLink:
      "Your password was reset by a mailed link, and every session was signed out. Personal access tokens still work.",
    byOwner: "Your password was changed, and your other sessions were signed out.",
    ifNotYou:
      "If this was not you, somebody else knows your password or reads your mails: secure your mailbox, request a "
      + "password reset, and revoke your personal access tokens."
  },
  minted: {
    subject: "A new access token was made",
    text: (
      { createdAt, expiresAt, hint, name, scope }: {
        readonly createdAt: string
        readonly expiresAt: string | null
        readonly hint: string
        readonly name: string
        readonly scope: Scope
      }
    ) =>
      `The personal access token "${name}" (${hint}) was made on ${
        time(createdAt)
      }. Its scope is "${scope}": anyone who has it `
      + `can ${MAY[scope]} your routes and collections. `
      + (expiresAt === null ? "It never expires." : `It expires on ${time(expiresAt)}.`),
    ifNotYou:
      "If this was not you, somebody else is signed in to your account: revoke the token and request a password reset, "
      + "which signs out every session."
  },
  expiring: {
    subject: `Your access token expires in ${duration(TOKEN_EXPIRY_MAILED)}`,
    text: (name: string, hint: string, expiresAt: string) =>
      `The personal access token "${name}" (${hint}) expires on ${
        date(expiresAt)
      } (UTC). What uses it is refused from then on: `
      + "make a new token and replace it there.",
    ifNotYou: "If you do not use this token any more, do nothing, or revoke it."
  }
}

export type MailTexts = typeof mailsEnglish
