import { domainToASCII } from "node:url"

/** NFC, lower case, domain in ASCII (IDNA). Keeps `+tag` and dots, which only the receiving host knows (RFC 5321, 2.3.11). */
export const emailKey = (email: string): string => {
  const text = email.trim().normalize("NFC").toLowerCase()
  const at = text.lastIndexOf("@")
  const domain = domainToASCII(text.slice(at + 1))
  return `${text.slice(0, at)}@${domain === "" ? text.slice(at + 1) : domain}`
}

export const localPartOf = (email: string): string => email.slice(0, email.lastIndexOf("@"))
