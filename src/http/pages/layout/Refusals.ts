import type { ServiceError } from "../../../schema/Errors.ts"
import { type Html, html } from "../../../services/operations/Html.ts"

const waitFor = (details: ServiceError["details"]) => {
  const seconds = details?.["retryAfterSeconds"]
  return typeof seconds === "number" ? `Try again in ${seconds} seconds.` : "Try again in a moment."
}

export const plainWords = ({ details, message, statusCode }: ServiceError): string => {
  switch (statusCode) {
    case 429:
      return `That was tried too often. ${waitFor(details)}`
    case 503:
    case 504:
      return `The service is busy or is starting. ${waitFor(details)}`
    case 500:
      return "The service could not do this. Try again later."
    default:
      return `${message}.`
  }
}

/** For `aria-describedby`. */
export const ERROR_ID = "error"

export const alert = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="error" id="${ERROR_ID}" role="alert">${text}</p>`
