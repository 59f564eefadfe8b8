import type { Scope } from "../../schema/Credential.ts"
import { GRACE_PERIOD, INVITATION_LIFETIME, LINK_LIFETIME } from "../../schema/Limits.ts"
import { PASSWORD_RULE } from "../../schema/User.ts"
import { type Html, html } from "../operations/Html.ts"
import { wordingIn } from "./Wording.ts"

const { counted, date, duration, time } = wordingIn("en")

const NAME_HINT =
  "Anyone can see it: on what you share, and on your public page. Left empty, it is the part of your address before the @."

export const signInEnglish = {
  signIn: {
    title: "Sign in",
    button: "Sign in",
    byProvider: (name: string) => `Sign in by ${name}`,
    withoutPassword: "Or without a password:",
    forgot: "Forgot your password?",
    signUp: (page: string) => html`No account yet? <a href="${page}">Sign up</a>.`,
    byInvitation: "No account yet? Accounts are by invitation here: ask an administrator.",
    late: "You were signed out meanwhile. Sign in again: what you entered is kept, and can be sent then.",
    latePassword: "You were signed out meanwhile. Sign in, then enter it again.",
    lateFiles: "You were signed out meanwhile, and no file was taken. Sign in, then choose the files again.",
    lateHere:
      "You were signed out meanwhile. Sign in again in another tab, then press the button once more: all that is on this page stays.",
    keptTitle: "Send what you entered",
    kept: (email: Html) => html`You are signed in as ${email}. What you entered was not sent yet.`,
    send: "Send it now",
    away: "Do not send it",
    providerFailed: "You are not signed in",
    beginAgain: (start: string) =>
      html`Go back to the app or page that you came from, and <a href="${start}">begin again</a>.`
  },
  signOut: { title: "Sign out", button: "Sign out" },
  signUp: {
    title: "Sign up",
    lead: "With an account you keep your routes, share them and take them along as files.",
    nameHint: NAME_HINT,
    button: "Sign up",
    signIn: (page: string) => html`You have an account? <a href="${page}">Sign in</a>.`,
    closed: "Accounts are by invitation here: ask an administrator for one.",
    mailedTitle: "Check your mail",
    mailed: (email: Html) => html`A mail is on its way to ${email}.`,
    mailedNext:
      `Open its link within ${
        duration(LINK_LIFETIME["verify-email"])
      } to verify the address: then your account is there, `
      + "and you are signed in.",
    noMail: (page: string) =>
      html`No mail? Look among the unwanted ones, or <a href="${page}">sign in</a> to get another.`
  },
  forgot: {
    title: "Forgot your password?",
    lead: "You get a mail with a link, by which you choose a new one.",
    button: "Send the link",
    back: "Back to the sign-in",
    mailed: (email: Html) => html`If ${email} has an account, a link is on its way to it.`,
    mailedNext: `Open it within ${duration(LINK_LIFETIME["reset-password"])}.`
  },
  link: {
    unknown: "This link is incomplete, has expired or was used already.",
    used: "This link was used already.",
    expired: "This link has expired.",
    copied: "Copied from the mail? Check that the whole of it was copied.",
    yourAddress: "your email address",
    newPassword: "New password",
    newPasswordHint: `${PASSWORD_RULE}. A few words that do not belong together are long and easy to remember.`,
    another: "Choose another password.",
    next: "What is next"
  },
  verify: {
    title: "Verify your email address",
    used: (page: string) => html`Your address is already verified: <a href="${page}">sign in</a> with your password.`,
    expired: (page: string) =>
      html`A link works for ${
        duration(LINK_LIFETIME["verify-email"])
      }. <a href="${page}">Sign in</a> with the password that you chose when you signed up: you will get
another link by mail.`,
    unknown: (page: string) =>
      html`<a href="${page}">Sign in</a> with the password that you chose. If that is refused, sign up again.`,
    what: (address: Html) => html`This makes the account of ${address}, and signs you in on this device.`,
    password: "Password that you chose when you signed up",
    noPassword: "Enter the password that you chose when you signed up, or choose a new one",
    button: "Verify and sign in",
    orNew: "Or choose a new one",
    orNewWords:
      "You do not know that password, or somebody else signed up with your address? With a new password theirs is void.",
    newButton: "Set the password and sign in",
    unwanted: "You do not want an account? Close this page: without a button nothing happens.",
    doneTitle: "Your address is verified",
    done: (email: Html) => html`You are signed in as ${email} on this device.`,
    routes: "See my routes",
    app: "You signed up in an app? Go back to it and sign in with your email address and password."
  },
  reset: {
    title: "Choose a new password",
    again: (page: string) =>
      html`A link can be used once, and works for ${
        duration(LINK_LIFETIME["reset-password"])
      } after a reset was requested, and ${
        duration(INVITATION_LIFETIME)
      } after an invitation. Your password is as it was. <a href="${page}">Ask for another link</a>.`,
    used: (page: string) => html`A password was set by it: <a href="${page}">sign in</a>.`,
    what: (address: Html) => html`This sets the password of ${address}.`,
    button: "Set the password",
    signsOut:
      "This signs you out on every device. You did not ask for it? Close this page: your password stays as it is.",
    doneTitle: "Your password is set",
    done: "The new password counts from now on, and you were signed out on every device.",
    signIn: "Sign in",
    apps: "Sign in again in the apps that you use, too.",
    noTokens: "Your account has no personal access token, so nothing goes on without the new password.",
    tokens: (count: number, page: string) =>
      html`${
        counted(
          count,
          "personal access token of your account still works",
          "personal access tokens of your account still work"
        )
      }, for scripts and apps. If
you do not know what for, or think that somebody else had your password, <a href="${page}">revoke all tokens</a>.`,
    keep: (page: string) =>
      html`If you had asked for your account to be deleted, you can still <a href="${page}">keep it</a>.`
  },
  invitation: {
    title: "Welcome",
    unusableTitle: "Your invitation",
    used: (page: string) => html`Your account is there: <a href="${page}">sign in</a>.`,
    expired: `An invitation works for ${
      duration(INVITATION_LIFETIME)
    }: ask the person who invited you for another one.`,
    unknown: (page: string) =>
      html`Was it used already? Then your account is there: <a href="${page}">sign in</a>. An invitation expires after ${
        duration(INVITATION_LIFETIME)
      }: ask the person who invited you for another one.`,
    what: (address: Html) =>
      html`You are invited to keep, plan and share your routes here. Choose a name and a password: that makes the account of
${address}, and signs you in on this device.`,
    nameHint: NAME_HINT,
    password: "Password",
    button: "Make my account",
    unwanted: "You do not want an account? Close this page: without the button nothing happens."
  },
  keep: {
    title: "Keep your account",
    lead: `An account whose deletion was requested can be kept for ${
      duration(GRACE_PERIOD)
    }. Sign in to see whether yours is one.`,
    tooLate: `The ${duration(GRACE_PERIOD)} are over: this account can no longer be kept.`,
    pending: (email: Html, date: Html) =>
      html`The account ${email}, with all its routes and collections, will be erased on ${date}.`,
    button: "Keep the account",
    close: "Want it erased? There is nothing to do: close this page.",
    nothing: (email: Html) => html`The account ${email} is not going to be deleted. There is nothing to do.`,
    doneTitle: "Your account stays",
    done: "The deletion is cancelled. Your routes and collections are there again, and this device is signed in.",
    routes: "See my routes",
    apps:
      "Sign in again in your apps. You did not request the deletion? Then change your password, and revoke the personal "
      + "access tokens that you do not know."
  },
  revoke: {
    title: "Revoke your access tokens",
    lead:
      "Scripts and apps that you gave a personal access token go on after a new password. Sign in to see and revoke your "
      + "tokens.",
    none: (email: Html) => html`The account ${email} has no personal access token. There is nothing to do.`,
    list: (email: Html) => html`These personal access tokens of the account ${email} work:`,
    button: "Revoke all",
    effect: "Whatever uses one of them is refused from then on, and needs a new one.",
    doneTitle: "Your tokens are revoked",
    done: "No personal access token of your account works any more. This device is signed in.",
    next: "Make new tokens for the scripts and apps that you use."
  }
}

export type SignInTexts = typeof signInEnglish

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
  deletion: {
    subject: "Your account will be deleted",
    byOwner: "The deletion of your account was requested.",
    byAdministrator: "An administrator requested the deletion of your account.",
    text: (at: Date) =>
      `It will be erased on ${
        time(at)
      }, with all its routes and collections. To keep it, sign in before then and cancel the `
      + "deletion.",
    linkText: "Keep the account",
    ifNotYou:
      "If this was not you, somebody else was signed in to your account: cancel the deletion, change your password, and "
      + "revoke your personal access tokens."
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
    subject: (count: number): string =>
      count === 1 ? "Your access token expires soon" : "Your access tokens expire soon",
    text: (tokens: ReadonlyArray<{ readonly expiresAt: string; readonly hint: string; readonly name: string }>) =>
      [
        ...tokens.map(({ expiresAt, hint, name }) =>
          `The personal access token "${name}" (${hint}) expires on ${date(expiresAt)} (UTC).`
        ),
        "What uses an expired token is refused: make a new one and replace it there."
      ].join(" "),
    ifNotYou: "If you no longer use a token, do nothing, or revoke it."
  }
}

export type MailTexts = typeof mailsEnglish
