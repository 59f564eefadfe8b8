import { domainToASCII } from "node:url"
import { isUnambiguous, localPartOf, lowerAscii } from "../../schema/User.ts"

/** In lower case and ASCII (IDNA). */
const domainOf = (email: string): string => {
  const domain = email.slice(email.lastIndexOf("@") + 1).normalize("NFC").toLowerCase()
  return domainToASCII(domain) || domain
}

/**
 * The identity of an address: every comparison of two is one of their keys. An ambiguous local part counts as it is spelt; in
 * others A to Z are in lower case. Keeps `+tag` and dots, which only the receiving host knows (RFC 5321, 2.3.11).
 */
export const emailKey = (email: string): string => {
  const text = email.trim()
  const local = localPartOf(text)
  return `${isUnambiguous(local) ? lowerAscii(local) : local}@${domainOf(text)}`
}

/** What is mailed: mail systems differ in how they map a domain that is not in ASCII. */
export const mailboxOf = (email: string): string => `${localPartOf(email)}@${domainOf(email)}`
