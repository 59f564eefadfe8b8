import { Effect, Option, Schema } from "effect"
import { type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import { MailedToken, NewPassword, PASSWORD_RULE } from "../../../schema/User.ts"
import type { LinkUnusable, Overloaded } from "../../../services/DomainErrors.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { publicErrorOf } from "../../response/PublicErrors.ts"
import { alert, ERROR_ID, type Page, plainWords } from "./Layout.ts"
import { decodeField, type Fields } from "./PageRoutes.ts"

const Token = Schema.RedactedFromValue(MailedToken)

const Password = Schema.RedactedFromValue(NewPassword)

const noToken = () => ValidationFailed.at("body", "token", "Expected the token of a mailed link")

export const tokenOf = (fields: Fields) => decodeField(Token, fields["token"], noToken)

export const unusableAlert = alert("This link is incomplete, has expired or was used already.")

/** A mailed link as its form sends it again. The address is shown only, so that it is there when the form is refused. */
export interface Link {
  readonly token: string
  readonly email: string | undefined
}

export const linkFields = ({ email, token }: Link): Html =>
  html`<input type="hidden" name="token" value="${token}">
${email === undefined ? html`` : html`<input type="hidden" name="email" value="${email}">`}`

export const addressOf = ({ email }: Link): Html =>
  email === undefined ? html`your email address` : html`<strong>${email}</strong>`

interface LinkPages {
  readonly addressOf: (token: typeof Token.Type) => Effect.Effect<string, LinkUnusable | Overloaded>
  readonly form: (link: Link, fields: Fields, error?: ServiceError) => Page
  readonly unusable: (error: ServiceError) => Page
}

/** The form of a link that can be used, which names the address: a link may be of a stranger's account. */
export const shownLink = ({ addressOf, form, unusable }: LinkPages) =>
  Effect.fnUntraced(
    function*(query: URLSearchParams) {
      const token = query.get("token") ?? ""
      return form({ token, email: yield* addressOf(yield* tokenOf({ token })) }, {})
    },
    Effect.catchTags({
      LinkUnusable: (error) => Effect.succeed(unusable(publicErrorOf(error))),
      ValidationFailed: (error) => Effect.succeed(unusable(error))
    })
  )

export const refusedLink = ({ form, unusable }: LinkPages) => (error: ServiceError, fields: Fields): Page =>
  fields["token"] === undefined
    ? unusable(error)
    : form({ token: fields["token"], email: fields["email"] }, fields, error)

const wrongLength = () => ValidationFailed.at("body", "password", `Use ${PASSWORD_RULE}`)

export const newPasswordOf = (value: string | undefined) => decodeField(Password, value, wrongLength)

const issuesOf = Schema.decodeUnknownOption(
  Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
)

const passwordIssue = ({ details }: ServiceError) =>
  Option.getOrUndefined(issuesOf(details))?.issues.find(({ path }) => path === "body.password")?.message

/** Says what is wrong with the password, after some advice, or else with the request. */
export const passwordWords = (error: ServiceError, advice = ""): string => {
  const issue = passwordIssue(error)
  return issue === undefined ? plainWords(error) : `${advice}${issue}.`
}

export const ANOTHER = "Choose another password. "

export const newPasswordInput = (name: string, error?: ServiceError): Html => {
  const state = error === undefined || passwordIssue(error) === undefined
    ? html`aria-describedby="${name}-hint"`
    : html`aria-describedby="${name}-hint ${ERROR_ID}" aria-invalid="true" autofocus`
  return html`<label for="${name}">New password</label>
<p class="hint" id="${name}-hint">${PASSWORD_RULE}. A few words that do not belong together are long and easy to remember.</p>
<input type="password" id="${name}" name="${name}" autocomplete="new-password" required ${state}>`
}
