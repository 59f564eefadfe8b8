import { Schema } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import { MailedToken } from "../../schema/User.ts"
import { decodeField, type Fields } from "./PageRoutes.ts"
import { alert } from "./Refusals.ts"

const Token = Schema.RedactedFromValue(MailedToken)

/** The error of a mailed link without a token, or with one that cannot be any. */
export const noToken = () => ValidationFailed.at("token", "Expected the token of a mailed link")

/** The token of a mailed link, which its form sends. */
export const tokenOf = (fields: Fields) => decodeField(Token, fields["token"], noToken)

/** Above the advice of a page for a link that cannot be used. */
export const unusableAlert = alert("This link is incomplete, has expired or was used already.")
