import { Schema } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import { MailedToken } from "../../schema/User.ts"
import { decodeField, type Fields } from "./layout/PageRoutes.ts"
import { alert } from "./layout/Refusals.ts"

const Token = Schema.RedactedFromValue(MailedToken)

export const noToken = () => ValidationFailed.at("token", "Expected the token of a mailed link")

export const tokenOf = (fields: Fields) => decodeField(Token, fields["token"], noToken)

export const unusableAlert = alert("This link is incomplete, has expired or was used already.")
