import { domainToASCII } from "node:url"

/**
 * What two spellings of one address have in common: NFC, lower case, the domain in its ASCII form (IDNA). Sub-addresses
 * (`+tag`) and dots stay, since only the receiving host knows what they mean there (RFC 5321, 2.3.11).
 */
export const emailKey = (email: string): string => {
  const text = email.trim().normalize("NFC").toLowerCase()
  const at = text.lastIndexOf("@")
  const domain = domainToASCII(text.slice(at + 1))
  return `${text.slice(0, at)}@${domain === "" ? text.slice(at + 1) : domain}`
}
